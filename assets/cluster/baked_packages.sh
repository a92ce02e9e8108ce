# shellcheck shell=bash
# The Python packages that an image holds as archives: bake_image.sh stores them, the head node unpacks them and fetches
# nothing; sourced after steps.sh, training_stack.sh, python_environments.sh and neuron_monitor.sh. An archive is named
# like what it holds, with a checksum of the pins: one of other pins is never taken.

readonly BAKED_PACKAGES="${ROOT}/opt/slipway/baked"

# packages_name KIND FILE: prints the name of the packages that a requirements file pins.
packages_name() {
  local checksum
  checksum="$(sha256sum <"$2")"
  printf '%s-python%s-%s' "$1" "$PYTHON_VERSION" "${checksum:0:8}"
}

kit_packages_name() {
  packages_name job-kit "$1"
}

monitor_packages_name() {
  packages_name neuron-monitor "$MONITOR_REQUIREMENTS"
}

# store_packages NAME DIRECTORY: keeps the directory's content in the image.
store_packages() {
  mkdir -p "$BAKED_PACKAGES"
  tar --create --gzip --file "${BAKED_PACKAGES}/$1.tar.gz" --directory "$2" .
}

# unpack_packages NAME DIRECTORY: makes the directory from the image, complete or not at all. Without it whoever called
# fetches the packages, and the log says why.
unpack_packages() {
  local archive="${BAKED_PACKAGES}/$1.tar.gz" work="$2.baked" found
  if [[ ! -d "$BAKED_PACKAGES" ]]; then
    say "no Python packages are baked into the image: $1 is fetched"
    return
  fi
  if [[ ! -e "$archive" ]]; then
    found="$(cd "$BAKED_PACKAGES" && printf '%s ' *)"
    say "WARNING: the image has ${found}but not $1.tar.gz, which is fetched now: bake an image of this release" \
      "(slipway docs node-image)"
    return
  fi
  rm -rf "$work"
  mkdir -p "$work"
  if timeout --kill-after=10 "$(bounded "$PIP_SECONDS")" tar --extract --gzip --file "$archive" --directory "$work"; then
    rm -rf "$2"
    mv -T "$work" "$2"
    say "$1: unpacked from the image"
  else
    rm -rf "$work"
    say "WARNING: ${archive} could not be unpacked: $1 is fetched now"
  fi
}

# unpack_training_packages: the loaded stack's environment, with the mark that install_training_packages looks for.
unpack_training_packages() {
  local name
  name="$(environment_name)"
  if [[ ! -f "${ROOT}/apps/neuron/${name}/.requirements" ]]; then
    unpack_packages "$name" "${ROOT}/apps/neuron/${name}"
  fi
}

# unpack_monitor_packages: with the file that install_monitor_environment compares.
unpack_monitor_packages() {
  local name
  name="$(monitor_packages_name)"
  if ! cmp --silent "$MONITOR_REQUIREMENTS" "${MONITOR_DIRECTORY}/python/requirements.txt"; then
    unpack_packages "$name" "${MONITOR_DIRECTORY}/python"
  fi
}
