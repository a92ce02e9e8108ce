# shellcheck shell=bash
# The model by Mountpoint for Amazon S3; sourced by host_setup.sh.
# shellcheck source=assets/inference/host/model_mount.sh
source "${SCRIPT_DIRECTORY}/model_mount.sh"

# Mountpoint takes up to 95 % of the memory where it is not told otherwise; an inf2.xlarge needs its 16 GiB for the
# engine. 2 GiB of buffers keep its network card busy.
readonly MOUNTPOINT_MEMORY_MIB=2048
readonly COPY_SECONDS="${SLIPWAY_COPY_SECONDS:-$SETUP_SECONDS}"

# Mountpoint refuses to start from fstab without _netdev, nosuid and nodev.
provide_model() {
  local options="_netdev,nosuid,nodev,nofail,ro,allow-other" help
  install_package mount-s3
  # Versions before 1.24 do not know the option and would refuse to mount.
  help="$(timeout "$AWS_SECONDS" mount-s3 --help)"
  if [[ "$help" == *--memory-target* ]]; then
    options+=",memory-target=${MOUNTPOINT_MEMORY_MIB}"
  fi
  set_fstab_entry mount-s3 "$options"
  start_mount
  # What is read later is the same: no job can overwrite an object of the bucket.
  if [[ "$SLIPWAY_MODEL_DIGEST" != none ]]; then
    check_model_folder "$COPY_SECONDS" --read
  fi
}
