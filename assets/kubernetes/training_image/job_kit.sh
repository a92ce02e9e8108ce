# shellcheck shell=bash
# The job kit and its command; sourced after python_environments.sh by install.sh.

# install_kit: with the client of Kubernetes' API, which the kit on a Slurm cluster does without.
install_kit() {
  local kit="${ROOT}/opt/slipway/jobs"
  mkdir -p "$kit" "${ROOT}/usr/local/bin"
  cp -R "${IMAGE_DIRECTORY}/../../jobs/." "$kit"
  install_kit_packages "$kit" "${kit}/requirements-kubernetes.txt"
  complete_kit "$kit"
  cp "${IMAGE_DIRECTORY}/slipway_job.sh" "${ROOT}/usr/local/bin/slipway-job"
  chmod 0755 "${ROOT}/usr/local/bin/slipway-job"
}
