"""An environment's parts: what of it runs by the hour and can be stopped."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from slipway_pause.fleet import ComputeFleet
from slipway_pause.launches import Launches
from slipway_pause.node_groups import job_node_groups
from slipway_pause.part import Outcome, Part, attempt
from slipway_pause.service import Service


@dataclass(frozen=True)
class Targets:
    """Names of what can be stopped.

    Attributes:
        slurm_clusters: ParallelCluster's clusters.
        kubernetes_clusters: EKS clusters.
        services: ECS services as `cluster/service`.
    """

    slurm_clusters: tuple[str, ...] = ()
    kubernetes_clusters: tuple[str, ...] = ()
    services: tuple[str, ...] = ()

    def written(self) -> str:
        """Write them as the value of a variable."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "Targets":
        """Read what `written` wrote."""
        return cls(**{key: tuple(names) for key, names in json.loads(text).items()})


def parts(targets: Targets, session: Any) -> Iterator[Part | Outcome]:
    """Yield the parts, and an outcome for what could not be looked for.

    Args:
        targets: their names.
        session: boto3 session of the environment's account and Region.
    """
    client = cache(session.client)
    for cluster in targets.slurm_clusters:
        yield Launches(client("cloudformation"), client("iam"), cluster)
        yield ComputeFleet(client("dynamodb"), cluster)
    for service in targets.services:
        cluster, _, name = service.partition("/")
        yield Service(client("ecs"), client("application-autoscaling"), cluster, name)
    for cluster in targets.kubernetes_clusters:
        try:
            yield from list(job_node_groups(client("eks"), client("autoscaling"), cluster))
        except (BotoCoreError, ClientError) as error:
            yield Outcome(f"node groups of {cluster}", str(error), failed=True)


def stop(targets: Targets, session: Any) -> list[Outcome]:
    """Stop all that runs; what AWS refuses is among the outcomes and keeps nothing else from being stopped."""
    return _changed(parts(targets, session), "stop")


def start(targets: Targets, session: Any) -> list[Outcome]:
    """Start what was stopped."""
    return _changed(parts(targets, session), "start")


def _changed(found: Iterator[Part | Outcome], change: str) -> list[Outcome]:
    outcomes = [part if isinstance(part, Outcome) else attempt(part.name, getattr(part, change)) for part in found]
    return [outcome for outcome in outcomes if outcome]
