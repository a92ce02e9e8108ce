# shellcheck shell=bash
# The user of the containers and sshd for it; sourced after steps.sh by install.sh.

readonly USER_NAME=slipway USER_ID=1000

# make_user: gives the image the user that its containers run as. Images of Ubuntu 24.04 have a user `ubuntu` with that id.
make_user() {
  local former
  former="$(getent passwd "$USER_ID" | cut --delimiter=: --fields=1 || true)"
  if [[ "$former" == "$USER_NAME" ]]; then
    return
  fi
  if [[ -n "$former" ]]; then
    userdel --remove "$former"
  fi
  groupadd --gid "$USER_ID" "$USER_NAME"
  # `*` is no password at all, and no locked account either, which sshd would refuse.
  useradd --uid "$USER_ID" --gid "$USER_ID" --create-home --shell /bin/bash --password '*' "$USER_NAME"
}

# configure_ssh: sshd as a plain user, as the base image of the MPI operator has it (kubeflow/mpi-operator, build/base).
# The package made host keys, the same in every container of the image; each MPIJob brings its own.
configure_ssh() {
  rm -f "${ROOT}/etc/ssh/ssh_host_"*
  put_file "${ROOT}/home/${USER_NAME}/.sshd_config" <"${IMAGE_DIRECTORY}/sshd_config"
  put_file "${ROOT}/etc/ssh/ssh_config.d/slipway.conf" <"${IMAGE_DIRECTORY}/ssh_config"
}
