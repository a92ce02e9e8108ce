#!/usr/bin/env bash
# The command slipway-job: /apps/slipway/bin/slipway-job on head and login nodes.
set -euo pipefail

# The directory of the kit, not the link to it: a command that runs while the kit is updated stays with one kit, and a
# submitted run writes the path down.
kit="$(readlink -f "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../jobs/current")"
# -I: neither the user's Python packages and variables nor files of the folder they are in take the kit's place.
exec "${kit}/venv/bin/python" -I -m slipway_jobs "$@"
