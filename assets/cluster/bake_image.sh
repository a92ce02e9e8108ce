#!/usr/bin/env bash
# Bakes the Neuron driver, collectives, runtime and tools of a training stack into the image that this machine becomes,
# and all that a head node would fetch: its Python and its Python packages (baked_packages.sh).
# EC2 Image Builder runs it as root, behind the steps of `pcluster build-image`, on a machine without Neuron devices.
#
#   bake_image.sh TRAINING_STACK [OTHER_TRAINING_STACK...]
#
# Any image of a cluster can be its head node's, so each holds the Python packages of all training stacks.
#
# The nodes' own set-up checks all of it at each boot and installs only what differs.
set -euo pipefail
umask 022
# No node waits here: only a hanging download must end.
export SLIPWAY_SETUP_SECONDS="${SLIPWAY_SETUP_SECONDS:-3600}"

SCRIPT_DIRECTORY="$(dirname "${BASH_SOURCE[0]}")"
readonly SCRIPT_DIRECTORY
for part in steps operating_system training_stack neuron_packages baked_image python_environments \
  neuron_monitor baked_packages patching; do
  # shellcheck source=/dev/null
  source "${SCRIPT_DIRECTORY}/${part}.sh"
done

# bake_training_packages STACK: as the head node installs them, in the same place.
bake_training_packages() {
  local name
  load_training_stack "$1"
  name="$(environment_name)"
  install_training_packages
  store_packages "$name" "${ROOT}/apps/neuron/${name}"
}

# bake_other_packages: those of neuron-monitor, and of the job kit where one of the training stacks has it.
bake_other_packages() {
  local kit="${ROOT}/apps/slipway/jobs/.unfinished" requirements="${SCRIPT_DIRECTORY}/jobs/requirements.txt"
  mkdir -p "$kit" "$MONITOR_DIRECTORY"
  install_monitor_packages "${ROOT}/apps/neuron/$(environment_name)/bin/python"
  store_packages "$(monitor_packages_name)" "${MONITOR_DIRECTORY}/python"
  if [[ -e "$requirements" ]]; then
    install_kit_packages "$kit" "$requirements"
    store_packages "$(kit_packages_name "$requirements")" "${kit}/venv"
  fi
}

# clean_up: a node mounts its own /apps over the folder. Package lists and archives are stale by the time of the first boot
# and would only make the image larger.
clean_up() {
  if [[ "$PACKAGE_MANAGER" == apt ]]; then
    apt-get clean
    rm -rf "${ROOT}/var/lib/apt/lists/"*
  else
    dnf clean all
  fi
  rm -rf "${ROOT}/apps/neuron" "${ROOT}/apps/slipway" "$SCRIPT_DIRECTORY"
}

step "read the training stack" load_training_stack "$1"
step "check the operating system" check_operating_system
step "stop unattended upgrades" stop_unattended_upgrades
step "install the kernel headers" install_kernel_headers
step "install the Neuron packages" install_neuron_packages "${NODE_PACKAGES[@]}"
step "build the Neuron driver" build_neuron_driver
step "provide Python" provide_python
# The parent may be a baked image.
rm -rf "$BAKED_PACKAGES"
for stack in "$@"; do
  step "bake the training packages of ${stack}" bake_training_packages "$stack"
done
step "bake the packages of neuron-monitor and the job kit" bake_other_packages
load_training_stack "$1"
step "hold the kernel and the Neuron packages" hold_packages
step "allow security updates only" configure_security_updates
step "install the security updates" bash "${SCRIPT_DIRECTORY}/security_updates.sh"
step "record what the image holds" write_baked_record
step "clean up" clean_up
say "${TRAINING_STACK} baked into the image after ${SECONDS} s"
