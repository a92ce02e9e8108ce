# shellcheck shell=bash
# The HTTP proxy of a cluster whose nodes have one; sourced after steps.sh. ParallelCluster tells package managers and
# login shells of it (/etc/profile.d/proxy.sh), and has nothing bypass it but this node and its metadata service.
#
# PROXY_URL and PROXY_BYPASS come from training_stacks.sh; without a proxy they are empty and nothing is changed.

# The variables: services read the file, shells read it through the profile, Slipway's jobs through the profile too.
readonly PROXY_FILE=/etc/slipway/proxy.conf
# Agents of AWS that started before the proxy was known and learn of it from nobody else. On Ubuntu the first is a snap.
readonly AWS_AGENTS=(amazon-ssm-agent snap.amazon-ssm-agent.amazon-ssm-agent amazon-cloudwatch-agent)

# proxy_variables: prints them as KEY=VALUE. Both spellings: curl reads http_proxy in lower case only, some programs read
# the others in upper case only.
proxy_variables() {
  local name
  for name in http_proxy https_proxy HTTP_PROXY HTTPS_PROXY; do
    printf '%s=%s\n' "$name" "$PROXY_URL"
  done
  printf '%s=%s\n' no_proxy "$PROXY_BYPASS" NO_PROXY "$PROXY_BYPASS"
}

# tell_agents: a node without sessions and logs can train: what fails here is said on stderr and ends no set-up.
tell_agents() {
  local agent
  for agent in "${AWS_AGENTS[@]}"; do
    put_file "${ROOT}/etc/systemd/system/${agent}.service.d/slipway-proxy.conf" <<DROP_IN
[Service]
EnvironmentFile=${PROXY_FILE}
DROP_IN
  done
  systemctl daemon-reload
  for agent in "${AWS_AGENTS[@]}"; do
    if systemctl cat "${agent}.service" >/dev/null 2>&1 &&
      ! timeout "$(bounded 120)" systemctl try-restart "${agent}.service"; then
      say "WARNING: ${agent} did not restart and does not use the proxy" >&2
    fi
  done
}

# use_proxy: for the rest of the set-up and for what runs on the node later. Agents restart only when something changed.
use_proxy() {
  local variables variable before
  if [[ -z "${PROXY_URL:-}" ]]; then
    return
  fi
  variables="$(proxy_variables)"
  while IFS= read -r variable; do
    export "${variable?}"
  done <<<"$variables"
  # Behind ParallelCluster's proxy.sh, by its name.
  put_file "${ROOT}/etc/profile.d/slipway-proxy.sh" <<PROFILE
set -a
. ${PROXY_FILE}
set +a
PROFILE
  before="$(cat "${ROOT}${PROXY_FILE}" 2>/dev/null || true)"
  put_file "${ROOT}${PROXY_FILE}" <<<"$variables"
  if [[ "$before" != "$variables" ]]; then
    tell_agents
  fi
}
