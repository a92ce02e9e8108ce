"""Whose things are looked for: an environment as its file, its cloud assembly or its name tell it."""

import re
from pathlib import Path

from slipway.assembly.choice import NotChosenError, chosen_assembly
from slipway.config.environment import NAME
from slipway.errors import RefusedError, SlipwayError
from slipway.remove.leftovers.ownership import Subject, subject_of_name
from slipway.remove.scope import Scope, read_scope


class NotLookedError(RefusedError):
    """What is left is unknown; the message says why."""


def subject_of(scope: Scope) -> Subject:
    """Return the environment of a cloud assembly, with the names of its clusters and what its templates keep."""
    return Subject(
        environment=scope.environment,
        region=scope.region,
        stacks=scope.app_stack_names,
        clusters=(*(cluster.name for cluster in scope.clusters), *scope.kubernetes_clusters),
        kept={(resource.stack, resource.logical_id): resource.type for resource in scope.kept},
        account=scope.account,
        existing=scope.existing,
    )


def find_subject(environment: str | None, assembly: Path | None, name: str | None, region: str | None) -> Subject:
    """Find out whose things are looked for.

    Raises:
        NotLookedError: not exactly one environment is named, or it cannot be read.
    """
    if sum(option is not None for option in (environment, assembly, name)) != 1 or (name is None) != (region is None):
        raise NotLookedError(
            "say whose: -e NAME, or --assembly FOLDER, or --name NAME with --region REGION; one of them"
        )
    if name is not None and region is not None:
        if not re.fullmatch(NAME.pattern, name):
            # A `*` in it would find the things of every environment.
            raise NotLookedError(f"--name {name!r} is not an environment's name: it must be {NAME.words}")
        if not region.strip():
            raise NotLookedError("--region is empty: write the environment's AWS Region")
        return subject_of_name(name, region)
    try:
        return subject_of(read_scope(chosen_assembly(environment, assembly, "leftovers", despite_findings=True)))
    except (NotChosenError, SlipwayError) as error:
        raise NotLookedError(str(error)) from error
