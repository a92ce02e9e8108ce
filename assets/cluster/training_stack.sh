# shellcheck shell=bash
# What a node needs of its training stack: the versions in the lock file and a login shell that finds them; sourced
# after steps.sh.

# The same path on every node, so that a job may take over the variable from the node it was submitted on.
readonly NODE_ENVIRONMENT=/opt/slipway/training-environment

# load_training_stack TRAINING_STACK: reads the lock file with its pinned versions and refuses one that lacks a key.
load_training_stack() {
  local lock="training_stacks/$1.sh" key keys=(TRAINING_STACK NEURON_RELEASE OPERATING_SYSTEMS PACKAGE_REPOSITORY
    PACKAGE_KEY SYSTEM_PACKAGES PYTHON_VERSION PYTHON_PACKAGES PYTHON_SOURCES)
  # The head node reads one lock file after the other.
  unset "${keys[@]}" PYTHON_LOCK
  # shellcheck source=/dev/null
  source "${SCRIPT_DIRECTORY}/${lock}"
  for key in "${keys[@]}"; do
    if [[ -z "${!key:-}" ]]; then
      fail "${lock} lacks ${key}"
    fi
  done
}

# pinned_version PACKAGE: prints the version of a system package in the lock file, without a build suffix.
pinned_version() {
  local pin
  for pin in "${SYSTEM_PACKAGES[@]}"; do
    if [[ "$pin" == "$1="* ]]; then
      printf '%s' "${pin#*=}"
      return
    fi
  done
  fail "training_stacks/${TRAINING_STACK}.sh pins no version of $1"
}

# link PATH TARGET: points a link to another target, in one move: whoever looks meanwhile finds the old or the new one.
link() {
  if [[ "$(readlink "$1" || true)" != "$2" ]]; then
    mkdir -p "${1%/*}"
    ln -sfn "$2" "$1.new"
    mv -T "$1.new" "$1"
  fi
}

# write_profile ENVIRONMENT: login shells find the Neuron tools and the node's training environment, a link on /apps.
# sbatch hands a user's PATH over to the job, so nodes of all roles get the same file.
write_profile() {
  link "${ROOT}${NODE_ENVIRONMENT}" "$1"
  put_file "${ROOT}/etc/profile.d/slipway-neuron.sh" <<PROFILE
case ":\${PATH}:" in
  *:/opt/aws/neuron/bin:*) ;;
  *) export PATH="\${PATH}:/opt/aws/neuron/bin" ;;
esac
export SLIPWAY_NEURON_VENV=${NODE_ENVIRONMENT}
PROFILE
}
