#!/usr/bin/env bash
# Sets up the head node: the Python environment with the pinned training packages on the shared /apps. The Neuron driver
# and runtime belong on the compute nodes. A second run finds everything done and changes nothing.
set -euo pipefail
umask 022

SCRIPT_DIRECTORY="$(dirname "${BASH_SOURCE[0]}")"
readonly SCRIPT_DIRECTORY
readonly PIP_SECONDS="${SLIPWAY_PIP_SECONDS:-1500}"
# shellcheck source-path=SCRIPTDIR source=steps.sh
source "${SCRIPT_DIRECTORY}/steps.sh"
# shellcheck source-path=SCRIPTDIR source=operating_system.sh
source "${SCRIPT_DIRECTORY}/operating_system.sh"

provide_python() {
  local python="python${PYTHON_VERSION}" packages=("python${PYTHON_VERSION}") found
  if [[ "$PACKAGE_MANAGER" == apt ]]; then
    packages+=("python${PYTHON_VERSION}-venv")
  fi
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    install_packages "${packages[@]}"
  fi
  found="$("$python" -c 'import sys; print("{}.{}".format(*sys.version_info))')"
  if [[ "$found" != "$PYTHON_VERSION" ]]; then
    fail "${python} is Python ${found}, the training packages need ${PYTHON_VERSION}"
  fi
}

check_apps() {
  if ! mountpoint -q "${ROOT}/apps"; then
    fail "/apps is not a mounted file system: compute nodes would not see the training packages"
  fi
}

# The environment has the release and the Python version in its name: another release is built beside it, under running
# jobs, and "current" moves over when it is complete. The file .requirements is written last and marks it complete.
install_training_packages() {
  local name="${NEURON_RELEASE}-python${PYTHON_VERSION}"
  local environment="${ROOT}/apps/neuron/${name}" index options=(--quiet --no-cache-dir --disable-pip-version-check)
  if [[ -f "${environment}/.requirements" && "$(<"${environment}/.requirements")" == "${PYTHON_PACKAGES[*]}" ]]; then
    say "${PYTHON_PACKAGES[*]}: already in ${environment}"
  else
    rm -rf "$environment"
    "python${PYTHON_VERSION}" -m venv "$environment"
    # The exact versions exist only in the Neuron index: PyPI holds placeholders of the same names.
    for index in "${PYTHON_INDEXES[@]}"; do
      options+=(--extra-index-url "$index")
    done
    retry "$PIP_SECONDS" "${environment}/bin/python" -m pip install "${options[@]}" "${PYTHON_PACKAGES[@]}"
    printf '%s\n' "${PYTHON_PACKAGES[*]}" >"${environment}/.requirements"
  fi
  ln -sfn "$name" "${ROOT}/apps/neuron/current"
}

step "read the Neuron release" load_neuron_release
step "check the operating system" check_operating_system
step "stop unattended upgrades" stop_unattended_upgrades
step "hold the kernel" hold_packages
step "check /apps" check_apps
step "provide Python" provide_python
step "install the training packages" install_training_packages
step "write the login profile" write_profile
say "head node ready for Neuron ${NEURON_RELEASE} after ${SECONDS} s"
