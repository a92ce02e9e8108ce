#!/usr/bin/env bash
# Unpacks packages of Debian or Ubuntu into a directory, for the tests. It needs no root rights and changes nothing on
# the machine.
#
#   unpack_packages.sh DIRECTORY NAME PACKAGE...
#
# NAME is what its messages call the whole. DIRECTORY/root then holds the packages' files, DIRECTORY/version the version
# of the first package: each release of the distribution has one, and it is the distribution that pins it.
#
# DEBIAN_RELEASE, for example trixie: take the packages of this release from the mirror of Debian that the machine uses,
# with all that they depend on, down to libc: they then run on another release too (patchelf, see tests/slurm).
set -euo pipefail

if (($# < 3)); then
  echo "usage: unpack_packages.sh DIRECTORY NAME PACKAGE..." >&2
  exit 2
fi
readonly NAME="$2"
readonly PACKAGES=("${@:3}")
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
  echo "no apt-get here: the tests take ${NAME} from Debian's or Ubuntu's packages; run it on Debian or Ubuntu" >&2
  exit 1
fi
mkdir -p "$1"
DIRECTORY="$(cd "$1" && pwd)"
readonly DIRECTORY

SOURCES=()
LISTS=/var/lib/apt/lists

# own_apt ARGUMENT...: apt-get with the machine's sources, but with cache, locks and lists of its own.
own_apt() {
  apt-get --quiet=2 "${SOURCES[@]}" \
    --option "Dir::Cache=${DIRECTORY}/apt" \
    --option "Dir::State::Lists=${LISTS}" \
    --option "APT::Sandbox::User=$(id -un)" \
    --option Debug::NoLocking=true \
    "$@"
}

# use_release RELEASE: from now on own_apt reads that release of Debian alone, as a machine without any package.
use_release() {
  local mirror
  mirror="$(apt-get indextargets --format "\$(REPO_URI)" "Identifier: Packages" "Origin: Debian" | head --lines 1)"
  if [[ -z "$mirror" ]]; then
    echo "this machine's package sources are not Debian's: ${NAME} of Debian's ${1} cannot be had" >&2
    exit 1
  fi
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror} ${1} main" >"${DIRECTORY}/apt/sources.list"
  : >"${DIRECTORY}/apt/status"
  LISTS="${DIRECTORY}/apt/lists"
  SOURCES=(
    --option "Dir::Etc::SourceList=${DIRECTORY}/apt/sources.list"
    --option Dir::Etc::SourceParts=/dev/null
    --option "Dir::State::Status=${DIRECTORY}/apt/status"
  )
}

# Packages that the machine has are downloaded too; of what they depend on, only what it lacks.
download() {
  own_apt install --download-only --reinstall --yes --no-install-recommends "${PACKAGES[@]}" \
    >"${DIRECTORY}/apt/log" 2>&1
}

rm -rf "${DIRECTORY:?}/root" "${DIRECTORY}/apt"
mkdir -p "${DIRECTORY}/root" "${DIRECTORY}/apt/archives/partial" "${DIRECTORY}/apt/lists/partial"
if [[ -n "${DEBIAN_RELEASE:-}" ]]; then
  use_release "$DEBIAN_RELEASE"
fi
if ! download; then
  # The machine's package lists are missing or out of date.
  LISTS="${DIRECTORY}/apt/lists"
  if ! own_apt update >"${DIRECTORY}/apt/log" 2>&1 || ! download; then
    cat "${DIRECTORY}/apt/log" >&2
    echo "apt-get found no ${NAME} in this machine's package sources (above: what it said)" >&2
    exit 1
  fi
fi
for package in "${DIRECTORY}"/apt/archives/*.deb; do
  dpkg-deb --extract "$package" "${DIRECTORY}/root"
done
dpkg-deb --field "${DIRECTORY}/apt/archives/${PACKAGES[0]}"_*.deb Version >"${DIRECTORY}/version"
rm -rf "${DIRECTORY}/apt"
