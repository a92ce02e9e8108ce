#!/usr/bin/env bash
# Sets up a compute node: Neuron driver, runtime and tools at the pinned versions, then proof that the node has what its
# queue promises. ParallelCluster ends a node whose set-up fails, so a half-working node never takes a job.
#
#   compute_node.sh TRAINING_STACK|none INSTANCE_TYPE=NEURON_DEVICES:EFA_INTERFACES...
#
# A node without accelerator has the training stack "none" and gets no Neuron packages. A second run, or an image that
# already holds the pinned packages, skips the installation.
set -euo pipefail
umask 022

SCRIPT_DIRECTORY="$(dirname "${BASH_SOURCE[0]}")"
readonly SCRIPT_DIRECTORY
readonly METADATA_SERVICE="http://169.254.169.254/latest"
for part in steps proxy operating_system training_stack storage_checks neuron_packages baked_image neuron_checks \
  neuron_monitor; do
  # shellcheck source=/dev/null
  source "${SCRIPT_DIRECTORY}/${part}.sh"
done

# instance_metadata KEY: prints a value of the instance metadata service, which answers with a token only (IMDSv2).
instance_metadata() {
  local token options=(--fail --silent --show-error --noproxy '*' --max-time 5 --retry 8 --retry-max-time 60)
  token="$(curl "${options[@]}" --request PUT --header 'X-aws-ec2-metadata-token-ttl-seconds: 60' \
    "${METADATA_SERVICE}/api/token")"
  curl "${options[@]}" --header "X-aws-ec2-metadata-token: ${token}" "${METADATA_SERVICE}/meta-data/$1"
}

# read_expectations STACK EXPECTATION...: a queue may mix instance types; sets INSTANCE_TYPE, and NEURON_DEVICES and
# EFA_INTERFACES to what the queue expects of this node's type.
read_expectations() {
  local stack=$1 expectation
  INSTANCE_TYPE="$(instance_metadata instance-type)"
  for expectation in "${@:2}"; do
    if [[ ! "$expectation" =~ ^([^=]+)=(0|[1-9][0-9]*):([0-9]+)$ ]]; then
      fail "'${expectation}' is not INSTANCE_TYPE=NEURON_DEVICES:EFA_INTERFACES"
    fi
    if [[ "${BASH_REMATCH[1]}" == "$INSTANCE_TYPE" ]]; then
      NEURON_DEVICES="${BASH_REMATCH[2]}" EFA_INTERFACES="${BASH_REMATCH[3]}"
      if [[ ("$stack" == none && "$NEURON_DEVICES" != 0) || ("$stack" != none && "$NEURON_DEVICES" == 0) ]]; then
        fail "${expectation} does not fit the training stack ${stack}"
      fi
      return
    fi
  done
  fail "the queue does not say what to expect of a ${INSTANCE_TYPE}: ${*:2}"
}

# write_node_conf: what the node must show from now on, for the health check on idle nodes. In place before the first
# check here, so that a node which loses a device meanwhile is found either way.
write_node_conf() {
  local driver="" runtime=""
  if [[ "$STACK" != none ]]; then
    driver="$(pinned_version aws-neuronx-dkms)"
    runtime="$(pinned_version aws-neuronx-runtime-lib)"
  fi
  put_file "${ROOT}/etc/slipway/node.conf" <<CONF
INSTANCE_TYPE=${INSTANCE_TYPE}
TRAINING_STACK=${STACK}
NEURON_DEVICES=${NEURON_DEVICES}
EFA_INTERFACES=${EFA_INTERFACES}
NEURON_DRIVER_VERSION=${driver}
NEURON_RUNTIME_VERSION=${runtime}
CONF
}

# The head node builds the training environment; here only its interpreter has to exist.
provide_python() {
  if ! command -v "python${PYTHON_VERSION}" >/dev/null; then
    install_packages "python${PYTHON_VERSION}"
  fi
}

