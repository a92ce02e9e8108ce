# shellcheck shell=bash
# The job kit (assets/jobs) with the command slipway-job; sourced after steps.sh, training_stack.sh,
# python_environments.sh, baked_packages.sh and health.sh. The head node installs it on the shared /apps; login nodes only find it.

readonly JOB_KIT_SECONDS="${SLIPWAY_JOB_KIT_SECONDS:-300}"
readonly KITS_DIRECTORY="${ROOT}/apps/slipway/jobs"

# check_job_kit_key: whether the kit runs with a training stack of the cluster must be known, yes or no.
check_job_kit_key() {
  if [[ ! "${JOB_KIT:-}" =~ ^(yes|no)$ ]]; then
    fail "training_stacks.sh lacks JOB_KIT, or it is neither yes nor no: '${JOB_KIT:-}'"
  fi
}

# fetch_kit_object ADDRESS FILE: one small object.
fetch_kit_object() {
  retry "$JOB_KIT_SECONDS" timeout 60 aws s3 cp --only-show-errors "$1" "$2"
}

# fetch_kit_files ADDRESS DIRECTORY: one attempt to fetch each file that files.sha256 names. One by one: the node may
# read the objects, but need not be allowed to list them.
fetch_kit_files() {
  local names
  names="$(sed 's/^[0-9a-f]*  //' "$2/files.sha256")" &&
    xargs --max-args=1 dirname <<<"$names" | (cd "$2" && xargs mkdir -p) &&
    xargs --max-procs=8 --replace='{}' timeout 60 aws s3 cp --only-show-errors "$1/{}" "$2/{}" <<<"$names" &&
    (cd "$2" && sha256sum --check --quiet --strict files.sha256)
}
# For the shell that retry starts.
export -f fetch_kit_files

# build_job_kit DIRECTORY: turns the folder with files.sha256 in it into a complete kit.
build_job_kit() {
  if grep -qvE '^[0-9a-f]{64}  [A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$' "$1/files.sha256"; then
    fail "${JOB_KIT_ADDRESS}/files.sha256 is not a list of checksums and files"
  fi
  retry "$JOB_KIT_SECONDS" bash -c "fetch_kit_files '${JOB_KIT_ADDRESS}' '$1'"
  unpack_packages "$(kit_packages_name "$1/requirements.txt")" "$1/venv"
  if [[ ! -d "$1/venv" ]]; then
    install_kit_packages "$1" "$1/requirements.txt"
  fi
  complete_kit "$1"
}

# install_job_kit: other files have another directory, built beside those that running chains have pinned. It gets its
# name when it is complete, and the link moves after that.
install_job_kit() {
  local work="${KITS_DIRECTORY}/.unfinished" name
  rm -rf "$work"
  mkdir -p "$work"
  fetch_kit_object "${JOB_KIT_ADDRESS}/files.sha256" "${work}/files.sha256"
  fetch_kit_object "${JOB_KIT_ADDRESS}/environment.json" "${work}/environment.json"
  name="$(sha256sum <"${work}/files.sha256")"
  name="${name:0:16}"
  put_file "${KITS_DIRECTORY}/environment.json" <"${work}/environment.json"
  rm "${work}/environment.json"
  if [[ -x "${KITS_DIRECTORY}/${name}/venv/bin/python" ]]; then
    say "already in ${KITS_DIRECTORY}/${name}"
    rm -r "$work"
  else
    build_job_kit "$work"
    # Only a kit whose Python has left with a former operating system can be in the way.
    rm -rf "${KITS_DIRECTORY:?}/${name}"
    mv -T "$work" "${KITS_DIRECTORY}/${name}"
  fi
  link "${KITS_DIRECTORY}/current" "$name"
  install_program "${SCRIPT_DIRECTORY}/slipway_job.sh" "${ROOT}/apps/slipway/bin/slipway-job"
}

# make_job_directories: every user makes folders of their own in these, as in /tmp: the sticky bit keeps others from
# removing or renaming them. Nothing below changes, and a directory that somebody else made stays theirs. FSx makes
# /fsx/data, as root, when it links the data bucket; what it shows of the bucket belongs to root and stays closed.
make_job_directories() {
  local name directory
  for name in runs checkpoints prepared data; do
    directory="${ROOT}/fsx/${name}"
    if [[ -L "$directory" ]]; then
      fail "/fsx/${name} is a link; jobs need a directory"
    fi
    mkdir -p "$directory"
    if [[ "$(stat --format %a "$directory")" == 1777 ]]; then
      continue
    fi
    if [[ "$(stat --format %u "$directory")" == "$EUID" ]]; then
      chmod 1777 "$directory"
    else
      say "WARNING: /fsx/${name} belongs to $(stat --format %U "$directory") and keeps its mode: others cannot use it"
    fi
  done
}

write_job_profile() {
  put_file "${ROOT}/etc/profile.d/slipway-jobs.sh" <<'PROFILE'
case ":${PATH}:" in
  *:/apps/slipway/bin:*) ;;
  *) export PATH="${PATH}:/apps/slipway/bin" ;;
esac
PROFILE
}

say_no_job_kit() {
  say "NO JOB KIT: it runs with none of the training stacks ${TRAINING_STACKS[*]}"
}
