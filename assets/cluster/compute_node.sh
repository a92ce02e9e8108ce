#!/usr/bin/env bash
# Sets up a compute node: Neuron driver, runtime and tools at the pinned versions, then proof that the node has what its
# queue promises. ParallelCluster ends a node whose set-up fails, so a half-working node never takes a job.
#
#   compute_node.sh INSTANCE_TYPE=NEURON_DEVICES:EFA_INTERFACES...
#
# A second run, or a custom AMI that already holds the pinned packages, skips the installation.
set -euo pipefail
umask 022

SCRIPT_DIRECTORY="$(dirname "${BASH_SOURCE[0]}")"
readonly SCRIPT_DIRECTORY
readonly DEVICE_SECONDS="${SLIPWAY_DEVICE_SECONDS:-120}"
readonly METADATA_SERVICE="http://169.254.169.254/latest"
# shellcheck source-path=SCRIPTDIR source=steps.sh
source "${SCRIPT_DIRECTORY}/steps.sh"
# shellcheck source-path=SCRIPTDIR source=operating_system.sh
source "${SCRIPT_DIRECTORY}/operating_system.sh"
# shellcheck source-path=SCRIPTDIR source=neuron_packages.sh
source "${SCRIPT_DIRECTORY}/neuron_packages.sh"

# instance_metadata KEY: prints a value of the instance metadata service, which answers with a token only (IMDSv2).
instance_metadata() {
  local token options=(--fail --silent --show-error --noproxy '*' --max-time 5 --retry 8 --retry-max-time 60)
  token="$(curl "${options[@]}" --request PUT --header 'X-aws-ec2-metadata-token-ttl-seconds: 60' \
    "${METADATA_SERVICE}/api/token")"
  curl "${options[@]}" --header "X-aws-ec2-metadata-token: ${token}" "${METADATA_SERVICE}/meta-data/$1"
}

# read_expectations EXPECTATION...: a queue may mix instance types; sets NEURON_DEVICES and EFA_INTERFACES to what it
# expects of this node's type.
read_expectations() {
  local expectation instance_type
  instance_type="$(instance_metadata instance-type)"
  for expectation in "$@"; do
    if [[ ! "$expectation" =~ ^([^=]+)=([1-9][0-9]*):([0-9]+)$ ]]; then
      fail "'${expectation}' is not INSTANCE_TYPE=NEURON_DEVICES:EFA_INTERFACES"
    fi
    if [[ "${BASH_REMATCH[1]}" == "$instance_type" ]]; then
      NEURON_DEVICES="${BASH_REMATCH[2]}" EFA_INTERFACES="${BASH_REMATCH[3]}"
      return
    fi
  done
  fail "the queue does not say what to expect of a ${instance_type}: $*"
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
  cat "${hosts}.slipway" >"$hosts"
  rm "${hosts}.slipway"
}

# 44000 is torchrun's rendezvous in the training jobs, 48620 the root of the Neuron collectives: no other connection may
# be given these port numbers.
reserve_ports() {
  local settings="${ROOT}/etc/sysctl.d/90-slipway-neuron.conf"
  mkdir -p "${ROOT}/etc/sysctl.d"
  printf 'net.ipv4.ip_local_reserved_ports = 44000,48620\n' >"$settings"
  sysctl --quiet --load="$settings"
}

check_efa_interfaces() {
  if ((EFA_INTERFACES == 0)); then
    say "no EFA interface expected"
    return
  fi
  wait_for_count "$DEVICE_SECONDS" "$EFA_INTERFACES" /sys/class/infiniband '*'
}

# ParallelCluster mounts /fsx on first use, so it is used before findmnt looks for more than the automount point.
check_lustre() {
  modprobe lustre || fail "the Lustre client has no module for kernel $(uname -r)"
  timeout 120 stat "${ROOT}/fsx/." >/dev/null || fail "/fsx does not answer within 120 s"
  findmnt --noheadings --types lustre --mountpoint "${ROOT}/fsx" >/dev/null ||
    fail "/fsx is not a mounted Lustre file system"
}

step "read the expectations" read_expectations "$@"
step "read the Neuron release" load_neuron_release
step "check the operating system" check_operating_system
step "stop unattended upgrades" stop_unattended_upgrades
step "install the kernel headers" install_kernel_headers
step "install the Neuron packages" install_neuron_packages
step "hold the kernel and the Neuron packages" hold_packages
step "provide Python" provide_python
step "correct /etc/hosts" correct_hosts_file
step "reserve ports" reserve_ports
step "write the login profile" write_profile
step "load the Neuron driver" modprobe neuron
step "wait for the Neuron devices" wait_for_count "$DEVICE_SECONDS" "$NEURON_DEVICES" /dev 'neuron[0-9]*'
step "count the EFA interfaces" check_efa_interfaces
step "check /fsx" check_lustre
say "compute node ready for Neuron ${NEURON_RELEASE} after ${SECONDS} s"
