"""What an environment asks of its Availability Zones, read from its file, whose zones may be missing or wrong."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from slipway import facts
from slipway.config import Environment, load_environment
from slipway.config.document import read_document
from slipway.config.storage import Storage
from slipway.config.unreadable import UnreadableDocument

_LUSTRE, _OPEN_ZFS = "FSx for Lustre", "FSx for OpenZFS"


@dataclass(frozen=True)
class Wanted:
    """What the zones must have.

    Attributes:
        environment: name of the environment.
        region: AWS Region.
        account: id of the AWS account that the file names; None when it names none.
        training: instance types that the training zone must offer.
        everywhere: instance types that every zone must offer.
        serving: instance types of which each must be offered in one of the zones at least.
        kubernetes: whether EKS puts a control plane into every zone.
        pinned: the training zone that the file system or a queue names for itself; None when none does.
        reservations: ids of reservations, and ARNs of resource groups of them, that nodes use.
        blocks: instance types that are bought in Capacity Blocks, each with the number of nodes.
        spot: instance types that are bought as Spot capacity.
        file_systems: the file systems in the training zone.
        current: the training zone that the file names; None when it names none.
        current_others: the other zones that the file names.
        others: how many other zones there are to be.
        subnet_zones: lists of subnets that an existing VPC must have in each zone, for example `private_subnets`, each
            with the zones where the file names one. Empty for a new VPC, which gets its subnets anywhere.
    """

    environment: str
    region: str
    account: str | None
    training: tuple[str, ...]
    everywhere: tuple[str, ...]
    serving: tuple[str, ...]
    kubernetes: bool
    pinned: str | None
    reservations: tuple[str, ...]
    blocks: tuple[tuple[str, int], ...]
    spot: tuple[str, ...]
    file_systems: tuple[str, ...]
    current: str | None
    current_others: tuple[str, ...]
    others: int
    subnet_zones: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def instance_types(self) -> tuple[str, ...]:
        """Return all instance types, each once."""
        return tuple(dict.fromkeys((*self.training, *self.everywhere, *self.serving)))

    def in_region(self, region: str) -> "Wanted":
        """Return the same wishes for another Region, which has none of the zones that the file names."""
        return replace(self, region=region, pinned=None, current=None, current_others=(), subnet_zones={})

    def lacking_subnets(self, zone: str) -> list[str]:
        """Return the lists of the existing VPC's subnets that have none in a zone."""
        return [name for name, zones in self.subnet_zones.items() if zone not in zones]


def read_wanted(path: Path) -> Wanted:
    """Read an environment file; zones that it lacks, or that are wrong, are ignored.

    Raises:
        InvalidEnvironment: something else is wrong in the file.
    """
    network, environment = _with_zones(path)
    if environment is None:
        # What is wrong beside the zones is reported by the loader, with its place in the file.
        environment = load_environment(path)
    training, others = network.get("training_availability_zone_id"), network.get("other_availability_zone_ids")
    return replace(
        _wanted(environment),
        current=training if isinstance(training, str) else None,
        current_others=tuple(zone for zone in others if isinstance(zone, str)) if isinstance(others, tuple) else (),
    )


def _with_zones(path: Path) -> tuple[dict[str, Any], Environment | None]:
    """Return the `network` section as it is written, and the environment as it would be with zones of its Region.

    The environment is none when that would not be valid either. The rules about zones are the loader's, at the end.
    """
    try:
        document = read_document(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, UnreadableDocument):
        return {}, None
    value = document.value
    network = value.get("network") if isinstance(value, dict) else None
    if document.flaws or not isinstance(network, dict):
        return {}, None
    region = facts.regions().get(str(value.get("region")))
    if region is None:
        return {}, None
    first, *others = region.availability_zone_ids
    written = network.get("other_availability_zone_ids")
    count = min(len(written), len(others)) if isinstance(written, tuple) and written else 1
    zones = {"training_availability_zone_id": first, "other_availability_zone_ids": tuple(others[:count])}
    try:
        return network, Environment.model_validate({**value, "network": {**network, **zones}})
    except ValidationError:
        return network, None


def _wanted(environment: Environment) -> Wanted:
    """Return what an environment asks of its zones, whichever the file names."""
    training, kubernetes = environment.training, environment.kubernetes
    queues = training.queues if training else ()
    groups = kubernetes.node_groups if kubernetes else ()
    nodes = [
        *(
            (resource.instance_type, queue.capacity_type, resource.max_count)
            for queue in queues
            for resource in queue.compute_resources
        ),
        *((group.instance_type, group.capacity_type, group.max_count) for group in groups),
    ]
    heads = (
        (training.head_node.instance_type, *((training.login_nodes.instance_type,) if training.login_nodes else ()))
        if training
        else ()
    )
    pinning = (environment.storage.lustre.availability_zone_id, *(queue.availability_zone_id for queue in queues))
    targets = [queue.capacity_reservation_id or queue.capacity_reservation_resource_group_arn for queue in queues]
    targets += [group.capacity_reservation_id for group in groups]
    return Wanted(
        environment=environment.name,
        region=environment.region,
        account=environment.account,
        training=tuple(dict.fromkeys([*(name for name, _, _ in nodes), *heads])),
        everywhere=(kubernetes.core_nodes.instance_type,) if kubernetes else (),
        serving=tuple(dict.fromkeys(model.instance_type for model in environment.inference.models))
        if environment.inference
        else (),
        kubernetes=kubernetes is not None,
        pinned=next(filter(None, pinning), None),
        reservations=tuple(dict.fromkeys(target for target in targets if target)),
        blocks=tuple(dict.fromkeys((name, count) for name, bought, count in nodes if bought == "capacity_block")),
        spot=tuple(dict.fromkeys(name for name, bought, _ in nodes if bought == "spot")),
        file_systems=tuple(_file_systems(environment.storage)),
        current=None,
        current_others=(),
        others=len(environment.network.other_availability_zone_ids),
        subnet_zones=dict(_subnet_zones(environment)),
    )


def _subnet_zones(environment: Environment) -> Iterator[tuple[str, frozenset[str]]]:
    existing = environment.network.existing
    if existing:
        yield "private_subnets", frozenset(subnet.availability_zone_id for subnet in existing.private_subnets)
        if existing.public_subnets or environment.has_public_endpoint:
            yield "public_subnets", frozenset(subnet.availability_zone_id for subnet in existing.public_subnets)


def _file_systems(storage: Storage) -> Iterator[str]:
    """Yield what Slipway makes: a file system that is there already is in its zone."""
    if not storage.lustre.existing:
        yield _LUSTRE
    if storage.home and not storage.home.existing:
        yield _OPEN_ZFS
