#!/usr/bin/env bash
# Bakes the Neuron driver, collectives, runtime and tools of a training stack into the image that this machine becomes.
# EC2 Image Builder runs it as root, behind the steps of `pcluster build-image`, on a machine without Neuron devices.
#
#   bake_image.sh TRAINING_STACK
#
# The nodes' own set-up checks all of it at each boot and installs only what differs.
set -euo pipefail
umask 022
# No node waits here: only a hanging download must end.
export SLIPWAY_SETUP_SECONDS="${SLIPWAY_SETUP_SECONDS:-3600}"

SCRIPT_DIRECTORY="$(dirname "${BASH_SOURCE[0]}")"
readonly SCRIPT_DIRECTORY
for part in steps operating_system training_stack neuron_packages baked_image patching; do
  # shellcheck source=/dev/null
  source "${SCRIPT_DIRECTORY}/${part}.sh"
done

# clean_up: package lists and archives are stale by the time of the first boot and would only make the image larger.
clean_up() {
  if [[ "$PACKAGE_MANAGER" == apt ]]; then
    apt-get clean
    rm -rf "${ROOT}/var/lib/apt/lists/"*
  else
    dnf clean all
  fi
  rm -rf "$SCRIPT_DIRECTORY"
}

step "read the training stack" load_training_stack "$1"
step "check the operating system" check_operating_system
step "stop unattended upgrades" stop_unattended_upgrades
step "install the kernel headers" install_kernel_headers
step "install the Neuron packages" install_neuron_packages "${NODE_PACKAGES[@]}"
step "build the Neuron driver" build_neuron_driver
step "hold the kernel and the Neuron packages" hold_packages
step "allow security updates only" configure_security_updates
step "install the security updates" bash "${SCRIPT_DIRECTORY}/security_updates.sh"
step "record what the image holds" write_baked_record
step "clean up" clean_up
say "${TRAINING_STACK} baked into the image after ${SECONDS} s"
