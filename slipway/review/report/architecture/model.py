"""The parts of an environment, where each of them stands, and what flows between them."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Place = Literal["people", "network", "subnets", "storage", "regional", "operations"]
"""Where the picture has a part: with the people, in the VPC but in no subnet, in subnets, among the buckets, among the
other services of the Region, or with what watches all of it."""


class Subnet(BaseModel):
    """A subnet of the VPC."""

    model_config = ConfigDict(frozen=True)

    id: str
    """`stack/logical id`, like the id of each part."""

    zone: str
    """Availability Zone id, for example `usw2-az4`."""

    cidr: str
    is_public: bool


class Part(BaseModel):
    """Something that a reader of the picture looks for: a resource, a piece of a cluster, or a group of people."""

    model_config = ConfigDict(frozen=True)

    id: str
    """`stack/logical id` of the resource; a piece of it has its own name behind a `#`."""

    stack: str
    """Empty for people."""

    kind: str
    """In a word, for example `queue`; the rows of flows.yaml speak of kinds."""

    name: str
    """The name that the environment gives it, for example `trn1`; may be empty."""

    title: str
    details: tuple[str, ...]
    """What matters of its settings, for example `trn1.32xlarge, 0 to 4`."""

    place: Place
    subnets: tuple[str, ...] = ()
    group: str | None = None
    """Title of the cluster that it belongs to, if the picture has a frame for it."""

    members: tuple[str, ...] = ()
    """Ids of the resources that it consists of, its own first."""

    settings: str = ""
    """Digest of its settings: another one means that it changed."""


class Flow(BaseModel):
    """Data, requests or orders that go from one part to another."""

    model_config = ConfigDict(frozen=True)

    sources: tuple[str, ...]
    """Part ids: several that do the same are drawn as one."""

    targets: tuple[str, ...]
    label: str
    """In a few words, for example `imports new files`."""


class Architecture(BaseModel):
    """An environment as the picture shows it."""

    model_config = ConfigDict(frozen=True)

    region: str
    stacks: tuple[str, ...]
    network: str
    """The VPC in words, for example `VPC 10.40.0.0/16`; empty without one."""

    network_id: str
    """Id of the VPC; empty without one."""

    subnets: tuple[Subnet, ...]
    parts: tuple[Part, ...]
    flows: tuple[Flow, ...]
    not_drawn: dict[str, int]
    """Resource types that the picture leaves out, with how many there are."""

    def part(self, part_id: str) -> Part:
        """Return a part by its id."""
        return next(part for part in self.parts if part.id == part_id)
