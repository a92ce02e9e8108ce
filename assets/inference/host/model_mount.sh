# shellcheck shell=bash
# The mount that has the model; sourced after host_state.sh. An fstab entry rather than a bare mount: it is back after a
# reboot.
readonly MOUNT_SECONDS="${SLIPWAY_MOUNT_SECONDS:-120}"
readonly INSTALL_SECONDS="${SLIPWAY_INSTALL_SECONDS:-300}"

# install_package NAME: from the repositories of Amazon Linux.
install_package() {
  if ! rpm --query "$1" >/dev/null; then
    retry "$INSTALL_SECONDS" dnf install -y "$1"
  fi
}

# set_fstab_entry TYPE OPTIONS: in the place of an earlier entry for the same directory. With nofail in the
# options a host boots far enough to be looked at, and host_proof.sh finds out.
set_fstab_entry() {
  local fstab="${ROOT}/etc/fstab"
  mkdir -p "${ROOT}${SLIPWAY_MODEL_MOUNT}"
  {
    awk -v directory="$SLIPWAY_MODEL_MOUNT" '$2 != directory' "$fstab"
    printf '%s %s %s %s 0 0\n' "$SLIPWAY_MODEL_DEVICE" "$SLIPWAY_MODEL_MOUNT" "$1" "$2"
  } >"${fstab}.slipway"
  cat "${fstab}.slipway" >"$fstab"
  rm "${fstab}.slipway"
  systemctl daemon-reload
}

start_mount() {
  local unit
  unit="$(systemd-escape --suffix=mount --path "$SLIPWAY_MODEL_MOUNT")"
  retry "$MOUNT_SECONDS" systemctl start "$unit"
  if ! timeout --kill-after=5 "$AWS_SECONDS" mountpoint -q "${ROOT}${SLIPWAY_MODEL_MOUNT}"; then
    fail "${SLIPWAY_MODEL_MOUNT} is not mounted although ${unit} started"
  fi
}
