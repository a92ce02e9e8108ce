# shellcheck shell=bash
# Puts the health check and the smoke jobs where Slurm and people find them; sourced by head_node.sh after steps.sh.

# install_program SOURCE TARGET: the new content is there at once or not at all, whoever runs the old one meanwhile.
install_program() {
  if cmp --silent "$1" "$2"; then
    return
  fi
  mkdir -p "$(dirname "$2")"
  cp "$1" "${2}.new"
  chmod 0755 "${2}.new"
  mv -f "${2}.new" "$2"
}

# The head node shares /opt/slurm with all nodes. Since 3.6 ParallelCluster's slurm.conf has
# Prolog=/opt/slurm/etc/scripts/prolog.d/*, with its own 90_pcluster_health_check_manager; HealthCheckProgram comes with
# our configuration of the cluster.
install_health_check() {
  install_prolog health_check.sh 10_slipway_health_check
}

# install_prolog SCRIPT NAME: puts a script below /opt/slurm/etc/slipway, and a link to it among the prologs.
install_prolog() {
  local programs="${ROOT}/opt/slurm/etc/slipway" prologs="${ROOT}/opt/slurm/etc/scripts/prolog.d"
  install_program "${SCRIPT_DIRECTORY}/$1" "${programs}/$1"
  mkdir -p "$prologs"
  # Slurm runs whatever is in the directory: the link is made outside.
  ln -sfn "../../slipway/$1" "${programs}/prolog.new"
  mv -fT "${programs}/prolog.new" "${prologs}/$2"
}

install_smoke_jobs() {
  local job
  for job in "${SCRIPT_DIRECTORY}"/smoke/*.sbatch; do
    install_program "$job" "${ROOT}/apps/slipway/smoke/${job##*/}"
  done
}
