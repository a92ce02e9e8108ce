# shellcheck shell=bash
# What the set-up needs from Ubuntu 22.04, Ubuntu 24.04 and Amazon Linux 2023; sourced after steps.sh.

readonly PACKAGE_SECONDS="${SLIPWAY_PACKAGE_SECONDS:-600}"

# check_operating_system: sets PACKAGE_MANAGER (apt or dnf); refuses a system that the training stack, where one has
# been loaded, does not support.
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
  if [[ -n "${TRAINING_STACK:-}" && " ${OPERATING_SYSTEMS[*]} " != *" ${operating_system} "* ]]; then
    fail "${TRAINING_STACK} runs on ${OPERATING_SYSTEMS[*]}, not on ${operating_system}"
  fi
}

# apt_install PACKAGE...: one attempt. apt-get update succeeds without the lists that it could not fetch, so they are
# fetched again before the next attempt. An installation that was cut off before is completed first.
apt_install() {
  export DEBIAN_FRONTEND=noninteractive
  dpkg --configure -a &&
    apt-get -q update &&
    apt-get -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends --allow-downgrades --allow-change-held-packages \
      install "$@"
}
# For the shell that retry starts.
export -f apt_install

# install_packages PACKAGE...: installs exactly what is named. Our own holds do not count here: this is what moves a
# node to another training stack.
install_packages() {
  if [[ "$PACKAGE_MANAGER" == apt ]]; then
    retry "$PACKAGE_SECONDS" bash -c "apt_install ${*@Q}"
  else
    retry "$PACKAGE_SECONDS" dnf -y --disableexcludes=main install "$@"
  fi
}

# stop_unattended_upgrades: a new kernel without its Lustre and Neuron modules breaks the node at the next boot, and an
# upgrade that runs now keeps the package lock. Our own timer stops too; head and login nodes start it last.
stop_unattended_upgrades() {
  local unit
  if [[ "$PACKAGE_MANAGER" == apt ]]; then
    put_file "${ROOT}/etc/apt/apt.conf.d/99-slipway-no-unattended-upgrades" <<'PERIODIC'
APT::Periodic::Enable "0";
APT::Periodic::Unattended-Upgrade "0";
PERIODIC
  fi
  for unit in apt-daily.timer apt-daily-upgrade.timer unattended-upgrades.service dnf-automatic.timer \
    dnf-automatic-install.timer slipway-security-updates.timer; do
    if systemctl cat "$unit" >/dev/null 2>&1; then
      timeout "$(bounded 300)" systemctl disable --now "$unit"
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

# make_users: as the head node's list says. A cluster without users has no list.
make_users() {
  local program="${ROOT}/opt/slurm/etc/slipway/users.sh"
  if [[ -e "$program" ]]; then
    bash "$program"
  fi
}
