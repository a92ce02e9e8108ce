# shellcheck shell=bash
# Security updates of head and login nodes, which live for months, and of baked images; sourced after
# operating_system.sh. Compute nodes get none while they run: they carry jobs, and a new one replaces them.

# configure_security_updates: unattended-upgrade takes packages of the security archives alone, whatever Ubuntu's own
# file allows, and none of those that hold_packages holds. Nothing is removed: packages of the running kernel look unused.
configure_security_updates() {
  if [[ "$PACKAGE_MANAGER" == apt ]]; then
    put_file "${ROOT}/etc/apt/apt.conf.d/99-slipway-security-updates" <<'UNATTENDED'
#clear Unattended-Upgrade::Allowed-Origins;
#clear Unattended-Upgrade::Origins-Pattern;
Unattended-Upgrade::Allowed-Origins {
  "${distro_id}:${distro_codename}-security";
  "${distro_id}ESMApps:${distro_codename}-apps-security";
  "${distro_id}ESM:${distro_codename}-infra-security";
};
Unattended-Upgrade::Package-Blacklist {
  "linux-";
  "lustre-client-";
  "aws-neuronx-";
};
Unattended-Upgrade::Automatic-Reboot "false";
Unattended-Upgrade::MinimalSteps "true";
Unattended-Upgrade::Remove-Unused-Kernel-Packages "false";
Unattended-Upgrade::Remove-New-Unused-Dependencies "false";
Unattended-Upgrade::Remove-Unused-Dependencies "false";
UNATTENDED
    put_file "${ROOT}/etc/needrestart/conf.d/slipway.conf" <<'NEEDRESTART'
# List services that run replaced code, restart none: slurmctld, munge and NFS run here.
$nrconf{restart} = 'l';
NEEDRESTART
  fi
}

# start_security_updates: the last step of a set-up, which needs the package manager's lock itself.
start_security_updates() {
  local unit
  configure_security_updates
  put_file "${ROOT}/opt/slipway/security_updates.sh" <"${SCRIPT_DIRECTORY}/security_updates.sh"
  for unit in slipway-security-updates.service slipway-security-updates.timer; do
    put_file "${ROOT}/etc/systemd/system/${unit}" <"${SCRIPT_DIRECTORY}/${unit}"
  done
  systemctl daemon-reload
  systemctl enable --quiet --now slipway-security-updates.timer
}
