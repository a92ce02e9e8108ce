"""Service quotas that a Slipway environment can run into."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from slipway.facts.rows import FrozenList, Row, Text, find, load_rows


class Quota(Row):
    """One service quota of an account in a region.

    Attributes:
        key: Slipway's name of the quota, for example ``on_demand_trn``.
        service_code: Service Quotas' name of the service, for example ``ec2``.
        quota_code: Service Quotas' code, for example ``L-2C3B7624``.
        name: The quota's title in the console.
        unit: What is counted.
        default: What an account has that asked for nothing; none where it differs between accounts or is not known.
        instance_letters: Of a quota on vCPUs: what the names of its instance types begin with before their first
            digit, for example ``trn`` of ``trn1n.32xlarge``.
    """

    key: Text
    service_code: Text
    quota_code: Annotated[str, Field(pattern="^L-[0-9A-F]{8}$")]
    name: Text
    unit: Literal["vCPU", "GiB", "MB/s", "count"]
    default: Annotated[int, Field(ge=0)] | None = None
    instance_letters: FrozenList[Text] = ()


@cache
def quotas() -> Mapping[str, Quota]:
    """Return every quota by key."""
    return load_rows(Quota, "quotas.yaml", key_field="key")


def quota(key: str) -> Quota:
    """Return one quota.

    Raises:
        UnknownFact: Slipway watches no such quota.
    """
    return find("quota", key, quotas())
