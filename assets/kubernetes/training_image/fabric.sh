# shellcheck shell=bash
# Libfabric and Open MPI from AWS's EFA installer; sourced after operating_system.sh by install.sh.

readonly EFA_SECONDS="${SLIPWAY_EFA_SECONDS:-1200}"

# run_efa_installer DIRECTORY: one attempt; it calls apt-get itself, which needs fresh lists. No kernel module and no
# limits (a container has neither of its own), no look for a device. Open MPI 4.1 alone: the MPI operator steers it with
# variables of ORTE, which Open MPI 5 does not have.
run_efa_installer() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q update &&
    cd "$1" &&
    bash ./efa_installer.sh --yes --skip-kmod --skip-limit-conf --no-verify --mpi=openmpi4
}
# For the shell that retry starts.
export -f run_efa_installer

# install_fabric: the generated file has the installer's address and the checksum that AWS publishes for it.
install_fabric() {
  local work EFA_INSTALLER_ADDRESS EFA_INSTALLER_SHA256
  # shellcheck source=/dev/null
  source "${IMAGE_DIRECTORY}/efa_release.sh"
  work="$(mktemp --directory)"
  retry "$PACKAGE_SECONDS" curl --fail --silent --show-error --location --output "${work}/installer.tar.gz" \
    "$EFA_INSTALLER_ADDRESS"
  if ! sha256sum --check --quiet --strict <<<"${EFA_INSTALLER_SHA256}  ${work}/installer.tar.gz"; then
    fail "${EFA_INSTALLER_ADDRESS} is not the file that AWS published"
  fi
  tar --extract --gzip --file "${work}/installer.tar.gz" --directory "$work"
  retry "$EFA_SECONDS" bash -c "run_efa_installer '${work}/aws-efa-installer'"
  rm -rf "$work"
}
