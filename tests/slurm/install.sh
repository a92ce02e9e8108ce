#!/usr/bin/env bash
# Unpacks Slurm of Debian or Ubuntu into a directory, for the tests.
#
#   install.sh DIRECTORY
#
# DIRECTORY/bin, sbin and plugins then hold commands, daemons and plug-ins, DIRECTORY/version the version.
#
# ParallelCluster's node daemons need a Slurm that knows instance ids: 23.11 or later. Where the machine's release of
# Debian has an older one (12: 22.05), Debian 13's is taken with its own libc. Every program then names its libraries
# itself: with LD_LIBRARY_PATH, which jobs inherit, the machine's own programs would load them too.
set -euo pipefail
readonly OLDEST=23.11
readonly PACKAGES=(slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2)

if (($# != 1)); then
  echo "usage: install.sh DIRECTORY" >&2
  exit 2
fi
readonly UNPACK="${BASH_SOURCE[0]%/*}/../unpack_packages.sh"
"$UNPACK" "$1" Slurm "${PACKAGES[@]}"
if dpkg --compare-versions "$(<"$1/version")" lt "$OLDEST"; then
  DEBIAN_RELEASE=trixie "$UNPACK" "$1" Slurm "${PACKAGES[@]}"
fi

cd "$1"
library="$(dirname "$(find "$PWD/root/usr/lib" -name libmunge.so.2)")"
loader="$(find "$library" -name 'ld-linux-*.so.*')"
rm -rf bin sbin plugins
mkdir bin sbin
ln -s "${library}/slurm-wlm" plugins

# bind_program SOURCE TARGET: a copy that uses the unpacked libraries, and the unpacked libc where there is one.
bind_program() {
  cp "$1" "$2"
  patchelf ${loader:+--set-interpreter "$loader"} --force-rpath --set-rpath "${library}/slurm-wlm:${library}" "$2"
}
for name in slurmctld slurmd slurmstepd; do
  bind_program "root/usr/sbin/${name}-wlm" "sbin/${name}"
done
bind_program root/usr/sbin/munged sbin/munged
for name in sacct salloc sbatch scancel scontrol sinfo squeue srun; do
  bind_program "root/usr/bin/${name}" "bin/${name}"
done
