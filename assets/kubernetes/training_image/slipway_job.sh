#!/usr/bin/env bash
# The command slipway-job: /usr/local/bin/slipway-job in the training image.
set -euo pipefail

# -I: neither the user's Python packages and variables nor files of the folder they are in take the kit's place.
exec /opt/slipway/jobs/venv/bin/python -I -m slipway_jobs "$@"
