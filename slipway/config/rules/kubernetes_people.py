"""Rules and notices about who may use the Kubernetes cluster: administrators, users, teams and their secrets."""

from collections.abc import Iterator

from slipway.config.environment import Environment
from slipway.config.kubernetes import Kubernetes
from slipway.config.problems import Finding, Path
from slipway.config.rules.arns import other_partition, other_region
from slipway.config.rules.kubernetes import kubernetes_cluster
from slipway.config.rules.registry import environment_notice, environment_rule
from slipway.config.rules.user_ids import shared_names_and_ids

_SECTION = ("kubernetes",)
_TEAMS = ("kubernetes", "teams")


def _users(kubernetes: Kubernetes) -> Iterator[tuple[Path, str]]:
    """Yield the ARNs of all who are not administrators, with their places."""
    for index, arn in enumerate(kubernetes.user_arns):
        yield ("kubernetes", "user_arns", index), arn
    for place, team in enumerate(kubernetes.teams):
        for index, arn in enumerate(team.user_arns):
            yield (*_TEAMS, place, "user_arns", index), arn


def _administrators(kubernetes: Kubernetes) -> Iterator[tuple[Path, str]]:
    for index, arn in enumerate(kubernetes.administrator_arns):
        yield ("kubernetes", "administrator_arns", index), arn


@environment_rule
def kubernetes_people_distinct(environment: Environment) -> Iterator[Finding]:
    """No role or user is twice in a list: each has one access entry in EKS."""
    kubernetes = kubernetes_cluster(environment)
    seen: set[tuple[Path, str]] = set()
    for path, arn in (*_administrators(kubernetes), *_users(kubernetes)):
        # One person may be in several teams, and so in several lists.
        if (path[:-1], arn) in seen:
            yield Finding(path, f"{arn} appears twice", "Remove this line.")
        seen.add((path[:-1], arn))


@environment_rule
def users_are_no_administrators(environment: Environment) -> Iterator[Finding]:
    """Nobody is both an administrator and a user: an administrator may do everything already."""
    kubernetes = kubernetes_cluster(environment)
    for path, arn in _users(kubernetes):
        if arn in kubernetes.administrator_arns:
            yield Finding(path, f"{arn} is in administrator_arns, too", "Keep it in one of the two.")


@environment_rule
def kubernetes_people_in_partition(environment: Environment) -> Iterator[Finding]:
    """Administrators and users are roles and users of the partition `aws`, where the environment's Region is."""
    kubernetes = kubernetes_cluster(environment)
    for path, arn in (*_administrators(kubernetes), *_users(kubernetes)):
        yield from other_partition(path, arn, environment.region)


@environment_rule
def teams_distinct(environment: Environment) -> Iterator[Finding]:
    """No two teams share a name or a user id: the user id is what keeps their files apart."""
    yield from shared_names_and_ids(_TEAMS, kubernetes_cluster(environment).teams, "team")


@environment_rule
def teams_without_mpi(environment: Environment) -> Iterator[Finding]:
    """Teams start training by torchrun: the training image lets only its own user log in, as mpirun does."""
    kubernetes = kubernetes_cluster(environment)
    if kubernetes.teams and kubernetes.launcher == "mpi":
        message = "mpirun logs in as the training image's user 1000, which no team's pods may be"
        yield Finding(_TEAMS, message, "Write `launcher: torchrun`, or remove `teams`.", at_key=True)


@environment_notice
def kubernetes_has_administrator(environment: Environment) -> Iterator[Finding]:
    """No one can use kubectl, and so submit a job: EKS lets in only whom an access entry names."""
    kubernetes = kubernetes_cluster(environment)
    if not kubernetes.administrator_arns and not any(_users(kubernetes)):
        message = "no one can submit a job with kubectl, not even the role that deploys"
        fix = "Add `administrator_arns` or `user_arns`, or create access entries when the cluster is deployed."
        yield Finding(_SECTION, message, fix, at_key=True)


@environment_rule
def hugging_face_secret_in_region(environment: Environment) -> Iterator[Finding]:
    """The secrets with Hugging Face tokens are in the environment's partition and Region."""
    kubernetes = kubernetes_cluster(environment)
    secrets: list[tuple[Path, str | None]] = [
        ((*_SECTION, "hugging_face_token_secret_arn"), kubernetes.hugging_face_token_secret_arn),
        *(
            ((*_TEAMS, index, "hugging_face_token_secret_arn"), team.hugging_face_token_secret_arn)
            for index, team in enumerate(kubernetes.teams)
        ),
    ]
    for path, arn in secrets:
        if arn is not None:
            fix = "Keep the secret there: jobs read those of their own Region."
            yield from other_region(path, arn, environment.region, fix)
