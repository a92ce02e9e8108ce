# shellcheck shell=bash
# Installs the Neuron driver, collectives, runtime and tools at the versions of neuron_release.sh; sourced by
# compute_node.sh after operating_system.sh. The only downloads are the Neuron package repositories' and the operating
# system's own.

readonly APT_REPOSITORY="https://apt.repos.neuron.amazonaws.com"
readonly YUM_REPOSITORY="https://yum.repos.neuron.amazonaws.com"
readonly REPOSITORY_KEY="GPG-PUB-KEY-AMAZON-AWS-NEURON.PUB"

# neuron_packages: prints "name version" for each pinned package.
neuron_packages() {
  printf '%s %s\n' \
    aws-neuronx-dkms "$NEURON_DKMS_VERSION" \
    aws-neuronx-collectives "$NEURON_COLLECTIVES_VERSION" \
    aws-neuronx-runtime-lib "$NEURON_RUNTIME_LIB_VERSION" \
    aws-neuronx-tools "$NEURON_TOOLS_VERSION"
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

neuron_packages_installed() {
  local name version
  while read -r name version; do
    if [[ "$(installed_version "$name")" != "$version" ]]; then
      return 1
    fi
  done < <(neuron_packages)
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
    curl --fail --silent --show-error --location --head --output /dev/null --max-time 30 --retry 8 --retry-all-errors \
      --retry-max-time 120 "${APT_REPOSITORY}/dists/${suite}/InRelease" || status=$?
    case "$status" in
      0)
        printf '%s' "$suite"
        return
        ;;
      22) say "no suite ${suite} in ${APT_REPOSITORY}" >&2 ;;
      *) fail "${APT_REPOSITORY} cannot be reached, curl status ${status}" ;;
    esac
  done
  fail "${APT_REPOSITORY} has none of the suites ${own}, jammy, focal"
}

add_neuron_repository() {
  local keyring=/etc/apt/keyrings/neuron.asc suite
  if [[ "$PACKAGE_MANAGER" == dnf ]]; then
    printf '%s\n' '[neuron]' 'name=Neuron YUM Repository' "baseurl=${YUM_REPOSITORY}" 'enabled=1' 'metadata_expire=0' \
      'gpgcheck=1' "gpgkey=${YUM_REPOSITORY}/${REPOSITORY_KEY}" >"${ROOT}/etc/yum.repos.d/neuron.repo"
    return
  fi
  mkdir -p "${ROOT}/etc/apt/keyrings"
  # Fetched anew each time: the key's date of expiry has been moved before. apt reads armored keys from *.asc files.
  retry "$PACKAGE_SECONDS" curl --fail --silent --show-error --location --output "${ROOT}${keyring}" \
    "${APT_REPOSITORY}/${REPOSITORY_KEY}"
  chmod 0644 "${ROOT}${keyring}"
  suite="$(choose_apt_suite)"
  printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$APT_REPOSITORY" "$suite" \
    >"${ROOT}/etc/apt/sources.list.d/neuron.list"
}

# install_kernel_headers: dkms builds the driver against the headers of the running kernel, no others will do.
install_kernel_headers() {
  local kernel
  kernel="$(uname -r)"
  if [[ -d "${ROOT}/lib/modules/${kernel}/build" ]]; then
    say "headers of kernel ${kernel}: already there"
  elif [[ "$PACKAGE_MANAGER" == apt ]]; then
    install_packages "linux-headers-${kernel}"
  else
    install_packages "kernel-devel-uname-r = ${kernel}"
  fi
}

install_neuron_packages() {
  local name version pins=()
  if neuron_packages_installed; then
    say "Neuron ${NEURON_RELEASE} packages: already installed"
    return
  fi
  while read -r name version; do
    if [[ "$PACKAGE_MANAGER" == apt ]]; then
      pins+=("${name}=${version}*")
    else
      pins+=("${name}-${version}*")
    fi
  done < <(neuron_packages)
  add_neuron_repository
  install_packages "${pins[@]}"
  if ! neuron_packages_installed; then
    fail "the installed Neuron packages are not the pinned ones: ${pins[*]}"
  fi
}
