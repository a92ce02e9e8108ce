#!/usr/bin/env bash
# User data of the inf2 hosts (ECS-optimized Amazon Linux 2023 for Neuron): proves the Neuron devices, mounts the model
# prefix of the model bucket read-only, and only then names the ECS cluster. ecs.service starts after user data, so a
# task never sees a host without devices or with an empty model directory. A host whose set-up fails keeps its agent
# masked: it takes no task, and it stays reachable through SSM for a look at /var/log/cloud-init-output.log.
#
# The construct puts "export NAME=value" lines in front of this text, all of them required:
#   SLIPWAY_ECS_CLUSTER     name of the ECS cluster
#   SLIPWAY_MODEL_BUCKET    name of the model bucket
#   SLIPWAY_MODEL_PREFIX    key prefix of the models in it, for example models/ (slashes at its ends do not matter)
#   SLIPWAY_MODEL_MOUNT     absolute directory where the prefix is mounted, for example /mnt/models
#   SLIPWAY_NEURON_DEVICES  number of Neuron devices of the instance type, at least 1
# Tests also set ROOT (put before every path that is written or looked at) and the SLIPWAY_..._SECONDS below.
#
# It must not start or restart ecs.service itself: that waits for the end of user data, and user data would wait for it.
set -euo pipefail

readonly ROOT="${ROOT:-}"
readonly RETRY_PAUSE_SECONDS="${SLIPWAY_RETRY_PAUSE_SECONDS:-5}"
readonly DEVICE_SECONDS="${SLIPWAY_DEVICE_SECONDS:-120}"
readonly INSTALL_SECONDS="${SLIPWAY_INSTALL_SECONDS:-300}"
readonly MOUNT_SECONDS="${SLIPWAY_MOUNT_SECONDS:-120}"
# Mountpoint takes up to 95 % of the memory where it is not told otherwise; an inf2.xlarge needs its 16 GiB for the
# engine. 2 GiB of buffers keep its network card busy.
readonly MOUNTPOINT_MEMORY_MIB=2048
readonly ECS_CONFIG="${ROOT}/etc/ecs/ecs.config"

current_step="start"

say() {
  printf '%s slipway host_setup.sh: %s\n' "$(date -u +%FT%TZ)" "$*"
}

fail() {
  say "$*" >&2
  exit 1
}

# An agent that finds no ECS_CLUSTER joins the cluster named "default", so its unit is masked as well. --no-block: user
# data must never wait for a job of ecs.service.
keep_out_of_cluster() {
  local status=$?
  if ((status == 0)); then
    return
  fi
  set +e
  systemctl mask --now --no-block ecs.service
  if [[ -f "$ECS_CONFIG" ]]; then
    sed -i '/^ECS_CLUSTER=/d' "$ECS_CONFIG"
  fi
  say "FAILED at step '${current_step}' with status ${status}; the ECS agent is masked, this host takes no task" >&2
}
trap keep_out_of_cluster EXIT

# step NAME COMMAND...: runs the command, a function as a rule, and reports how long it took.
step() {
  local started=$SECONDS
  current_step="$1"
  "${@:2}"
  say "${current_step}: done in $((SECONDS - started)) s"
}

# retry SECONDS COMMAND...: repeats an external command until it succeeds or the time is over; a command that hangs is
# ended at the deadline too.
retry() {
  local limit=$1 deadline=$((SECONDS + $1)) left status
  shift
  while true; do
    left=$((deadline - SECONDS))
    status=0
    # To timeout, 0 seconds would mean no limit at all.
    timeout --kill-after=10 "$((left > 0 ? left : 1))" "$@" || status=$?
    if ((status == 0)); then
      return
    fi
    if ((SECONDS + RETRY_PAUSE_SECONDS >= deadline)); then
      fail "gave up within ${limit} s, last status ${status}: $*"
    fi
    sleep "$RETRY_PAUSE_SECONDS"
  done
}

check_variables() {
  local name
  for name in SLIPWAY_ECS_CLUSTER SLIPWAY_MODEL_BUCKET SLIPWAY_MODEL_PREFIX SLIPWAY_MODEL_MOUNT \
    SLIPWAY_NEURON_DEVICES; do
    if [[ -z "${!name:-}" || "${!name}" == *[[:space:],]* ]]; then
      fail "${name} must be set, without spaces and commas"
    fi
  done
  if [[ ! "$SLIPWAY_NEURON_DEVICES" =~ ^[1-9][0-9]*$ ]]; then
    fail "SLIPWAY_NEURON_DEVICES must be a number from 1, not '${SLIPWAY_NEURON_DEVICES}'"
  fi
}

