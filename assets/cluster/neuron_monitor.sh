# shellcheck shell=bash
# Metrics of the Neuron devices; sourced after steps.sh by head_node.sh, which puts everything that the service needs on
# /apps, and by compute_node.sh, which only starts it. A node without metrics can still train: nothing here ends a
# set-up, but what is missing is said on stderr.

readonly MONITOR_DIRECTORY="${ROOT}/apps/slipway/neuron_monitor"
# Only the head node and an image that is baked have it.
readonly MONITOR_REQUIREMENTS="${SCRIPT_DIRECTORY}/neuron_monitor_requirements.txt"
readonly MONITOR_UNIT="slipway-neuron-monitor.service"

# install_monitor_packages PYTHON: PYTHON is any interpreter with pip. What is there is replaced when all is fetched.
install_monitor_packages() {
  local packages="${MONITOR_DIRECTORY}/python"
  rm -rf "${packages}.new"
  retry "$PIP_SECONDS" "$1" -m pip install --quiet --no-cache-dir --disable-pip-version-check \
    --require-hashes --upgrade --target "${packages}.new" --requirement "$MONITOR_REQUIREMENTS" &&
    cp "$MONITOR_REQUIREMENTS" "${packages}.new/requirements.txt" &&
    rm -rf "$packages" &&
    mv "${packages}.new" "$packages"
}

# install_monitor_environment PYTHON: everything that the service needs.
install_monitor_environment() {
  local file
  mkdir -p "$MONITOR_DIRECTORY"
  for file in neuron_metrics.py neuron_monitor.json "$MONITOR_UNIT"; do
    put_file "${MONITOR_DIRECTORY}/${file}" <"${SCRIPT_DIRECTORY}/${file}"
  done
  if cmp --silent "$MONITOR_REQUIREMENTS" "${MONITOR_DIRECTORY}/python/requirements.txt"; then
    return
  fi
  if ! (install_monitor_packages "$1"); then
    say "NO NEURON METRICS: pip did not install ${MONITOR_REQUIREMENTS}" >&2
  fi
}

start_neuron_monitor() {
  local needed
  for needed in "${ROOT}/opt/aws/neuron/bin/neuron-monitor" "${MONITOR_DIRECTORY}/${MONITOR_UNIT}" \
    "${MONITOR_DIRECTORY}/python/requirements.txt"; do
    if [[ ! -e "$needed" ]]; then
      say "NO NEURON METRICS: there is no ${needed}" >&2
      return
    fi
  done
  put_file "${ROOT}/etc/systemd/system/${MONITOR_UNIT}" <"${MONITOR_DIRECTORY}/${MONITOR_UNIT}"
  if ! { systemctl daemon-reload && systemctl enable --quiet --now "$MONITOR_UNIT"; }; then
    say "NO NEURON METRICS: ${MONITOR_UNIT} does not start" >&2
  fi
}
