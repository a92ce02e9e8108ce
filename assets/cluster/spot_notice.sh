#!/usr/bin/env bash
# Waits for the notice that EC2 takes this Spot instance in two minutes. Then it drains the node, so that no job starts
# there, and has the jobs of slipway-job on it save a checkpoint and queue themselves again; other jobs may not know
# the signal and die of it. It ends after that: a service of each Spot node (slipway-spot-notice.service).
#
# ROOT is put before every path that is used (tests set it); on a node it is empty.
set -euo pipefail

readonly ROOT="${ROOT:-}"
export PATH="${ROOT}/opt/slurm/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
readonly METADATA_SERVICE="${SLIPWAY_METADATA_SERVICE:-http://169.254.169.254/latest}"
# What AWS recommends (EC2 user guide, Spot Instance interruption notices).
readonly POLL_SECONDS=5
# A command of Slurm; it is tried again where slurmctld does not answer.
readonly COMMAND_SECONDS=10 TRIES=3
# Where it is written that the notice was obeyed, until the next boot.
readonly OBEYED="${ROOT}/run/slipway-spot-notice"

# report TEXT: to the service's log, and to syslog, which ParallelCluster sends to CloudWatch.
report() {
  printf 'slipway spot notice: %s\n' "$1" >&2
  logger --tag slipway "spot notice: $1" || true
}

# notice: prints EC2's document, {"action": "terminate", "time": "2017-09-18T08:22:00Z"}. Without a notice there is none.
notice() {
  local token options=(--fail --silent --noproxy '*' --max-time 2)
  token="$(curl "${options[@]}" --request PUT --header 'X-aws-ec2-metadata-token-ttl-seconds: 60' \
    "${METADATA_SERVICE}/api/token")" || return
  curl "${options[@]}" --header "X-aws-ec2-metadata-token: ${token}" "${METADATA_SERVICE}/meta-data/spot/instance-action"
}

# persist COMMAND...: runs a command of Slurm until it succeeds, a few times at most.
persist() {
  local try
  for ((try = 1; try <= TRIES; try++)); do
    ((try == 1)) || sleep 1
    ! timeout "$COMMAND_SECONDS" "$@" || return 0
  done
  return 1
}

# obey ACTION WHEN: the kit's jobs have their name as comment.
obey() {
  local node jobs id name comment
  # ParallelCluster's cookbook writes it, as libraries/helpers.rb (slurm_nodename) reads it.
  node="$(<"${ROOT}/etc/parallelcluster/slurm_plugin/slurm_nodename")"
  report "EC2 takes ${node}: $1 $2"
  persist scontrol update "nodename=${node}" state=drain "reason=slipway: Spot, $1 $2" ||
    report "slurmctld did not drain ${node}"
  if ! jobs="$(persist squeue --noheader --nodelist="$node" --states=RUNNING --format='%A|%j|%k')"; then
    report "slurmctld did not name the jobs on ${node}: none was told"
    return
  fi
  while IFS='|' read -r id name comment; do
    [[ -n "$id" ]] || continue
    if [[ "$comment" != "$name" ]]; then
      report "job ${id} (${name}) is not slipway-job's: Slurm queues it again when the node is lost"
    elif persist scancel --batch --signal=USR1 "$id" </dev/null; then
      report "job ${id} (${name}) was told to save"
    else
      report "job ${id} (${name}) was not told to save"
    fi
  done <<<"$jobs"
}

if [[ -e "$OBEYED" ]]; then
  exit 0
fi
readonly ACTION='"action" *: *"(terminate|stop|hibernate)"' TIME='"time" *: *"([0-9TZ:.-]+)"'
document="$(notice || true)"
until [[ "$document" =~ $ACTION ]]; do
  sleep "$POLL_SECONDS"
  document="$(notice || true)"
done
action="${BASH_REMATCH[1]}" when="soon"
[[ ! "$document" =~ $TIME ]] || when="at ${BASH_REMATCH[1]}"
obey "$action" "$when"
: >"$OBEYED"
