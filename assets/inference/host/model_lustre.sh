# shellcheck shell=bash
# The model on the FSx for Lustre file system that mirrors the bucket; sourced by host_setup.sh.
# shellcheck source=assets/inference/host/model_mount.sh
source "${SCRIPT_DIRECTORY}/model_mount.sh"

readonly COPY_SECONDS="${SLIPWAY_COPY_SECONDS:-$SETUP_SECONDS}"

# Amazon Linux 2023 has the client's modules for its own kernels: where they do not fit the kernel that runs, as after a
# partial update, loading them fails.
provide_model() {
  install_package lustre-client
  if ! timeout --kill-after=10 "$AWS_SECONDS" modprobe lustre; then
    fail "the Lustre client does not fit kernel $(uname -r)"
  fi
  set_fstab_entry lustre _netdev,nofail,nosuid,nodev,ro,flock
  start_mount
  # Files are fetched from the bucket when they are first read: now, side by side, and not by the engine page by page.
  check_model_folder "$COPY_SECONDS" --read
}