# On instances with several network cards /etc/hosts may name a wrong one, and the ranks of a job then wait for each
# other (aws-neuron-parallelcluster-samples pull requests 17 and 19). One line with the address of card 0, the one
# Slurm knows, replaces them.
correct_hosts_file() {
  local hosts="${ROOT}/etc/hosts" name address
  name="$(uname -n)"
  name="${name%%.*}"
  address="$(instance_metadata local-ipv4)"
  if [[ ! "$address" =~ ^[0-9]+(\.[0-9]+){3}$ ]]; then
    fail "the instance metadata gave '${address}' as the node's address"
  fi
  awk -v name="$name" -v address="$address" '
    /^[[:space:]]*(#|$)/ { print; next }
    {
      others = ""; own = 0
      for (i = 2; i <= NF; i++) {
        if ($i != name && index($i, name ".") != 1) { others = others " " $i; continue }
        own = 1
        if (!seen[$i]++) names = names " " $i
      }
      if (!own) print; else if (others != "") print $1 others
    }
    END { print address (names == "" ? " " name : names) }' "$hosts" >"${hosts}.slipway"
  # The content is replaced, not the file: its owner, mode and inode stay.
  if ! cmp --silent "${hosts}.slipway" "$hosts"; then
    cat "${hosts}.slipway" >"$hosts"
  fi
  rm "${hosts}.slipway"
}

# On Spot capacity: has jobs save before EC2 takes the node. A node without it can train: nothing here ends the set-up.
start_spot_notice() {
  local life_cycle unit=slipway-spot-notice.service
  life_cycle="$(instance_metadata instance-life-cycle)" || life_cycle=unknown
  if [[ "$life_cycle" == unknown ]]; then
    say "NO SPOT NOTICE: the instance metadata does not say whether this is a Spot instance" >&2
  elif [[ "$life_cycle" == spot ]]; then
    put_file "${ROOT}/etc/systemd/system/${unit}" <"${SCRIPT_DIRECTORY}/${unit}"
    if ! { systemctl daemon-reload && systemctl enable --quiet --now "$unit"; }; then
      say "NO SPOT NOTICE: ${unit} does not start" >&2
    fi
  fi
}

set_up_node_without_accelerator() {
  step "check the operating system" check_operating_system
  step "stop unattended upgrades" stop_unattended_upgrades
  step "hold the kernel" hold_packages
  step "correct /etc/hosts" correct_hosts_file
  step "write the login profile" write_profile /apps/neuron/current
  step "write node.conf" write_node_conf
}

set_up_neuron_node() {
  step "read the training stack" load_training_stack "$STACK"
  step "check the operating system" check_operating_system
  step "compare the image" compare_image
  step "stop unattended upgrades" stop_unattended_upgrades
  step "install the kernel headers" install_kernel_headers
  step "install the Neuron packages" install_neuron_packages "${NODE_PACKAGES[@]}"
  step "build the Neuron driver" build_neuron_driver
  step "hold the kernel and the Neuron packages" hold_packages
  step "provide Python" provide_python
  step "correct /etc/hosts" correct_hosts_file
  step "reserve ports" reserve_ports
  step "write the login profile" write_profile "/apps/neuron/${TRAINING_STACK}"
  step "write node.conf" write_node_conf
  step "load the Neuron driver" load_neuron_driver
  step "wait for the Neuron devices" wait_for_devices
  step "check the Neuron tools" check_tools
  step "start neuron-monitor" start_neuron_monitor
}

readonly STACK="$1"
step "use the proxy" use_proxy
step "read the expectations" read_expectations "$@"
if [[ "$STACK" == none ]]; then
  set_up_node_without_accelerator
else
  set_up_neuron_node
fi
step "make the users" make_users
step "count the EFA interfaces" check_efa_interfaces
step "check /fsx" check_fsx
step "limit dirty pages" limit_dirty_pages
step "check /scratch" check_scratch
step "listen for Spot notices" start_spot_notice
# What Slurm will ask before every job: a node that would be drained then had better fail now, where ParallelCluster
# counts it. The head node has put the program onto the shared /opt/slurm.
step "check the node's health" bash "${ROOT}/opt/slurm/etc/slipway/health_check.sh"
say "compute node ready for training stack ${STACK} after ${SECONDS} s"
