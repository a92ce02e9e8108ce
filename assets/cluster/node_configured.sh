#!/usr/bin/env bash
# Entry point of the node set-up: AWS ParallelCluster runs it as root (OnNodeConfigured; OnNodeUpdated on the head
# node) after it has mounted the shared file systems.
#
#   node_configured.sh head    BUCKET PREFIX
#   node_configured.sh login   BUCKET PREFIX
#   node_configured.sh compute BUCKET PREFIX TRAINING_STACK|none INSTANCE_TYPE=NEURON_DEVICES:EFA_INTERFACES...
#
# ParallelCluster downloads only this file, so it fetches its siblings from s3://BUCKET/PREFIX/ before it hands over to
# head_node.sh, login_node.sh or compute_node.sh. README.md describes arguments, files and environment variables.
set -euo pipefail

readonly SCRIPT_DIRECTORY="${ROOT:-}/opt/slipway/cluster"
readonly DOWNLOAD_SECONDS="${SLIPWAY_DOWNLOAD_SECONDS:-300}"
readonly RETRY_PAUSE_SECONDS="${SLIPWAY_RETRY_PAUSE_SECONDS:-5}"
# The steps count their time from here.
export SLIPWAY_STARTED_AT="$EPOCHSECONDS"

# ParallelCluster keeps stderr for the node's error event and prints stdout into its log: a failure belongs into both.
abort() {
  local line
  line="$(date -u +%FT%TZ) slipway node_configured.sh: FAILED at step '$1': $2"
  printf '%s\n' "$line"
  printf '%s\n' "$line" >&2
  exit 1
}

# fetch FILE...: copies siblings from the bucket; all of them together have DOWNLOAD_SECONDS.
fetch() {
  local file source
  for file in "$@"; do
    source="s3://${BUCKET}/${PREFIX}/${file}"
    until timeout 60 aws s3 cp --only-show-errors "$source" "${SCRIPT_DIRECTORY}/${file}"; do
      if ((SECONDS >= DOWNLOAD_SECONDS)); then
        abort "fetch the set-up scripts" "no copy of ${source} within ${DOWNLOAD_SECONDS} s"
      fi
      sleep "$RETRY_PAUSE_SECONDS"
    done
  done
}

files=(training_stacks.sh steps.sh proxy.sh operating_system.sh training_stack.sh storage_checks.sh)
patching=(patching.sh security_updates.sh slipway-security-updates.{service,timer})
stacks=()
if [[ "${1:-}" == head && $# -eq 3 ]]; then
  files+=(health.sh health_check.sh smoke/{all_reduce,efa,fsx,neuron_ls}.sbatch neuron_monitor.sh neuron_metrics.py
    neuron_monitor.json neuron_monitor_requirements.txt slipway-neuron-monitor.service python_environments.sh
    baked_packages.sh job_kit.sh slipway_job.sh users.sh "${patching[@]}" head_node.sh jobs/slipway_jobs/python_packages.py)
elif [[ "${1:-}" == login && $# -eq 3 ]]; then
  files+=(job_kit.sh "${patching[@]}" login_node.sh)
elif [[ "${1:-}" == compute && $# -ge 5 && "$4" =~ ^[a-z0-9][a-z0-9.-]*$ ]]; then
  files+=(neuron_packages.sh baked_image.sh neuron_checks.sh neuron_monitor.sh spot_notice.sh
    slipway-spot-notice.service compute_node.sh)
  if [[ "$4" != none ]]; then
    stacks+=("$4")
  fi
else
  abort "read the arguments" "expected 'head BUCKET PREFIX', 'login BUCKET PREFIX' or 'compute BUCKET PREFIX\
 TRAINING_STACK|none EXPECTATION...', got '$*'"
fi
readonly ROLE="$1" BUCKET="$2" PREFIX="${3%/}"
# Where requests go: nodes have no AWS configuration, ParallelCluster tells them in this file.
AWS_DEFAULT_REGION="$(sed -n 's/^cfn_region=//p' "${ROOT:-}/etc/parallelcluster/cfnconfig" || true)"
if [[ -z "$AWS_DEFAULT_REGION" ]]; then
  abort "read the Region" "/etc/parallelcluster/cfnconfig has no cfn_region"
fi
export AWS_DEFAULT_REGION
# Where there is a proxy, ParallelCluster's list of what bypasses it lacks S3, to which the VPC has an endpoint.
if [[ -n "${no_proxy:-}" ]]; then
  export no_proxy="${no_proxy},.s3.${AWS_DEFAULT_REGION}.amazonaws.com"
  export NO_PROXY="$no_proxy"
fi
# The head node fetches the job kit itself, file by file as its list says.
export JOB_KIT_ADDRESS="s3://${BUCKET}/${PREFIX}/jobs"

mkdir -p "${SCRIPT_DIRECTORY}"/{jobs/slipway_jobs,python_locks,smoke,training_stacks}
fetch "${files[@]}"
# shellcheck source=/dev/null
source "${SCRIPT_DIRECTORY}/training_stacks.sh"
export PROXY_URL="${PROXY_URL:-}" PROXY_BYPASS="${PROXY_BYPASS:-}"
if [[ "$ROLE" == head ]]; then
  stacks=("${TRAINING_STACKS[@]}")
fi
for stack in "${stacks[@]}"; do
  fetch "training_stacks/${stack}.sh"
  lock="$(sed -n 's/^PYTHON_LOCK=//p' "${SCRIPT_DIRECTORY}/training_stacks/${stack}.sh")"
  if [[ "$ROLE" == head && -n "$lock" ]]; then
    fetch "$lock"
  fi
done
# Retries and waits end at the deadline and say why; the timeout is for a command that hangs outside of them.
export SLIPWAY_SETUP_SECONDS="${SLIPWAY_SETUP_SECONDS:-$NODE_SETUP_SECONDS}"
left=$((SLIPWAY_SETUP_SECONDS + 10 - SECONDS))
exec timeout --kill-after=30 "$((left > 0 ? left : 1))" bash "${SCRIPT_DIRECTORY}/${ROLE}_node.sh" "${@:4}"
