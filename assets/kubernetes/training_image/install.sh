#!/usr/bin/env bash
# Installs one part of the training image; the Dockerfile runs it as root, once for each part.
#
#   install.sh system|fabric|neuron|training_environment|job_kit TRAINING_STACK
#
# Two folders up it expects the node scripts (cluster) with the lock file of the training stack, and the job kit (jobs).
# What it takes from the node scripts installs the same versions in the same way as on a Slurm node. Not taken: kernel
# headers, driver and holds, which are the node's; nor unattended upgrades, which a container has none of.
set -euo pipefail
umask 022
# No node waits here: only a hanging download must end.
export SLIPWAY_SETUP_SECONDS="${SLIPWAY_SETUP_SECONDS:-5400}"

IMAGE_DIRECTORY="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly IMAGE_DIRECTORY
# The node scripts look for the lock file in their own folder.
readonly SCRIPT_DIRECTORY="${IMAGE_DIRECTORY}/../../cluster"
# shellcheck disable=SC2034 # python_environments.sh reads it
PYTHON_INSTALLER="${IMAGE_DIRECTORY}/../../jobs/slipway_jobs/python_packages.py"
for part in steps operating_system training_stack neuron_packages python_environments; do
  # shellcheck source=/dev/null
  source "${SCRIPT_DIRECTORY}/${part}.sh"
done
for part in user fabric job_kit; do
  # shellcheck source=/dev/null
  source "${IMAGE_DIRECTORY}/${part}.sh"
done

# What the Neuron packages, sshd and people at the shell need beside Python; g++ is in the Neuron SDK's own setup guide.
readonly SYSTEM_TOOLS=(ca-certificates curl g++ less openssh-client openssh-server procps)

# forget_package_lists: package lists are stale by the time of the first pod and only make a layer larger.
forget_package_lists() {
  apt-get clean
  rm -rf "${ROOT}/var/lib/apt/lists/"*
}

readonly PART="$1"
step "read the training stack" load_training_stack "$2"
step "check the operating system" check_operating_system
case "$PART" in
  system)
    step "install the system's tools" install_packages "${SYSTEM_TOOLS[@]}"
    step "provide Python" provide_python
    step "make the user" make_user
    step "configure SSH" configure_ssh
    ;;
  fabric) step "install EFA" install_fabric ;;
  neuron) step "install the Neuron packages" install_neuron_packages "${RUNTIME_PACKAGES[@]}" ;;
  training_environment)
    step "install the training packages" install_training_packages
    link "${ROOT}/apps/neuron/${TRAINING_STACK}" "$(environment_name)"
    link "${ROOT}${NODE_ENVIRONMENT}" "/apps/neuron/${TRAINING_STACK}"
    ;;
  job_kit) step "install the job kit" install_kit ;;
  *) fail "'${PART}' is no part of the training image" ;;
esac
step "forget the package lists" forget_package_lists
say "${PART} of the training image for ${TRAINING_STACK} done after ${SECONDS} s"
