#!/usr/bin/env bash
# Unpacks Debian's or Ubuntu's own Slurm into a directory, for the tests.
#
#   install.sh DIRECTORY
#
# tests/unpack_packages.sh says what DIRECTORY then holds.
set -euo pipefail

if (($# != 1)); then
  echo "usage: install.sh DIRECTORY" >&2
  exit 2
fi
exec "${BASH_SOURCE[0]%/*}/../unpack_packages.sh" "$1" Slurm \
  slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2
