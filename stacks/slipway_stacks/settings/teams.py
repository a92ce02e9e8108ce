"""What belongs to each team on the Kubernetes cluster: namespace, directories on /fsx, rights in the account."""

from collections.abc import Mapping
from typing import Any

from neuron_constructs.kubernetes import names
from neuron_constructs.kubernetes.software import JobSpace
from slipway.config.kubernetes import Kubernetes, Team


def team_namespace(team: str) -> str:
    """Return the namespace of a team."""
    return f"{names.NAMESPACE}-{team}"


def team_directories(team: str) -> dict[str, str]:
    """Return where a team's jobs work, by the fields of the job kit's `environment.json`."""
    return {
        "runs_directory": f"{_home(team)}/runs",
        "prepared_directory": f"{_home(team)}/prepared",
        "checkpoints_directory": f"{names.CHECKPOINTS_DIRECTORY}/{checkpoint_keys(team)}",
    }


def checkpoint_keys(team: str) -> str:
    """Return what the keys of a team's checkpoints begin with in their bucket."""
    return f"{names.TEAM_CHECKPOINTS}/{team}"


def team_space(team: Team, environment: Mapping[str, Any]) -> JobSpace:
    """Return a team's namespace of jobs.

    Args:
        team: the team.
        environment: the content of its `environment.json`.
    """
    directories = team_directories(team.name)
    return JobSpace(
        namespace=team_namespace(team.name),
        user_id=team.uid,
        runs_directory=directories["runs_directory"],
        private_directories=(_home(team.name), directories["checkpoints_directory"]),
        environment=environment,
    )


def user_groups(kubernetes: Kubernetes) -> dict[str, list[str]]:
    """Return the Kubernetes groups of all users by ARN: the namespaces that they work in."""
    members = {names.NAMESPACE: kubernetes.user_arns}
    members |= {team_namespace(team.name): team.user_arns for team in kubernetes.teams}
    everyone = dict.fromkeys(arn for arns in members.values() for arn in arns)
    return {arn: [name for name, arns in members.items() if arn in arns] for arn in everyone}


def _home(team: str) -> str:
    return f"{names.TEAMS_DIRECTORY}/{team}"
