# shellcheck shell=bash
# Checks of the file systems that ParallelCluster has mounted; sourced after steps.sh.

# check_fsx: ParallelCluster mounts /fsx on first use, so it is used before findmnt looks for more than the automount
# point. Jobs need flock, file locks over all nodes. Without noatime each read is a write too, but jobs still run.
check_fsx() {
  local options
  modprobe lustre || fail "the Lustre client has no module for kernel $(uname -r)"
  timeout "$(bounded 120)" stat "${ROOT}/fsx/." >/dev/null || fail "/fsx does not answer within 120 s"
  options="$(findmnt --noheadings --types lustre --output OPTIONS --mountpoint "${ROOT}/fsx")" ||
    fail "/fsx is not a mounted Lustre file system"
  if [[ ",${options}," != *,flock,* ]]; then
    fail "/fsx is mounted without flock: ${options}"
  fi
  if [[ ",${options}," != *,noatime,* ]]; then
    say "WARNING: /fsx is mounted without noatime: ${options}"
  fi
}

# limit_dirty_pages: keeps checkpoints from filling the page cache of a node whose memory holds the optimizer states
# (neuronx-nemo-megatron sets the same). A client without this parameter trains all the same.
limit_dirty_pages() {
  if ! command -v lctl >/dev/null; then
    say "no lctl: the limit of dirty pages stays as it is"
  elif ! timeout 60 lctl set_param 'osc.*.max_dirty_mb=64' >/dev/null; then
    say "the Lustre client does not take max_dirty_mb=64: the limit of dirty pages stays as it is"
  fi
}

# check_scratch: ParallelCluster makes one volume of the local NVMe disks, and every user may write to it. Where that
# failed, jobs would fill the root volume instead.
check_scratch() {
  local disks="${ROOT}/dev/disk/by-id" scratch="${ROOT}/scratch"
  if [[ ! -d "$disks" || -z "$(find "$disks" -name 'nvme*Instance_Storage*')" ]]; then
    say "no local NVMe disks"
    return
  fi
  mountpoint -q "$scratch" || fail "/scratch is not mounted, although the node has local NVMe disks"
  if [[ "$(stat --format %a "$scratch")" != 1777 ]]; then
    say "/scratch gets the mode 1777"
    chmod 1777 "$scratch"
  fi
}
