#!/usr/bin/env bash
# Sets up a login node: people prepare and submit jobs here, so it needs the shared file systems and the login profile,
# not the Neuron driver. A second run changes nothing.
set -euo pipefail
umask 022

SCRIPT_DIRECTORY="$(dirname "${BASH_SOURCE[0]}")"
readonly SCRIPT_DIRECTORY
for part in steps proxy operating_system training_stack storage_checks job_kit patching training_stacks; do
  # shellcheck source=/dev/null
  source "${SCRIPT_DIRECTORY}/${part}.sh"
done

step "use the proxy" use_proxy
step "read whether there is a job kit" check_job_kit_key
step "check the operating system" check_operating_system
step "stop unattended upgrades" stop_unattended_upgrades
step "hold the kernel" hold_packages
step "make the users" make_users
step "write the login profile" write_profile /apps/neuron/current
step "check /fsx" check_fsx
if [[ "$JOB_KIT" == yes ]]; then
  step "put slipway-job on the path" write_job_profile
else
  say_no_job_kit
fi
step "start the daily security updates" start_security_updates
say "login node ready after ${SECONDS} s"
