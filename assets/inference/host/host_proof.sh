#!/usr/bin/env bash
# Proves an inference host anew at each boot after the first, before the ECS agent starts: a host that leaves the warm
# pool, or was rebooted, has the same to show as one that was just set up. Run by slipway-host-proof.service.
set -euo pipefail

SCRIPT_DIRECTORY="$(dirname "$(readlink -f "$0")")"
readonly SCRIPT_DIRECTORY
# shellcheck source=assets/inference/host/steps.sh
source "${SCRIPT_DIRECTORY}/steps.sh"
# shellcheck source=assets/inference/host/host_state.sh
source "${SCRIPT_DIRECTORY}/host_state.sh"
# shellcheck source=assets/inference/host/model_mount.sh
source "${SCRIPT_DIRECTORY}/model_mount.sh"

step "wait for the Neuron devices" wait_for_neuron_devices
step "check the Neuron driver" check_neuron_driver
step "mount the model" start_mount
step "check the model's folder" check_model_folder "$CHECK_SECONDS"
step "go into service" go_into_service
say "host proven after ${SECONDS} s"
