# shellcheck shell=bash
# Runs a node's set-up as named steps; sourced by head_node.sh and compute_node.sh. Each step leaves one line with the
# time and its duration; the first failure ends the script with the name of its step. Every wait has a deadline.
#
# ROOT is put before every path that is written or looked at (tests set it); on a node it is empty.
shopt -s inherit_errexit
readonly ROOT="${ROOT:-}"
readonly RETRY_PAUSE_SECONDS="${SLIPWAY_RETRY_PAUSE_SECONDS:-5}"

current_step="start"

say() {
  printf '%s slipway %s: %s\n' "$(date -u +%FT%TZ)" "${0##*/}" "$*"
}

fail() {
  say "$*" >&2
  exit 1
}

# ParallelCluster keeps stderr for the node's error event and prints stdout into its log: a failure belongs into both.
report_failure() {
  local status=$?
  if ((status != 0)); then
    say "FAILED at step '${current_step}' with status ${status}"
    say "FAILED at step '${current_step}' with status ${status}" >&2
  fi
}
trap report_failure EXIT

# step NAME COMMAND...: runs the command, a function as a rule, and reports how long it took.
step() {
  local started=$SECONDS
  current_step="$1"
  "${@:2}"
  say "${current_step}: done in $((SECONDS - started)) s"
}

# retry SECONDS COMMAND...: repeats an external command until it succeeds or the time is over, with pauses that double.
# A command that hangs is ended at the deadline too.
retry() {
  local limit=$1 deadline=$((SECONDS + $1)) pause=$RETRY_PAUSE_SECONDS left status
  shift
  while true; do
    left=$((deadline - SECONDS))
    status=0
    # To timeout, 0 seconds would mean no limit at all.
    timeout --kill-after=10 "$((left > 0 ? left : 1))" "$@" || status=$?
    if ((status == 0)); then
      return
    fi
    if ((SECONDS + pause >= deadline)); then
      fail "gave up within ${limit} s, last status ${status}: $*"
    fi
    say "status ${status}, next attempt in ${pause} s: $*"
    sleep "$pause"
    pause=$((pause * 2))
  done
}

# wait_for_count SECONDS EXPECTED DIRECTORY PATTERN: waits until exactly that many entries of the directory match.
wait_for_count() {
  local limit=$1 expected=$2 directory=$3 pattern=$4 deadline=$((SECONDS + $1)) found=0
  while true; do
    if [[ -d "${ROOT}${directory}" ]]; then
      found="$(find "${ROOT}${directory}" -mindepth 1 -maxdepth 1 -name "$pattern" | wc -l)"
    fi
    if ((found == expected)); then
      return
    fi
    if ((SECONDS >= deadline)); then
      fail "expected ${expected} of ${directory}/${pattern}, found ${found} after ${limit} s"
    fi
    sleep "$RETRY_PAUSE_SECONDS"
  done
}
