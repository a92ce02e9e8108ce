"""Differences between what was deployed and what is there."""

from typing import Any, get_args

from pydantic import BaseModel, ConfigDict

from slipway.review.changes.model import Harm, WiderAccess

_HARMS = get_args(Harm)
_TAGS = frozenset({"Tags", "TagList", "TagSpecifications"})


class DriftedProperty(BaseModel):
    """A property that is not as it was deployed."""

    model_config = ConfigDict(frozen=True)

    path: str
    """Where it is, for example `SecurityGroupIngress.0.CidrIp`."""

    deployed: Any
    """As the template has it. None if it was added."""

    actual: Any
    """As it is. None if it was removed."""


class DriftedResource(BaseModel):
    """A resource that was changed or deleted outside of CloudFormation."""

    model_config = ConfigDict(frozen=True)

    stack: str
    logical_id: str
    type: str
    """CloudFormation type."""

    physical_id: str
    is_deleted: bool
    loses_data: bool
    """Whether it is deleted and held users' data."""

    properties: tuple[DriftedProperty, ...] = ()
    """None of a deleted resource."""

    wider: tuple[WiderAccess, ...] = ()
    """Who may do more than the templates say, and what protects less."""

    @property
    def rank(self) -> int:
        """The harm: 0 for lost data, then the harms of `Harm`, deletions, other properties, and tags last."""
        if self.loses_data:
            return 0
        if self.wider:
            return 1 + min(_HARMS.index(one.harm) for one in self.wider)
        if self.is_deleted:
            return 1 + len(_HARMS)
        only_tags = all(changed.path.partition(".")[0] in _TAGS for changed in self.properties)
        return 2 + len(_HARMS) + only_tags


class Drift(BaseModel):
    """What differs between the deployed templates and the account."""

    model_config = ConfigDict(frozen=True)

    stacks: tuple[str, ...]
    """Names of the stacks that CloudFormation was asked about; none if the environment is not deployed."""

    resources: tuple[DriftedResource, ...] = ()
    """The most harmful first."""

    not_compared: tuple[str, ...] = ()
    """What CloudFormation could not compare, a sentence each."""
