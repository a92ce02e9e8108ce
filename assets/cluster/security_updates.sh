#!/usr/bin/env bash
# Installs the security updates of the operating system, without kernel, Lustre client and Neuron packages, which fit
# together. slipway-security-updates.timer runs it once a day on head and login nodes, bake_image.sh once in an image.
#
# It restarts no service and never reboots: Slurm's daemons, NFS and the sessions of users run on these nodes. Packages
# restart the services that they bring themselves. What still runs old code is in its last line.
#
# ROOT is put before every path that is looked at (tests set it); on a node it is empty.
set -euo pipefail
shopt -s inherit_errexit
readonly ROOT="${ROOT:-}"
readonly UPDATE_SECONDS=3600
# needrestart, which apt calls, restarts services by itself since Ubuntu 24.04; l: it only lists them.
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l

say() {
  printf 'slipway security updates: %s\n' "$*"
}

# bounded COMMAND...: only the command itself is asked to end when the time is over, not dpkg or a package's script below
# it: unattended-upgrade and dnf then complete the step that they are in.
bounded() {
  timeout --foreground --kill-after=600 "$UPDATE_SECONDS" "$@"
}

update_ubuntu() {
  local lock=(-o DPkg::Lock::Timeout=300)
  bounded apt-get -q "${lock[@]}" update &&
    { command -v unattended-upgrade >/dev/null ||
      bounded apt-get -q -y "${lock[@]}" --no-install-recommends install unattended-upgrades; } &&
    bounded unattended-upgrade --verbose
}

# A node of Amazon Linux 2023 sees the repositories of its image's release, to which no update is ever added: hence
# `latest`. The plugin would have smart-restart restart services.
update_amazon_linux() {
  bounded dnf -y --releasever=latest --disableplugin=post-transaction-actions \
    --exclude='kernel*' --exclude='lustre-client*' --exclude='aws-neuronx-*' upgrade --security
}

# services_with_old_code: prints the services that run code which has been replaced.
services_with_old_code() {
  if [[ "$ID" == ubuntu ]]; then
    timeout 300 needrestart -b -r l | sed -n 's/^NEEDRESTART-SVC: //p'
  else
    timeout 300 dnf -q needs-restarting --services
  fi
}

# reboot: prints whether one is due.
reboot() {
  if [[ "$ID" == ubuntu && ! -e "${ROOT}/run/reboot-required" ]]; then
    printf 'no reboot is due'
  elif [[ "$ID" != ubuntu ]] && timeout 300 dnf -q needs-restarting --reboothint >/dev/null; then
    printf 'no reboot is due'
  else
    printf 'a reboot is due'
  fi
}

# shellcheck source=/dev/null
ID="$(source "${ROOT}/etc/os-release" && printf '%s' "$ID")"
status=0
if [[ "$ID" == ubuntu ]]; then
  update_ubuntu || status=$?
else
  update_amazon_linux || status=$?
fi
if ((status != 0)); then
  say "FAILED with status ${status}; they are tried again tomorrow"
  exit "$status"
fi
services="$(services_with_old_code 2>/dev/null || true)"
say "installed; $(reboot); services with old code: ${services//$'\n'/ }"
