#!/usr/bin/env bash
# What follows when an inference host's set-up, a later proof or the watchdog failed. First the reason goes where it
# outlives the host: the log group of the hosts, and the metric HostFailures; and to the console. Then the host is
# replaced: abandoned where its Auto Scaling group still waits for it, reported as unhealthy where it is in service.
#
# Argument: seconds that the host is held before, for a look at it. They also bound how often a fault that every new
# host shares (an empty folder, a wrong file system) makes a new one; there are never more hosts than are wanted.
set -euo pipefail

SCRIPT_DIRECTORY="$(dirname "$(readlink -f "$0")")"
readonly SCRIPT_DIRECTORY
# shellcheck source=assets/inference/host/steps.sh
source "${SCRIPT_DIRECTORY}/steps.sh"
# shellcheck source=assets/inference/host/host_state.sh
source "${SCRIPT_DIRECTORY}/host_state.sh"

readonly HOST_LOG="${ROOT}/var/log/slipway-host.log"
readonly REPORTED_LINES=40
readonly REPLACE_SECONDS="${SLIPWAY_REPLACE_SECONDS:-600}"

# The log's last lines as one event; the stream is the host's.
send_reason() {
  local events="${ROOT}/run/slipway/events.json"
  mkdir -p "${events%/*}"
  tail -n "$REPORTED_LINES" "$HOST_LOG" | python3 -c 'import json, sys, time
print(json.dumps([{"timestamp": int(time.time() * 1000), "message": sys.stdin.read()}]))' >"$events"
  aws_cli logs create-log-stream --log-group-name "$SLIPWAY_LOG_GROUP" --log-stream-name "$1" || true
  aws_cli logs put-log-events --log-group-name "$SLIPWAY_LOG_GROUP" --log-stream-name "$1" \
    --log-events "file://${events}"
}

# Once for the service and once for all services of the cluster.
count_failure() {
  local dimensions
  for dimensions in "ClusterName=${SLIPWAY_ECS_CLUSTER}" \
    "ClusterName=${SLIPWAY_ECS_CLUSTER},ServiceName=${SLIPWAY_SERVICE}"; do
    aws_cli cloudwatch put-metric-data --namespace "$SLIPWAY_METRICS_NAMESPACE" --metric-name HostFailures \
      --unit Count --value 1 --dimensions "$dimensions"
  done
}

tell_reason() {
  tail -n "$REPORTED_LINES" "$HOST_LOG" >"${ROOT}/dev/console" || true
  send_reason "$1" || say "WARNING: the reason is in ${HOST_LOG} only" >&2
  count_failure || say "WARNING: the failure is not counted" >&2
}

replace_host() {
  local instance=$1 group state deadline=$((SECONDS + REPLACE_SECONDS))
  while true; do
    if ! read -r group state _ < <(group_state "$instance"); then
      state="unknown"
    fi
    if [[ "$state" == *Pending:Wait ]]; then
      if answer_launch "$instance" "$group" ABANDON; then
        say "this host is abandoned, the Auto Scaling group ${group} replaces it"
        return
      fi
    elif aws_cli autoscaling set-instance-health --instance-id "$instance" --health-status Unhealthy \
      --no-should-respect-grace-period; then
      say "this host is unhealthy, the Auto Scaling group ${group} replaces it"
      return
    fi
    if ((SECONDS >= deadline)); then
      fail "the Auto Scaling group does not hear that this host failed"
    fi
    sleep "$RETRY_PAUSE_SECONDS"
  done
}

instance="$(instance_id)"
step "tell the reason" tell_reason "$instance"
say "this host is replaced in $1 s; aws ssm start-session --region ${SLIPWAY_REGION} --target ${instance}"
sleep "$1"
step "replace the host" replace_host "$instance"
