# shellcheck shell=bash
# Runs a node's set-up as named steps; sourced by the script of each role. Each step leaves one line with the time and
# its duration; the first failure ends the script with the name of its step. Every wait has a deadline, and none lasts
# longer than what is left of SLIPWAY_SETUP_SECONDS: ParallelCluster ends a node that takes too long without a word.
#
# ROOT is put before every path that is written or looked at (tests set it); on a node it is empty.
shopt -s inherit_errexit
readonly ROOT="${ROOT:-}"
readonly RETRY_PAUSE_SECONDS="${SLIPWAY_RETRY_PAUSE_SECONDS:-5}"
readonly SETUP_SECONDS="${SLIPWAY_SETUP_SECONDS:?must say how long the whole set-up may take}"
# node_configured.sh started the clock, before it fetched the scripts.
SECONDS=$((EPOCHSECONDS - ${SLIPWAY_STARTED_AT:-$EPOCHSECONDS}))

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
# timeout signals the script and then its whole group: a second signal must not cut the report of the first short.
trap 'trap "" TERM; fail "the ${SETUP_SECONDS} s for the whole set-up are over"' TERM

# step NAME COMMAND...: runs the command, a function as a rule, and reports how long it took.
step() {
  local started=$SECONDS
  current_step="$1"
  "${@:2}"
  say "${current_step}: done in $((SECONDS - started)) s"
}

# put_file PATH: makes stdin the content of the file, in one move and only where that changes it.
put_file() {
  mkdir -p "${1%/*}"
  cat >"$1.new"
  if cmp --silent "$1.new" "$1"; then
    rm "$1.new"
  else
    mv "$1.new" "$1"
  fi
}

# bounded SECONDS: prints the limit, or what is left of the whole set-up where that is less. Never 0 for that reason: to
# timeout it would mean no limit at all.
bounded() {
  local left=$((SETUP_SECONDS - SECONDS))
  if ((left < 1)); then
    left=1
  fi
  printf '%s' "$(($1 < left ? $1 : left))"
}

# retry SECONDS COMMAND...: repeats an external command until it succeeds or the time is over, with pauses that double.
# A command that hangs is ended at the deadline too.
retry() {
  local pause=$RETRY_PAUSE_SECONDS limit deadline left status
  limit="$(bounded "$1")"
  deadline=$((SECONDS + limit))
  shift
  while true; do
    left=$((deadline - SECONDS))
    status=0
    timeout --kill-after=10 "$((left > 0 ? left : 1))" "$@" || status=$?
    if ((status == 0)); then
      return
    fi
    if ((SECONDS + pause >= deadline)); then
      fail "gave up within ${limit} s, ${SECONDS} s into the ${SETUP_SECONDS} s of the set-up," \
        "last status ${status}: $*"
    fi
    say "status ${status}, next attempt in ${pause} s: $*"
    sleep "$pause"
    pause=$((pause * 2))
  done
}

# wait_for_count SECONDS EXPECTED DIRECTORY PATTERN [FIND_TEST...]: waits until exactly that many entries of the
# directory match the pattern and, where given, pass the tests of find.
wait_for_count() {
  local expected=$2 directory=$3 pattern=$4 tests=("${@:5}") found=0 limit deadline
  limit="$(bounded "$1")"
  deadline=$((SECONDS + limit))
  while true; do
    if [[ -d "${ROOT}${directory}" ]]; then
      found="$(find "${ROOT}${directory}" -mindepth 1 -maxdepth 1 -name "$pattern" "${tests[@]}" | wc -l)"
    fi
    if ((found == expected)); then
      return
    fi
    if ((SECONDS >= deadline)); then
      fail "expected ${expected} of ${directory}/${pattern}${tests[*]:+ ${tests[*]}}, found ${found} after ${limit} s"
    fi
    sleep "$RETRY_PAUSE_SECONDS"
  done
}
