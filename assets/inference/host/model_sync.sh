# shellcheck shell=bash
# The model as a copy on a volume of the host's own; sourced by host_setup.sh. A copy that was cut short goes on where it
# ended; the file .slipway-complete, written last, says which folder was copied and found whole.
# shellcheck source=assets/inference/host/model_mount.sh
source "${SCRIPT_DIRECTORY}/model_mount.sh"

readonly COPY_SECONDS="${SLIPWAY_COPY_SECONDS:-$SETUP_SECONDS}"
readonly VOLUME_LABEL="${SLIPWAY_MODEL_DEVICE#LABEL=}"
readonly COPY_SENTINEL="${ROOT}${SLIPWAY_MODEL_MOUNT}/.slipway-complete"
readonly COPY_SOURCE="s3://${SLIPWAY_MODEL_BUCKET}/${SLIPWAY_MODEL_PREFIX}/"
readonly COPY_OF="${COPY_SOURCE} ${SLIPWAY_MODEL_DIGEST}"

# The one EBS volume that is not the root's. NVMe numbers change from boot to boot, and instance stores are no EBS.
model_volume() {
  local root found=() device model
  root="$(lsblk --noheadings --nodeps --output PKNAME "$(findmnt --noheadings --output SOURCE /)")"
  while read -r device model; do
    if [[ "$model" == "Amazon Elastic Block Store" && "$device" != "/dev/${root}" ]]; then
      found+=("$device")
    fi
  done < <(lsblk --noheadings --nodeps --paths --output NAME,MODEL)
  if ((${#found[@]} != 1)); then
    fail "expected one EBS volume beside the root's (${root}), found ${#found[@]}: ${found[*]}"
  fi
  printf '%s' "${found[0]}"
}

# Formatted once: a volume with any content but a file system of ours is refused.
mount_volume() {
  local device label status=0
  device="$(model_volume)"
  blkid --probe "$device" >/dev/null || status=$?
  if ((status == 2)); then
    mkfs.xfs -q -L "$VOLUME_LABEL" "$device"
  fi
  label="$(blkid --probe --match-tag LABEL --output value "$device" || true)"
  if [[ "$label" != "$VOLUME_LABEL" ]]; then
    fail "${device} has content that is not ours (label '${label}'): it is not formatted"
  fi
  set_fstab_entry xfs nofail,nosuid,nodev,noatime
  start_mount
}

# Prints the folder's objects as JSON: [[key, size], ...].
list_objects() {
  timeout --kill-after=10 "$(bounded "$CHECK_SECONDS")" aws --region "$SLIPWAY_REGION" --output json s3api \
    list-objects-v2 --bucket "$SLIPWAY_MODEL_BUCKET" --prefix "${SLIPWAY_MODEL_PREFIX}/" --query 'Contents[].[Key,Size]'
}

# The AWS CLI's defaults of 10 requests and 8 MiB parts do not fill the card of an inf2; 16 MiB parts keep 32 requests
# within 512 MiB of memory. --delete removes what a killed copy left under temporary names.
copy_objects() {
  mkdir -p "${ROOT}${SLIPWAY_MODEL_DIRECTORY}"
  printf '[default]\ns3 =\n  max_concurrent_requests = 32\n  multipart_chunksize = 16MB\n' |
    put_file "${ROOT}/etc/slipway/aws_copy.conf"
  AWS_CONFIG_FILE="${ROOT}/etc/slipway/aws_copy.conf" retry "$COPY_SECONDS" aws --region "$SLIPWAY_REGION" s3 sync \
    --only-show-errors --delete "$COPY_SOURCE" "${ROOT}${SLIPWAY_MODEL_DIRECTORY}"
}

copy_is_whole() {
  (check_model_folder "$COPY_SECONDS" --read --delete-damaged)
}

provide_model() {
  mount_volume
  if [[ -f "$COPY_SENTINEL" && "$(<"$COPY_SENTINEL")" == "$COPY_OF" ]]; then
    say "the volume has a whole copy of ${COPY_SOURCE}"
    return
  fi
  list_objects | put_file "$OBJECT_LIST"
  check_model_folder "$CHECK_SECONDS" --space-only
  copy_objects
  # Damage on the way is healed by a second copy of what was found damaged; damage in the bucket is not.
  if ! copy_is_whole; then
    say "copying again what was damaged" >&2
    copy_objects
    copy_is_whole
  fi
  printf '%s\n' "$COPY_OF" | put_file "$COPY_SENTINEL"
}