# The device files have been missing on Neuron AMIs before (aws-neuron-driver issue 3).
wait_for_neuron_devices() {
  local deadline=$((SECONDS + DEVICE_SECONDS)) found
  while true; do
    found="$(find "${ROOT}/dev" -mindepth 1 -maxdepth 1 -name 'neuron[0-9]*' | wc -l)"
    if ((found == SLIPWAY_NEURON_DEVICES)); then
      return
    fi
    if ((SECONDS >= deadline)); then
      fail "expected ${SLIPWAY_NEURON_DEVICES} of /dev/neuron*, found ${found} after ${DEVICE_SECONDS} s"
    fi
    sleep "$RETRY_PAUSE_SECONDS"
  done
}

install_mountpoint() {
  if ! rpm --query mount-s3 >/dev/null; then
    retry "$INSTALL_SECONDS" dnf install -y mount-s3
  fi
}

# An fstab entry rather than a bare mount-s3: the mount is back after a reboot. Mountpoint refuses to start from fstab
# without _netdev, nosuid and nodev; nofail lets a host boot far enough to be looked at.
mount_models() {
  local fstab="${ROOT}/etc/fstab" options="_netdev,nosuid,nodev,nofail,ro,allow-other" help prefix unit
  # Versions before 1.24 do not know the option and would refuse to mount.
  help="$(mount-s3 --help)"
  if [[ "$help" == *--memory-target* ]]; then
    options+=",memory-target=${MOUNTPOINT_MEMORY_MIB}"
  fi
  prefix="${SLIPWAY_MODEL_PREFIX#/}"
  mkdir -p "${ROOT}${SLIPWAY_MODEL_MOUNT}"
  awk -v directory="$SLIPWAY_MODEL_MOUNT" '$2 != directory' "$fstab" >"${fstab}.slipway"
  printf 's3://%s/%s/ %s mount-s3 %s 0 0\n' "$SLIPWAY_MODEL_BUCKET" "${prefix%/}" "$SLIPWAY_MODEL_MOUNT" "$options" \
    >>"${fstab}.slipway"
  cat "${fstab}.slipway" >"$fstab"
  rm "${fstab}.slipway"
  systemctl daemon-reload
  unit="$(systemd-escape --suffix=mount --path "$SLIPWAY_MODEL_MOUNT")"
  retry "$MOUNT_SECONDS" systemctl start "$unit"
  if ! mountpoint -q "${ROOT}${SLIPWAY_MODEL_MOUNT}"; then
    fail "${SLIPWAY_MODEL_MOUNT} is not mounted although ${unit} started"
  fi
}

# After a reboot user data does not run again: then this dependency keeps the agent from starting before the mount.
tie_agent_to_mount() {
  mkdir -p "${ROOT}/etc/systemd/system/ecs.service.d"
  printf '[Unit]\nRequiresMountsFor=%s\n' "$SLIPWAY_MODEL_MOUNT" \
    >"${ROOT}/etc/systemd/system/ecs.service.d/slipway-models.conf"
  systemctl daemon-reload
}

# set_ecs_option KEY VALUE: writes the option once, whatever the AMI or an earlier line of user data wrote.
set_ecs_option() {
  local others
  others="$(grep -v "^$1=" "$ECS_CONFIG" || true)"
  printf '%s%s=%s\n' "${others:+${others}$'\n'}" "$1" "$2" >"$ECS_CONFIG"
}

# Containers must not reach the instance's credentials, they have a task role. The AMI's own options stay.
configure_agent() {
  mkdir -p "${ECS_CONFIG%/*}"
  touch "$ECS_CONFIG"
  set_ecs_option ECS_AWSVPC_BLOCK_IMDS true
  set_ecs_option ECS_ENABLE_TASK_IAM_ROLE true
  set_ecs_option ECS_CLUSTER "$SLIPWAY_ECS_CLUSTER"
}

step "check the variables" check_variables
step "wait for the Neuron devices" wait_for_neuron_devices
step "install Mountpoint" install_mountpoint
step "mount the models" mount_models
step "tie the ECS agent to the mount" tie_agent_to_mount
step "configure the ECS agent" configure_agent
say "host ready for ECS cluster ${SLIPWAY_ECS_CLUSTER} after ${SECONDS} s"
