# shellcheck shell=bash
# The Python environments of a training stack and of the job kit; sourced after steps.sh, operating_system.sh and
# training_stack.sh. The head node builds them on the shared /apps, the training image of Kubernetes in itself.

readonly PIP_SECONDS="${SLIPWAY_PIP_SECONDS:-600}"
# The job kit's installer; the training image has it in another folder.
readonly PYTHON_INSTALLER="${PYTHON_INSTALLER:-${SCRIPT_DIRECTORY}/jobs/slipway_jobs/python_packages.py}"

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

# environment_name: prints the directory of the loaded stack's environment. Other pins, or another lock of all packages,
# have another name, so they are built beside the environment that jobs are using.
environment_name() {
  local checksum
  checksum="$({
    printf '%s\n' "${PYTHON_PACKAGES[*]}"
    [[ -z "${PYTHON_LOCK:-}" ]] || cat "${SCRIPT_DIRECTORY}/${PYTHON_LOCK}"
  } | sha256sum)"
  printf '%s-python%s-%s' "$TRAINING_STACK" "$PYTHON_VERSION" "${checksum:0:8}"
}

# install_training_packages: the file .requirements is written last and marks an environment complete; a directory
# without it was left by an installation that broke off.
install_training_packages() {
  local environment source options=()
  environment="${ROOT}/apps/neuron/$(environment_name)"
  if [[ -f "${environment}/.requirements" ]]; then
    say "${PYTHON_PACKAGES[*]}: already in ${environment}"
    return
  fi
  rm -rf "$environment"
  "python${PYTHON_VERSION}" -m venv "$environment"
  for source in "${PYTHON_SOURCES[@]}"; do
    options+=(--source "$source")
  done
  if [[ -n "${PYTHON_LOCK:-}" ]]; then
    options+=(--lock "${SCRIPT_DIRECTORY}/${PYTHON_LOCK}")
  fi
  retry "$PIP_SECONDS" "${environment}/bin/python" "$PYTHON_INSTALLER" "$environment" "${options[@]}" \
    "${PYTHON_PACKAGES[@]}"
  printf '%s\n' "${PYTHON_PACKAGES[@]}" >"${environment}/.requirements"
}

# install_kit_packages DIRECTORY REQUIREMENTS: makes the environment venv in the directory, with the packages of a file,
# which has checksums of all of them.
install_kit_packages() {
  "python${PYTHON_VERSION}" -m venv "$1/venv"
  retry "$PIP_SECONDS" "$1/venv/bin/python" -m pip install --quiet --no-cache-dir --disable-pip-version-check \
    --require-hashes --only-binary :all: --requirement "$2"
}

# complete_kit DIRECTORY: turns the job kit's files with their environment into a kit that runs from anywhere.
complete_kit() {
  # Python finds the kit without PYTHONPATH, which jobs would inherit. A path in such a file counts from its folder.
  printf '../../../..\n' >"$1/venv/lib/python${PYTHON_VERSION}/site-packages/slipway_job_kit.pth"
  # Users cannot write compiled files here.
  "$1/venv/bin/python" -m compileall -q "$1"/slipway_*
  # The programs beside the interpreter, which is a link, name the folder as it is now, before it gets its own name.
  find "$1/venv/bin" -type f -delete
}
