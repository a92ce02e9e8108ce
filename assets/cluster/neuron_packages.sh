# shellcheck shell=bash
# Installs the Neuron driver, collectives, runtime and tools at the versions of the loaded training stack; sourced after
# operating_system.sh and training_stack.sh. Nothing here needs a Neuron device, so that an image can be baked with it.
# The only downloads are the Neuron package repository's and the operating system's own.

readonly REPOSITORY_KEY="GPG-PUB-KEY-AMAZON-AWS-NEURON.PUB"

# What programs need of the pinned packages, also in a container; the hook for containers is for other machines.
readonly RUNTIME_PACKAGES=(aws-neuronx-collectives aws-neuronx-runtime-lib aws-neuronx-tools)
# What a compute node installs: the driver too.
# shellcheck disable=SC2034 # for those who source this file
readonly NODE_PACKAGES=(aws-neuronx-dkms "${RUNTIME_PACKAGES[@]}")

# pins PACKAGE...: prints NAME=VERSION for each of them.
pins() {
  local name version
  for name in "$@"; do
    version="$(pinned_version "$name")"
    printf '%s=%s\n' "$name" "$version"
  done
}

# installed_version PACKAGE: prints its version without the build suffix (2.30.59.0-838c7fc8b), or nothing.
installed_version() {
  local version=""
  if [[ "$PACKAGE_MANAGER" == apt ]]; then
    version="$(dpkg-query --show --showformat '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null)" || return 0
    if [[ "$version" == "installed "* ]]; then
      version="${version#installed }"
      printf '%s' "${version%%-*}"
    fi
  else
    version="$(rpm --query --queryformat '%{VERSION}' "$1")" || return 0
    printf '%s' "$version"
  fi
}

# all_installed PIN...: whether each package is there in its pinned version.
all_installed() {
  local pin
  for pin in "$@"; do
    if [[ "$(installed_version "${pin%%=*}")" != "${pin#*=}" ]]; then
      return 1
    fi
  done
}

# choose_apt_suite: prints the newest suite of the Neuron repository that this Ubuntu can use. Sources disagree whether
# 24.04 has a suite of its own (the Neuron documentation says so, aws-parallelcluster pull request 7047 found none), so
# the repository is asked. The packages are pinned: the suite does not change what is installed.
choose_apt_suite() {
  local own suite status
  # shellcheck source=/dev/null
  own="$(source "${ROOT}/etc/os-release" && printf '%s' "$VERSION_CODENAME")"
  for suite in "$own" jammy focal; do
    status=0
    curl --fail --silent --show-error --location --head --output /dev/null --max-time 30 --retry 8 --retry-connrefused \
      --retry-max-time 120 "${PACKAGE_REPOSITORY}/dists/${suite}/InRelease" || status=$?
    case "$status" in
      0)
        printf '%s' "$suite"
        return
        ;;
      22) say "no suite ${suite} in ${PACKAGE_REPOSITORY}" >&2 ;;
      *) fail "${PACKAGE_REPOSITORY} cannot be reached, curl status ${status}" ;;
    esac
  done
  fail "${PACKAGE_REPOSITORY} has none of the suites ${own}, jammy, focal"
}

# fetch_repository_key FILE: puts the key that signs the Neuron packages there, and refuses any other than the pinned
# one. It is fetched, not shipped: its date of expiry has been moved before, which changes the file but not the
# fingerprint.
fetch_repository_key() {
  local home found
  if ! command -v gpg >/dev/null; then
    if [[ "$PACKAGE_MANAGER" == apt ]]; then
      install_packages gnupg
    else
      install_packages gnupg2-minimal
    fi
  fi
  mkdir -p "${1%/*}"
  rm -rf "$1.gnupg"
  retry "$PACKAGE_SECONDS" curl --fail --silent --show-error --location --output "$1.fetched" \
    "${PACKAGE_REPOSITORY}/${REPOSITORY_KEY}"
  home="$1.gnupg"
  mkdir -m 0700 "$home"
  # One line for each key of the file: a second key is refused too.
  found="$(gpg --batch --homedir "$home" --with-colons --show-keys "$1.fetched" 2>/dev/null |
    awk -F: '$1 == "pub" { key = 1 } $1 == "fpr" && key { print $10; key = 0 }' || true)"
  rm -rf "$home"
  if [[ "$found" != "$PACKAGE_KEY" ]]; then
    rm "$1.fetched"
    fail "${PACKAGE_REPOSITORY}/${REPOSITORY_KEY} has the fingerprint '${found//$'\n'/ }', not ${PACKAGE_KEY}:" \
      "nothing is installed from there"
  fi
  chmod 0644 "$1.fetched"
  mv "$1.fetched" "$1"
}

