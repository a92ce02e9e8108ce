#!/usr/bin/env bash
# Sets up the head node: one Python environment for each training stack and the job kit on the shared /apps, and the
# health check that all nodes run. The Neuron driver and runtime belong on the compute nodes. A second run finds
# everything done and changes nothing.
set -euo pipefail
umask 022

SCRIPT_DIRECTORY="$(dirname "${BASH_SOURCE[0]}")"
readonly SCRIPT_DIRECTORY
for part in steps proxy operating_system training_stack python_environments storage_checks health neuron_monitor \
  baked_packages job_kit patching training_stacks; do
  # shellcheck source=/dev/null
  source "${SCRIPT_DIRECTORY}/${part}.sh"
done

check_apps() {
  if ! mountpoint -q "${ROOT}/apps"; then
    fail "/apps is not a mounted file system: compute nodes would not see the training packages"
  fi
}

# install_users: nodes read the list on /opt/slurm, so that a change reaches those that run. An empty list takes all users
# away again.
install_users() {
  local list="${ROOT}/opt/slurm/etc/slipway/users"
  if ((${#USERS[@]} == 0)) && [[ ! -e "$list" ]]; then
    return
  fi
  put_file "$list" < <(((${#USERS[@]} == 0)) || printf '%s\n' "${USERS[@]}")
  install_prolog users.sh 05_slipway_users
  bash "${ROOT}/opt/slurm/etc/slipway/users.sh" --homes
}

step "use the proxy" use_proxy
step "check /apps" check_apps
step "read whether there is a job kit" check_job_kit_key
for stack in "${TRAINING_STACKS[@]}"; do
  step "read the training stack ${stack}" load_training_stack "$stack"
  step "check the operating system for ${stack}" check_operating_system
done
step "stop unattended upgrades" stop_unattended_upgrades
step "hold the kernel" hold_packages
step "install the health check" install_health_check
step "install the smoke jobs" install_smoke_jobs
step "make the users" install_users
for stack in "${TRAINING_STACKS[@]}"; do
  load_training_stack "$stack"
  step "provide Python for ${stack}" provide_python
  step "unpack the training packages of ${stack}" unpack_training_packages
  step "install the training packages of ${stack}" install_training_packages
  link "${ROOT}/apps/neuron/${stack}" "$(environment_name)"
done
link "${ROOT}/apps/neuron/current" "${TRAINING_STACKS[0]}"
step "write the login profile" write_profile /apps/neuron/current
step "check /fsx" check_fsx
step "unpack what neuron-monitor needs" unpack_monitor_packages
step "install what neuron-monitor needs" install_monitor_environment "${ROOT}/apps/neuron/current/bin/python"
if [[ "$JOB_KIT" == yes ]]; then
  load_training_stack "${TRAINING_STACKS[0]}"
  step "make the directories of jobs" make_job_directories
  step "install the job kit" install_job_kit
  step "put slipway-job on the path" write_job_profile
else
  say_no_job_kit
fi
step "start the daily security updates" start_security_updates
say "head node ready for ${TRAINING_STACKS[*]} after ${SECONDS} s"
