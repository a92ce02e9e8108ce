#!/usr/bin/env bash
# User data of the inference hosts: shuts the ECS agent out until the host has proven itself, fetches the scripts of
# host/, checks each by its SHA-256, and runs host_setup.sh. The construct puts "export NAME=value" lines in front
# (README.md); EC2 allows 16 KiB in all, which is why the scripts come from the CDK's asset bucket.
#
# Nothing here may start or restart ecs.service: it starts after user data, and user data would wait for it.
set -euo pipefail

readonly ROOT="${ROOT:-}"
readonly RETRY_PAUSE_SECONDS="${SLIPWAY_RETRY_PAUSE_SECONDS:-5}"
readonly ATTEMPTS=5
readonly FETCH_SECONDS=300
readonly HOST_DIRECTORY="${ROOT}/opt/slipway/host"
readonly HOST_LOG="${ROOT}/var/log/slipway-host.log"

say() {
  printf '%s slipway user_data.sh: %s\n' "$(date -u +%FT%TZ)" "$*"
}

report_failure() {
  local status=$?
  if ((status != 0)); then
    say "FAILED with status ${status}; the ECS agent does not start, this host takes no task" | tee -a "$HOST_LOG" >&2
  fi
}
trap report_failure EXIT

# /run is empty after each boot: without a proof of this boot the agent's start fails, whoever asks for it.
keep_agent_out() {
  local directory="${ROOT}/etc/systemd/system/ecs.service.d"
  mkdir -p "$directory" "${HOST_LOG%/*}"
  printf '[Unit]\nRequires=slipway-host-proof.service\nAfter=slipway-host-proof.service\nAssertPathExists=%s\n' \
    /run/slipway/host-proven >"${directory}/slipway.conf"
  systemctl daemon-reload
}

# use_proxy: for user data, the services of the host, and those that reach AWS and registries. Docker and the ECS agent
# start after user data; the agent of Systems Manager runs already.
use_proxy() {
  local file="${ROOT}/etc/slipway/proxy.conf" unit variable
  if [[ -z "${SLIPWAY_PROXY:-}" ]]; then
    return
  fi
  mkdir -p "${file%/*}"
  for variable in {http,https}_proxy="$SLIPWAY_PROXY" {HTTP,HTTPS}_PROXY="$SLIPWAY_PROXY" \
    {no_proxy,NO_PROXY}="$SLIPWAY_PROXY_BYPASS"; do
    printf '%s\n' "$variable" >>"${file}.new"
    export "${variable?}"
  done
  mv "${file}.new" "$file"
  for unit in amazon-ssm-agent docker ecs; do
    mkdir -p "${ROOT}/etc/systemd/system/${unit}.service.d"
    printf '[Service]\nEnvironmentFile=/etc/slipway/proxy.conf\n' \
      >"${ROOT}/etc/systemd/system/${unit}.service.d/slipway-proxy.conf"
  done
  systemctl daemon-reload
  timeout 120 systemctl try-restart amazon-ssm-agent.service || say "WARNING: no sessions: its agent did not restart" >&2
}

# attempt COMMAND...: tries an external command several times, each time bounded.
attempt() {
  local count
  for ((count = 1; count <= ATTEMPTS; count++)); do
    if timeout --kill-after=10 "$FETCH_SECONDS" "$@"; then
      return
    fi
    sleep "$RETRY_PAUSE_SECONDS"
  done
  say "gave up after ${ATTEMPTS} attempts: $*" >&2
  return 1
}

# The ECS-optimized AMI is made from the minimal one, which has no AWS CLI.
fetch_scripts() {
  local archive="${ROOT}/opt/slipway/host.zip"
  if ! command -v aws >/dev/null; then
    attempt dnf install -y awscli-2
  fi
  mkdir -p "$HOST_DIRECTORY"
  attempt aws --region "$SLIPWAY_REGION" s3 cp --only-show-errors "$SLIPWAY_SCRIPTS" "$archive"
  python3 -m zipfile -e "$archive" "$HOST_DIRECTORY"
  (cd "$HOST_DIRECTORY" && sha256sum --check --strict --quiet) <<<"$SLIPWAY_SCRIPT_SUMS"
}

keep_agent_out
use_proxy
fetch_scripts
if ! timeout --kill-after=60 "$SLIPWAY_SETUP_SECONDS" bash "${HOST_DIRECTORY}/host_setup.sh" 2>&1 | tee -a "$HOST_LOG"; then
  bash "${HOST_DIRECTORY}/host_failed.sh" "$SLIPWAY_HOLD_SECONDS" 2>&1 | tee -a "$HOST_LOG"
  exit 1
fi
