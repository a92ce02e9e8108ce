#!/usr/bin/env bash
# Sets an inference host up at its first boot, run by user_data.sh: proves the Neuron devices, provides the model as
# SLIPWAY_MODEL_SOURCE says, checks that it is what an engine starts with, installs the services that do so again at
# each later boot and while the host serves, and only then names the ECS cluster and tells the Auto Scaling group that
# the host may go into service. README.md describes the variables.
set -euo pipefail

SCRIPT_DIRECTORY="$(dirname "$(readlink -f "$0")")"
readonly SCRIPT_DIRECTORY
# shellcheck source=assets/inference/host/steps.sh
source "${SCRIPT_DIRECTORY}/steps.sh"
# shellcheck source=assets/inference/host/host_state.sh
source "${SCRIPT_DIRECTORY}/host_state.sh"

readonly DOCKER_SECONDS="${SLIPWAY_DOCKER_SECONDS:-120}"
readonly IMAGE_SECONDS="${SLIPWAY_IMAGE_SECONDS:-900}"
readonly ECS_CONFIG="${ROOT}/etc/ecs/ecs.config"

check_variables() {
  local name
  for name in "${HOST_VARIABLES[@]}"; do
    if [[ -z "${!name:-}" || "${!name}" == *[[:space:],]* ]]; then
      fail "${name} must be set, without spaces and commas"
    fi
  done
  if [[ ! "$SLIPWAY_NEURON_DEVICES" =~ ^[1-9][0-9]*$ ]]; then
    fail "SLIPWAY_NEURON_DEVICES must be a number from 1, not '${SLIPWAY_NEURON_DEVICES}'"
  fi
}

# The services read them from here, as systemd's EnvironmentFile: no value needs quotes.
write_settings() {
  local name
  for name in "${HOST_VARIABLES[@]}"; do
    printf '%s=%s\n' "$name" "${!name}"
  done | put_file "${ROOT}/etc/slipway/host.conf"
}

# Docker may still be starting, and registries turn a pull away for a moment: both are tried until their time is over.
fetch_image() {
  local registry="${SLIPWAY_IMAGE%%/*}"
  # Docker keeps the password there for the twelve hours that it is good: in memory, and only until the image is pulled.
  local -x DOCKER_CONFIG="${ROOT}/run/slipway/docker"
  # The AMI's units of ECS and Docker wait for user data to end, which would wait for Docker here (Amazon ECS developer
  # guide, launching a Linux container instance). What Docker needs starts with the boot: ecs.service wants it.
  retry "$DOCKER_SECONDS" systemctl start --job-mode=ignore-dependencies docker.service
  if [[ "$registry" == *.dkr.ecr.*.amazonaws.com* ]] && ! aws_cli ecr get-login-password |
    timeout "$AWS_SECONDS" docker login --username AWS --password-stdin "$registry"; then
    say "WARNING: no log-in to ${registry}" >&2
  fi
  retry "$IMAGE_SECONDS" docker pull --quiet "$SLIPWAY_IMAGE"
}

# A host for the warm pool has minutes to spare now and none later. Elsewhere the agent pulls, and no later than here.
# A registry that is away now may be back by then: that is no reason to refuse the host.
pull_image() {
  if [[ "$SLIPWAY_WARM_POOL" != true ]]; then
    return
  fi
  # A shell of its own, which retry ends when it gives up.
  if ! (fetch_image); then
    say "WARNING: ${SLIPWAY_IMAGE} is not pulled yet, the ECS agent will try again" >&2
  fi
  rm -rf "${ROOT}/run/slipway/docker"
}

install_services() {
  local unit
  for unit in slipway-host-failed.service slipway-host-proof.service slipway-host-watchdog.service \
    slipway-neuron-metrics.service; do
    put_file "${ROOT}/etc/systemd/system/${unit}" <"${SCRIPT_DIRECTORY}/${unit}"
  done
  systemctl daemon-reload
  # Enabled, not started: this boot's proof is the set-up itself.
  systemctl enable --quiet slipway-host-proof.service slipway-host-watchdog.service slipway-neuron-metrics.service
}

# Without waiting: user data must not depend on them, nor on their order after network and file systems.
start_services() {
  systemctl start --no-block slipway-host-watchdog.service slipway-neuron-metrics.service
}

# set_ecs_option KEY VALUE: writes the option once, whatever the AMI or an earlier line of user data wrote.
set_ecs_option() {
  local others
  others="$(grep -v "^$1=" "$ECS_CONFIG" || true)"
  printf '%s%s=%s\n' "${others:+${others}$'\n'}" "$1" "$2" >"$ECS_CONFIG"
}

# Containers must not reach the instance's credentials, they have a task role. The AMI's own options stay. In a warm
# pool the agent must wait until the group takes the host, or ECS places tasks on a host that is about to stop.
configure_agent() {
  mkdir -p "${ECS_CONFIG%/*}"
  touch "$ECS_CONFIG"
  set_ecs_option ECS_AWSVPC_BLOCK_IMDS true
  set_ecs_option ECS_ENABLE_TASK_IAM_ROLE true
  set_ecs_option ECS_WARM_POOLS_CHECK "$SLIPWAY_WARM_POOL"
  set_ecs_option ECS_CLUSTER "$SLIPWAY_ECS_CLUSTER"
  if [[ -n "${HTTPS_PROXY:-}" ]]; then
    # The agent's container gets every line of the file, and reaches Docker through a proxy where it is not told not to
    # (Amazon ECS developer guide, using an HTTP proxy for Linux container instances).
    set_ecs_option HTTP_PROXY "$HTTPS_PROXY"
    set_ecs_option HTTPS_PROXY "$HTTPS_PROXY"
    set_ecs_option NO_PROXY "${NO_PROXY},/var/run/docker.sock"
  fi
}

step "check the variables" check_variables
# shellcheck source=assets/inference/host/model_mountpoint.sh
source "${SCRIPT_DIRECTORY}/model_${SLIPWAY_MODEL_SOURCE}.sh"
step "write the host's settings" write_settings
step "wait for the Neuron devices" wait_for_neuron_devices
step "check the Neuron driver" check_neuron_driver
step "provide the model" provide_model
step "check the model's folder" check_model_folder "$CHECK_SECONDS"
step "pull the engine's image" pull_image
step "configure the ECS agent" configure_agent
step "install the services" install_services
step "go into service" go_into_service
step "start the services" start_services
say "host ready for ECS cluster ${SLIPWAY_ECS_CLUSTER} after ${SECONDS} s"
