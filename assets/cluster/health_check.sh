#!/usr/bin/env bash
# Looks whether this node can run a training job: Neuron devices and driver, EFA interfaces, /fsx, space on the root
# disk. Slurm runs it as HealthCheckProgram on idle nodes and, as prolog.d/10_slipway_health_check, before every job.
#
# On a node that lacks something it prints one line, exits with 1 (from a prolog: Slurm requeues the job) and drains the
# node. A node that is drained already keeps the reason it has, and nothing here resumes one: ParallelCluster replaces
# drained nodes. Without SLURMD_NODENAME, so by hand or in the node's set-up, it only reports.
#
# ROOT is put before every path that is looked at (tests set it); on a node it is empty.
set -euo pipefail
shopt -s extglob nullglob

readonly ROOT="${ROOT:-}"
# Slurm gives prologs and health checks no PATH.
export PATH="${ROOT}/opt/slurm/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
readonly FSX_SECONDS="${SLIPWAY_FSX_SECONDS:-5}"
readonly SCONTROL_SECONDS=10
readonly ROOT_DISK_MEBIBYTES=1024
readonly METRIC_NAMESPACE="Slipway/Neuron"

problems=()

# report TEXT: to Slurm's or the set-up's log, and to syslog, which ParallelCluster sends to CloudWatch.
report() {
  printf 'slipway health check: %s\n' "$1" >&2
  logger --tag slipway "health check: $1" || true
}

# read_settings FILE KEY...: sets these variables to the file's values, the others stay as they are.
read_settings() {
  local file=$1 key value
  shift
  while IFS='=' read -r key value; do
    if [[ " $* " == *" ${key} "* ]]; then
      printf -v "$key" '%s' "$value"
    fi
  done <"$file"
}

read_expectations() {
  local file="${ROOT}/etc/slipway/node.conf"
  NEURON_DEVICES=0 EFA_INTERFACES=0 NEURON_DRIVER_VERSION="" NEURON_RUNTIME_VERSION=""
  if [[ -r "$file" ]]; then
    read_settings "$file" NEURON_DEVICES EFA_INTERFACES NEURON_DRIVER_VERSION NEURON_RUNTIME_VERSION
  else
    problems+=("no /etc/slipway/node.conf")
  fi
}

check_devices() {
  local devices=("${ROOT}"/dev/neuron+([0-9]))
  if ((${#devices[@]} != NEURON_DEVICES)); then
    problems+=("${#devices[@]} of ${NEURON_DEVICES} Neuron devices")
  fi
}

check_driver() {
  local file="${ROOT}/sys/module/neuron/version" version=""
  if ((NEURON_DEVICES == 0)); then
    return
  fi
  if [[ -r "$file" ]]; then
    read -r version <"$file" || true
  fi
  if [[ "$version" != "$NEURON_DRIVER_VERSION" ]]; then
    version="${version:-not loaded} with runtime ${NEURON_RUNTIME_VERSION}"
    problems+=("Neuron driver ${version}, pinned is driver ${NEURON_DRIVER_VERSION}")
  fi
}

# AWS asks to replace an instance with uncorrected errors in the memory or the SRAM of a device (Neuron's runtime
# troubleshooting guide, hardware errors). unhealthy_components is there since driver 2.30, on Trn2; 2.31 moved parts of
# the tree, so the files are looked for by name. A counter is a number or a directory with its total.
check_hardware() {
  local tree="${ROOT}/sys/devices/virtual/neuron_device" node device value
  if [[ ! -d "$tree" ]]; then
    return
  fi
  while read -r node; do
    device="${node#"${tree}/"}"
    device="${device%%/*}"
    if [[ -d "$node" ]]; then
      node+="/total"
    fi
    value=""
    read -r value 2>/dev/null <"$node" || true
    case "${node}" in
      */unhealthy_components)
        # What a healthy device says is not documented; the names of the components are.
        if [[ "$value" =~ hbm|sram|firmware_service|link_|axi_fabric ]]; then
          problems+=("${device} unhealthy: ${value}")
        fi
        ;;
      *)
        if [[ "$value" =~ ^[0-9]+$ ]] && ((10#$value > 0)); then
          node="${node%/total}"
          problems+=("${device} ${node##*/}: ${value}")
        fi
        ;;
    esac
  done < <(find "$tree" -maxdepth 6 -name 'neuron_core*' -prune -o \
    \( -name unhealthy_components -o -name mem_ecc_uncorrected -o -name sram_ecc_uncorrected \) -print)
}

check_efa_interfaces() {
  local interfaces=("${ROOT}"/sys/class/infiniband/*)
  if ((EFA_INTERFACES > 0 && ${#interfaces[@]} != EFA_INTERFACES)); then
    problems+=("${#interfaces[@]} of ${EFA_INTERFACES} EFA interfaces")
  fi
}

# The file system's type comes from the Lustre servers. A process that waits for a lost one cannot always be killed, so
# nothing here waits for it to end. "/." has an automounted /fsx mounted.
check_fsx() {
  local type="" status=0
  read -r -t "$FSX_SECONDS" type < <(exec stat --file-system --format=%T "${ROOT}/fsx/." 2>/dev/null) || status=$?
  if ((status > 128)); then
    problems+=("/fsx does not answer within ${FSX_SECONDS} s")
  elif [[ "$type" != lustre ]]; then
    problems+=("/fsx is not a mounted Lustre file system")
  fi
}

check_root_disk() {
  local free
  { read -r _ && read -r free; } < <(df --output=avail --block-size=1M "${ROOT}/")
  if ((free < ROOT_DISK_MEBIBYTES)); then
    problems+=("${free} MiB free on /")
  fi
}

# drain REASON: once; a drained node keeps its state and reason.
drain() {
  local node
  node="$(timeout "$SCONTROL_SECONDS" scontrol --oneliner show node "$SLURMD_NODENAME")" || return
  if [[ " ${node}" =~ \ State=[^\ ]*DRAIN ]]; then
    return
  fi
  timeout "$SCONTROL_SECONDS" scontrol update "nodename=${SLURMD_NODENAME}" state=drain "reason=slipway: $1" || return
  count_drain || report "no metric DrainedNodes was sent"
}

# ParallelCluster soon ends a drained node: the metric leaves at once. systemd runs the command, as slurmd ends what its
# scripts leave behind.
count_drain() {
  local file="${ROOT}/etc/parallelcluster/cfnconfig" stack_name="" cfn_region="" cfn_scheduler_queue_name="" metric
  read_settings "$file" stack_name cfn_region cfn_scheduler_queue_name || return
  metric="MetricName=DrainedNodes,Unit=Count,Value=1,Dimensions=[{Name=ClusterName,Value=${stack_name}}"
  systemd-run --quiet --collect --property=RuntimeMaxSec=60 \
    aws cloudwatch put-metric-data --region "$cfn_region" --namespace "$METRIC_NAMESPACE" \
    --metric-data "${metric}]" "${metric},{Name=Queue,Value=${cfn_scheduler_queue_name}}]"
}

read_expectations
check_devices
check_driver
check_hardware
check_efa_interfaces
check_fsx
check_root_disk
if ((${#problems[@]} == 0)); then
  exit 0
fi
printf -v reason '; %s' "${problems[@]}"
reason="${reason:2}"
report "$reason"
if [[ -n "${SLURMD_NODENAME:-}" ]] && ! drain "$reason"; then
  report "slurmctld did not drain ${SLURMD_NODENAME}"
fi
exit 1
