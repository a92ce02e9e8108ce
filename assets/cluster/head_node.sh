#!/usr/bin/env bash
# Sets up the head node: one Python environment for each training stack and the job kit on the shared /apps, and the
# health check that all nodes run. The Neuron driver and runtime belong on the compute nodes. A second run finds
# everything done and changes nothing.
set -euo pipefail
umask 022

SCRIPT_DIRECTORY="$(dirname "${BASH_SOURCE[0]}")"
readonly SCRIPT_DIRECTORY
readonly PIP_SECONDS="${SLIPWAY_PIP_SECONDS:-1500}"
for part in steps operating_system training_stack storage_checks health neuron_monitor job_kit training_stacks; do
  # shellcheck source=/dev/null
  source "${SCRIPT_DIRECTORY}/${part}.sh"
done

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

# environment_name: prints the directory of the loaded stack's environment. Other pins have another name, so they are
# built beside the environment that jobs are using.
environment_name() {
  local checksum
  checksum="$(sha256sum <<<"${PYTHON_PACKAGES[*]}")"
  printf '%s-python%s-%s' "$TRAINING_STACK" "$PYTHON_VERSION" "${checksum:0:8}"
}

# install_training_packages: the file .requirements is written last and marks an environment complete; a directory
# without it was left by an installation that broke off.
install_training_packages() {
  local environment index options=(--quiet --no-cache-dir --disable-pip-version-check)
  environment="${ROOT}/apps/neuron/$(environment_name)"
  if [[ -f "${environment}/.requirements" ]]; then
    say "${PYTHON_PACKAGES[*]}: already in ${environment}"
    return
  fi
  rm -rf "$environment"
  "python${PYTHON_VERSION}" -m venv "$environment"
  # The exact versions exist only in the Neuron index: PyPI holds placeholders of the same names.
  for index in "${PYTHON_INDEXES[@]}"; do
    options+=(--extra-index-url "$index")
  done
  retry "$PIP_SECONDS" "${environment}/bin/python" -m pip install "${options[@]}" "${PYTHON_PACKAGES[@]}"
  printf '%s\n' "${PYTHON_PACKAGES[@]}" >"${environment}/.requirements"
}

step "check /apps" check_apps
step "read whether there is a job kit" check_job_kit_key
for stack in "${TRAINING_STACKS[@]}"; do
  step "read the training stack ${stack}" load_training_stack "$stack"
  step "check the operating system for ${stack}" check_operating_system
done
step "stop unattended upgrades" stop_unattended_upgrades
step "hold the kernel" hold_packages
step "install the health check" install_health_check
step "install the smoke jobs" install_smoke_jobs
for stack in "${TRAINING_STACKS[@]}"; do
  load_training_stack "$stack"
  step "provide Python for ${stack}" provide_python
  step "install the training packages of ${stack}" install_training_packages
  link "${ROOT}/apps/neuron/${stack}" "$(environment_name)"
done
link "${ROOT}/apps/neuron/current" "${TRAINING_STACKS[0]}"
step "write the login profile" write_profile /apps/neuron/current
step "check /fsx" check_fsx
step "install what neuron-monitor needs" install_monitor_environment "${ROOT}/apps/neuron/current/bin/python"
if [[ "$JOB_KIT" == yes ]]; then
  load_training_stack "${TRAINING_STACKS[0]}"
  step "make the directories of jobs" make_job_directories
  step "install the job kit" install_job_kit
  step "put slipway-job on the path" write_job_profile
else
  say_no_job_kit
fi
say "head node ready for ${TRAINING_STACKS[*]} after ${SECONDS} s"