add_neuron_repository() {
  local keyring="${ROOT}/etc/apt/keyrings/neuron.asc" suite
  if [[ "$PACKAGE_MANAGER" == dnf ]]; then
    keyring="${ROOT}/etc/pki/rpm-gpg/RPM-GPG-KEY-neuron"
    fetch_repository_key "$keyring"
    put_file "${ROOT}/etc/yum.repos.d/neuron.repo" <<REPOSITORY
[neuron]
name=Neuron YUM Repository
baseurl=${PACKAGE_REPOSITORY}
enabled=1
metadata_expire=0
gpgcheck=1
gpgkey=file://${keyring}
REPOSITORY
    return
  fi
  # apt reads armored keys from *.asc files.
  fetch_repository_key "$keyring"
  suite="$(choose_apt_suite)"
  put_file "${ROOT}/etc/apt/sources.list.d/neuron.list" \
    <<<"deb [signed-by=${keyring}] ${PACKAGE_REPOSITORY} ${suite} main"
}

# driver_is_built: whether the running kernel has the pinned driver as a module.
driver_is_built() {
  local pinned
  pinned="$(pinned_version aws-neuronx-dkms)"
  [[ "$(modinfo --field version neuron 2>/dev/null || true)" == "$pinned" ]]
}

# install_kernel_headers: dkms builds the driver against the headers of the running kernel, no others will do.
install_kernel_headers() {
  local kernel
  kernel="$(uname -r)"
  if driver_is_built; then
    say "headers of kernel ${kernel}: not needed, it has the driver"
  elif [[ -d "${ROOT}/lib/modules/${kernel}/build" ]]; then
    say "headers of kernel ${kernel}: already there"
  elif [[ "$PACKAGE_MANAGER" == apt ]]; then
    install_packages "linux-headers-${kernel}"
  else
    install_packages "kernel-devel-uname-r = ${kernel}"
  fi
}

# install_neuron_packages PACKAGE...: installs them in their pinned versions.
install_neuron_packages() {
  local lines pins packages
  lines="$(pins "$@")"
  mapfile -t pins <<<"$lines"
  if all_installed "${pins[@]}"; then
    say "Neuron ${NEURON_RELEASE} packages: already installed"
    return
  fi
  packages=("${pins[@]/%/*}")
  if [[ "$PACKAGE_MANAGER" == dnf ]]; then
    packages=("${packages[@]/=/-}")
  fi
  add_neuron_repository
  install_packages "${packages[@]}"
  if ! all_installed "${pins[@]}"; then
    fail "the installed Neuron packages are not the pinned ones: ${pins[*]}"
  fi
}

# build_neuron_driver: the package builds the driver when it is installed, for the kernel that runs then. Where that was
# another kernel or an earlier run was cut off, it is built here.
build_neuron_driver() {
  local kernel
  kernel="$(uname -r)"
  if driver_is_built; then
    say "Neuron driver for kernel ${kernel}: already built"
    return
  fi
  retry "$PACKAGE_SECONDS" dkms autoinstall --kernelver "$kernel"
  driver_is_built || fail "dkms built no Neuron driver $(pinned_version aws-neuronx-dkms) for kernel ${kernel}"
}
