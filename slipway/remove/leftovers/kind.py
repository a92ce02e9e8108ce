"""The kinds of things that can be left: the `listings` of slipway/catalogue/services.

One table serves two readers. The rehearsal lists everything that an emulated account has (`path`); `slipway leftovers`
and `slipway destroy` look in a real one for what was an environment's (`left`). A new kind is a row.
"""

from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from slipway.catalogue import listings


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Call(_Row):
    """A call of a list or describe operation."""

    operation: str
    """Name of the operation in boto3, for example `describe_vpcs`."""

    parameters: dict[str, Any] = {}
    """Its parameters; `{account}` in a value becomes the account's id, `{region}` the Region, `{id}` and the like an
    item's facts."""

    path: str
    """JMESPath expression that takes the names out of an answer; its filters leave out what AWS itself made or has
    already deleted."""


class ListCall(Call):
    """A call that may need another one first."""

    for_each: "ParentCall | None" = None
    """Lists the parents, when the call needs one, as ECS services need their cluster."""


class ParentCall(ListCall):
    """A call that lists the parents of another."""

    parameter: str
    """The other call's parameter that each name goes into."""


class TaggedBy(Call):
    """The call that returns one item's tags, where the list does not and the tag index is late or silent."""

    only: str
    """Shell-style pattern of the names that are worth a call each."""


class First(Call):
    """Commands that make way for an item's own: one for each thing that a call lists."""

    command: str
    """Command of the AWS CLI, with the facts of the item and of what was listed."""


class PriceLine(_Row):
    """A part of what an item costs."""

    item: str
    """Item of slipway/facts/data/prices.yaml, with the item's facts in it. A line whose facts are missing does not
    apply."""

    quantity: str | None = None
    """Fact that says how many; without it, one."""

    per: int = 1
    """How many of the fact make one of what the price is for, for example bytes in a GiB."""


class UnknownCost(_Row):
    """A cost that no list call returns."""

    unknown: str
    """What it depends on."""


class Left(_Row):
    """How things of a kind are recognized, priced and removed."""

    items: str
    """JMESPath expression that makes an object of each thing: `id`, and where there are `name`, `tags`, `since`, `vpc`
    (the VPC that it is in), `of` (what it is a copy of), `instance` (what it is attached to), `goes_with`
    (what takes it along when it goes), and the facts that the
    other columns name. `parent` is the parent's name, `last` the last part of
    the id."""

    arn: str | None = None
    """Shell-style pattern of its ARN, with its facts: by it the tag index knows it. Where the id is the ARN, the
    pattern of all of them."""

    names: tuple[str, ...] = ()
    """Shell-style patterns of names that are an environment's, with `{environment}`, `{region}`, `{stack}` and
    `{cluster}`, beyond `{stack}-*`, which CloudFormation gives. A cluster's name may be a common word, or begin another
    one's: `{cluster}-*` is not proof."""

    below: str | None = None
    """IAM path of what ParallelCluster makes, with `{cluster}`."""

    of_cluster: str | None = None
    """Fact that names the cluster that it is a part of."""

    tagged_by: TaggedBy | None = None
    """The call that returns its tags."""

    all_regions: bool = False
    """Whether the list has things of all Regions, without saying of which one each is."""

    cost: Literal["free"] | tuple[PriceLine, ...] | UnknownCost
    """What it costs; `free`: nothing by itself."""

    data: bool = False
    """Whether users' data are in it, which its removal loses for good."""

    stage: int
    """When it is removed: what has a lower number goes first, because it holds what has a higher one."""

    first: tuple[First, ...] = ()
    """What makes way, before anything of this stage is removed."""

    remove: tuple[str, ...]
    """Commands of the AWS CLI that remove it, with its facts. One whose facts are missing is not needed."""


class Kind(ListCall):
    """One kind of thing and the call that lists it."""

    kind: str
    """What it is, in AWS's words."""

    service: str
    """Service name in boto3."""

    types: tuple[str, ...]
    """The CloudFormation types that this list would show, itself or as a part of what it lists."""

    emulated: bool = True
    """Whether moto, the emulator's backend, answers the call."""

    left: Left | None = None
    """Without it, the kind goes with another and is only the rehearsal's."""


@cache
def kinds() -> tuple[Kind, ...]:
    """Return the rows of all services."""
    return tuple(Kind.model_validate(row) for row in listings())
