#!/usr/bin/env bash
# The command slipway-job: /apps/slipway/bin/slipway-job on head and login nodes.
set -euo pipefail

here="$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

# refuse_local_user: the cluster's own user, the users of the environment file and those of a directory service exist on all
# nodes. Any other user, such as the ssm-user of a plain Session Manager session, exists on this node alone. root must not
# own jobs and their files.
refuse_local_user() {
  local user cluster_user
  user="$(id --user --name)" || exit 2
  if grep --quiet --no-messages "^${user}:" "${here}/../../../opt/slurm/etc/slipway/users"; then
    return
  fi
  cluster_user="$(sed -n 's/^cfn_cluster_user=//p' "${here}/../../../etc/parallelcluster/cfnconfig")" || exit 2
  if [[ "$user" != "$cluster_user" ]] && getent --service=files passwd "$user" >/dev/null; then
    echo "slipway-job: jobs cannot run as ${user}. Become ${cluster_user}, or your own name in the directory service:" \
      "sudo su - ${cluster_user}" >&2
    exit 2
  fi
}

refuse_local_user
# The directory of the kit, not the link to it: a command that runs while the kit is updated stays with one kit, and a
# submitted run writes the path down.
kit="$(readlink -f "${here}/../jobs/current")"
# -I: neither the user's Python packages and variables nor files of the folder they are in take the kit's place.
exec "${kit}/venv/bin/python" -I -m slipway_jobs "$@"
