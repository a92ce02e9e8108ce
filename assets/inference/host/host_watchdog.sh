#!/usr/bin/env bash
# Looks twice a minute whether an inference host still has its Neuron devices and its model. It ends, and
# slipway-host-failed.service has the host replaced, when something is gone for good: a container keeps a dead mount
# even when the host gets a new one. A model that only does not answer is given longer: the engine has it in memory,
# and an outage of the storage must not take every host. Run by slipway-host-watchdog.service.
set -euo pipefail

SCRIPT_DIRECTORY="$(dirname "$(readlink -f "$0")")"
readonly SCRIPT_DIRECTORY
# shellcheck source=assets/inference/host/steps.sh
source "${SCRIPT_DIRECTORY}/steps.sh"

readonly PAUSE_SECONDS="${SLIPWAY_WATCHDOG_SECONDS:-30}"
readonly PROBE_SECONDS="${SLIPWAY_PROBE_SECONDS:-15}"
readonly ROUNDS_GONE=3
readonly ROUNDS_SILENT=20
readonly SILENT=124
readonly MODEL="${ROOT}${SLIPWAY_MODEL_DIRECTORY}"

count_devices() {
  local found
  found="$(find "${ROOT}/dev" -mindepth 1 -maxdepth 1 -name 'neuron[0-9]*' | wc -l)"
  if ((found != SLIPWAY_NEURON_DEVICES)); then
    printf '%s\n' "${found} of ${SLIPWAY_NEURON_DEVICES} Neuron devices"
    return 1
  fi
}

# The listing is asked of the file system each time, what was read before may come from memory.
read_model() {
  if ! mountpoint -q "${ROOT}${SLIPWAY_MODEL_MOUNT}"; then
    echo "${SLIPWAY_MODEL_MOUNT} is not mounted" >&2
    return 1
  fi
  ls -A "$MODEL" >/dev/null && head -c 4096 "${MODEL}/config.json" >/dev/null
}

# A process that hangs in the kernel cannot even be killed, and whoever waits for it hangs too: so none is waited for
# that has not ended.
bounded_probe() {
  local log="${ROOT}/run/slipway/probe.log" pid waited
  count_devices || return 1
  read_model >/dev/null 2>"$log" &
  pid=$!
  for ((waited = 0; waited < PROBE_SECONDS; waited++)); do
    if ! kill -0 "$pid" 2>/dev/null; then
      break
    fi
    sleep 1
  done
  if kill -0 "$pid" 2>/dev/null; then
    kill -KILL "$pid"
    disown "$pid"
    echo "${SLIPWAY_MODEL_DIRECTORY} does not answer within ${PROBE_SECONDS} s"
    return "$SILENT"
  fi
  if ! wait "$pid"; then
    printf 'the model cannot be read: %s\n' "$(<"$log")"
    return 1
  fi
}

watch() {
  local reason status gone=0 silent=0
  mkdir -p "${ROOT}/run/slipway"
  while ((gone < ROUNDS_GONE && silent < ROUNDS_SILENT)); do
    sleep "$PAUSE_SECONDS"
    status=0
    reason="$(bounded_probe)" || status=$?
    if ((status == 0)); then
      gone=0 silent=0
      continue
    elif ((status == SILENT)); then
      silent=$((silent + 1))
    else
      gone=$((gone + 1))
    fi
    say "${reason} (${gone} of ${ROUNDS_GONE}, silent ${silent} of ${ROUNDS_SILENT})"
  done
  fail "$reason"
}

step "watch the host" watch
