#!/usr/bin/env bash
# Unpacks Debian's own Chromium, without a window, and fonts into a directory, for the tests.
#
#   install.sh DIRECTORY
#
# tests/unpack_packages.sh says what DIRECTORY then holds. The fonts are named so that text is as wide on every machine.
set -euo pipefail

if (($# != 1)); then
  echo "usage: install.sh DIRECTORY" >&2
  exit 2
fi
exec "${BASH_SOURCE[0]%/*}/../unpack_packages.sh" "$1" Chromium \
  chromium-headless-shell fonts-dejavu-core fonts-liberation2 fontconfig-config
