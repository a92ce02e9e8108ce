# shellcheck shell=bash
# What the set-up needs from Ubuntu 22.04, Ubuntu 24.04 and Amazon Linux 2023; sourced after steps.sh.

readonly PACKAGE_SECONDS="${SLIPWAY_PACKAGE_SECONDS:-600}"

# load_neuron_release: reads the lock file with the pinned versions and refuses one that lacks a key.
load_neuron_release() {
  local key
  # shellcheck source=/dev/null
  source "${SCRIPT_DIRECTORY}/neuron_release.sh"
  for key in NEURON_RELEASE OPERATING_SYSTEMS SYSTEM_PACKAGES PYTHON_VERSION PYTHON_PACKAGES PYTHON_INDEXES; do
    if [[ -z "${!key:-}" ]]; then
      fail "neuron_release.sh lacks ${key}"
    fi
  done
}

# check_operating_system: sets PACKAGE_MANAGER (apt or dnf) on a system that the Neuron release supports.
check_operating_system() {
  local identity operating_system
  # shellcheck source=/dev/null
  identity="$(source "${ROOT}/etc/os-release" && printf '%s %s' "$ID" "$VERSION_ID")"
  case "$identity" in
    "ubuntu 22.04") operating_system=ubuntu2204 PACKAGE_MANAGER=apt ;;
    "ubuntu 24.04") operating_system=ubuntu2404 PACKAGE_MANAGER=apt ;;
    "amzn 2023") operating_system=alinux2023 PACKAGE_MANAGER=dnf ;;
    *) fail "${identity} is none of ubuntu2204, ubuntu2404, alinux2023" ;;
  esac
  if [[ " ${OPERATING_SYSTEMS[*]} " != *" ${operating_system} "* ]]; then
    fail "Neuron ${NEURON_RELEASE} runs on ${OPERATING_SYSTEMS[*]}, not on ${operating_system}"
  fi
}

# install_packages PACKAGE...: installs exactly what is named. Our own holds do not count here: this is what moves a
# node to another Neuron release.
install_packages() {
  if [[ "$PACKAGE_MANAGER" == apt ]]; then
    export DEBIAN_FRONTEND=noninteractive
    retry "$PACKAGE_SECONDS" apt-get -q update
    retry "$PACKAGE_SECONDS" apt-get -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends --allow-downgrades \
      --allow-change-held-packages install "$@"
  else
    retry "$PACKAGE_SECONDS" dnf -y --disableexcludes=main install "$@"
  fi
}

# stop_unattended_upgrades: a new kernel without its Lustre and Neuron modules breaks the node at the next boot, and an
# upgrade that runs now keeps the package lock.
stop_unattended_upgrades() {
  local unit
  if [[ "$PACKAGE_MANAGER" == apt ]]; then
    printf 'APT::Periodic::Enable "0";\nAPT::Periodic::Unattended-Upgrade "0";\n' \
      >"${ROOT}/etc/apt/apt.conf.d/99-slipway-no-unattended-upgrades"
  fi
  for unit in apt-daily.timer apt-daily-upgrade.timer unattended-upgrades.service dnf-automatic.timer \
    dnf-automatic-install.timer; do
    if systemctl cat "$unit" >/dev/null 2>&1; then
      timeout 300 systemctl disable --now "$unit"
    fi
  done
}

# hold_packages: keeps the kernel, the Lustre client and the Neuron packages at their versions: they fit together.
hold_packages() {
  local exclude='excludepkgs=kernel* lustre-client* aws-neuronx-*' configuration="${ROOT}/etc/dnf/dnf.conf"
  local matches packages kernel
  if [[ "$PACKAGE_MANAGER" == dnf ]]; then
    grep -qxF "$exclude" "$configuration" || printf '%s\n' "$exclude" >>"$configuration"
    return
  fi
  # A pattern without a match makes dpkg-query fail, although it prints the matches of the others.
  matches="$(dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' 'linux-image-*' 'linux-modules-*' \
    'linux-headers-*' 'linux-aws*' 'lustre-client-*' 'aws-neuronx-*' 2>/dev/null || true)"
  mapfile -t packages < <(awk '$1 == "installed" { print $2 }' <<<"$matches")
  kernel="linux-image-$(uname -r)"
  if [[ " ${packages[*]} " != *" ${kernel} "* ]]; then
    fail "the running kernel's package ${kernel} is not installed and cannot be held"
  fi
  apt-mark hold "${packages[@]}"
}

# write_profile: login shells find the Neuron tools and the training environment. sbatch hands a user's PATH over to the
# job, so head and compute nodes get the same file.
write_profile() {
  mkdir -p "${ROOT}/etc/profile.d"
  cat >"${ROOT}/etc/profile.d/slipway-neuron.sh" <<'PROFILE'
case ":${PATH}:" in
  *:/opt/aws/neuron/bin:*) ;;
  *) export PATH="${PATH}:/opt/aws/neuron/bin" ;;
esac
export SLIPWAY_NEURON_VENV=/apps/neuron/current
PROFILE
}
