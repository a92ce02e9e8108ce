#!/usr/bin/env bash
# Unpacks packages of Debian or Ubuntu into a directory, for the tests. It needs no root rights and changes nothing on
# the machine.
#
#   unpack_packages.sh DIRECTORY NAME PACKAGE...
#
# NAME is what its messages call the whole. DIRECTORY/root then holds the packages' files, DIRECTORY/version the version
# of the first package: each release of the distribution has one, and it is the distribution that pins it.
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

# own_apt ARGUMENT...: apt-get with the machine's sources, but with cache, locks and lists of its own.
own_apt() {
  apt-get --quiet=2 \
    --option "Dir::Cache=${DIRECTORY}/apt" \
    --option "Dir::State::Lists=${LISTS}" \
    --option "APT::Sandbox::User=$(id -un)" \
    --option Debug::NoLocking=true \
    "$@"
}

# Packages that the machine has are downloaded too; of what they depend on, only what it lacks.
download() {
  own_apt install --download-only --reinstall --yes --no-install-recommends "${PACKAGES[@]}" \
    >"${DIRECTORY}/apt/log" 2>&1
}

rm -rf "${DIRECTORY:?}/root" "${DIRECTORY}/apt"
mkdir -p "${DIRECTORY}/root" "${DIRECTORY}/apt/archives/partial" "${DIRECTORY}/apt/lists/partial"
LISTS=/var/lib/apt/lists
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
