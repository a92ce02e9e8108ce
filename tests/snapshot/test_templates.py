"""The templates that a reviewer sees: one JSON file for each stack of each shipped environment.

After a wanted change: `make snapshots`, then read `git diff tests/snapshot`.
"""

import re
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from tests.assembly import SHIPPED
from tests.conftest import AssemblyFactory

_ASSET_HASH = re.compile(r"[0-9a-f]{64}")


def without_asset_hashes(value: Any) -> Any:
    """Replace content hashes of assets: a changed comment in a script is not a change of the template."""
    if isinstance(value, dict):
        return {_ASSET_HASH.sub("<asset>", key): without_asset_hashes(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_asset_hashes(item) for item in value]
    return _ASSET_HASH.sub("<asset>", value) if isinstance(value, str) else value


@pytest.fixture
def json_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Snapshots as readable JSON files."""
    return snapshot.use_extension(JSONSnapshotExtension)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_templates_are_the_reviewed_ones(
    name: str, assemblies: AssemblyFactory, json_snapshot: SnapshotAssertion
) -> None:
    for stack, template in assemblies(name).templates().items():
        assert without_asset_hashes(template) == json_snapshot(name=stack)


def test_scrubbing_hides_asset_hashes_and_nothing_else() -> None:
    digest = "0123456789abcdef" * 4

    assert without_asset_hashes({"S3Key": f"{digest}.zip", "Size": 4800, "Ids": ["cr-0123456789abcdef0"]}) == {
        "S3Key": "<asset>.zip",
        "Size": 4800,
        "Ids": ["cr-0123456789abcdef0"],
    }
