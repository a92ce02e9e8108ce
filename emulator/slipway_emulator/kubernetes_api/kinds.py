"""The kinds of object that a cluster's API serves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).with_name("kinds.yaml")


@dataclass(frozen=True)
class Kind:
    """A kind of object.

    Attributes:
        group_version: Such as ``apps/v1``; ``v1`` for the oldest kinds, which have no group.
        kind: Such as ``Deployment``.
        plural: The same in a path: ``deployments``.
        namespaced: Whether its objects are in a namespace.
    """

    group_version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def group(self) -> str:
        """The group; empty for the oldest kinds."""
        return self.group_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """The version of the group."""
        return self.group_version.rpartition("/")[2]

    @property
    def root(self) -> str:
        """Where the paths of its group and version begin."""
        return f"/apis/{self.group_version}" if self.group else f"/api/{self.version}"


@cache
def _data() -> Mapping[str, Any]:
    data: Mapping[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return data


def _kinds(groups: Mapping[str, Mapping[str, str]]) -> Iterator[Kind]:
    for group_version, kinds in groups.items():
        for kind, plural in kinds.items():
            yield Kind(group_version, kind, plural, kind not in _data()["cluster_wide"])


def builtin_kinds() -> list[Kind]:
    """Return what every cluster serves."""
    return list(_kinds(_data()["builtin"]))


def kinds_of_chart(chart: str) -> list[Kind]:
    """Return the kinds that a Helm chart brings; none for a chart without any."""
    return list(_kinds(_data()["charts"].get(chart, {})))


def kinds_of_definition(definition: Mapping[str, Any]) -> list[Kind]:
    """Return the kinds that a CustomResourceDefinition brings: one for each version that it serves."""
    spec = definition["spec"]
    return [
        Kind(
            f"{spec['group']}/{version['name']}",
            spec["names"]["kind"],
            spec["names"]["plural"],
            spec["scope"] == "Namespaced",
        )
        for version in spec["versions"]
        if version["served"]
    ]
