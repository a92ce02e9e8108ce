#!/usr/bin/env bash
# Entry point of the node set-up: AWS ParallelCluster runs it as root (OnNodeConfigured; OnNodeUpdated on the head
# node) after it has mounted the shared file systems.
#
#   node_configured.sh head    BUCKET PREFIX
#   node_configured.sh compute BUCKET PREFIX INSTANCE_TYPE=NEURON_DEVICES:EFA_INTERFACES...
#
# ParallelCluster downloads only this file, so it fetches its siblings from s3://BUCKET/PREFIX/ before it hands over to
# head_node.sh or compute_node.sh. README.md describes the arguments, the files and the environment variables.
set -euo pipefail

readonly SCRIPT_DIRECTORY="${ROOT:-}/opt/slipway/cluster"
readonly DOWNLOAD_SECONDS="${SLIPWAY_DOWNLOAD_SECONDS:-300}"
readonly RETRY_PAUSE_SECONDS="${SLIPWAY_RETRY_PAUSE_SECONDS:-5}"

# ParallelCluster keeps stderr for the node's error event and prints stdout into its log: a failure belongs into both.
abort() {
  local line
  line="$(date -u +%FT%TZ) slipway node_configured.sh: FAILED at step '$1': $2"
  printf '%s\n' "$line"
  printf '%s\n' "$line" >&2
  exit 1
}

# fetch FILE: copies one sibling from the bucket and tries again until the deadline.
fetch() {
  local source="s3://${BUCKET}/${PREFIX}/$1" deadline=$((SECONDS + DOWNLOAD_SECONDS))
  until timeout 60 aws s3 cp --only-show-errors "$source" "${SCRIPT_DIRECTORY}/$1"; do
    if ((SECONDS >= deadline)); then
      abort "fetch the set-up scripts" "no copy of ${source} within ${DOWNLOAD_SECONDS} s"
    fi
    sleep "$RETRY_PAUSE_SECONDS"
  done
}

files=(steps.sh operating_system.sh neuron_release.sh)
if [[ "${1:-}" == head && $# -eq 3 ]]; then
  files+=(head_node.sh)
elif [[ "${1:-}" == compute && $# -ge 4 ]]; then
  files+=(neuron_packages.sh compute_node.sh)
else
  abort "read the arguments" "expected 'head BUCKET PREFIX' or 'compute BUCKET PREFIX EXPECTATION...', got '$*'"
fi
readonly ROLE="$1" BUCKET="$2" PREFIX="${3%/}"

mkdir -p "$SCRIPT_DIRECTORY"
for file in "${files[@]}"; do
  fetch "$file"
done
exec bash "${SCRIPT_DIRECTORY}/${ROLE}_node.sh" "${@:4}"
