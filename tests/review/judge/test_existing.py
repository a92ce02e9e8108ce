"""A cluster on file systems, buckets and a key that were there before passes the real validators."""

from pathlib import Path

import pytest

from slipway.review.judge.assembly import read_assembly
from slipway.review.judge.inside_parallelcluster.answer import Level
from tests.assembly import synthesize
from tests.config.files import load
from tests.conftest import AssemblyFactory
from tests.covering_array import Row
from tests.existing_environments import content, rows
from tests.review.judge.quick_judge import ask_parallelcluster
from tests.review.judge.test_team_and_directory import judged, open_findings

pytestmark = pytest.mark.judge


def test_a_cluster_on_what_is_there_already_passes(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    assert open_findings(judged(read_assembly(assemblies("existing").directory), tmp_path)) == []


@pytest.mark.parametrize("beginning", ["arn:aws:kms", "fs-0a1b2c3d4e5f60001", "fsvol-"])
def test_parallelcluster_looks_at_what_is_there(beginning: str, assemblies: AssemblyFactory, tmp_path: Path) -> None:
    assembly = read_assembly(assemblies("existing").directory)
    assembly["existing"] = [row for row in assembly["existing"] if not row["id"].startswith(beginning)]

    assert open_findings(ask_parallelcluster({**assembly, "documents": {}}, tmp_path, []))


@pytest.mark.parametrize(
    "row", [row for row in rows() if row["nodes"] == "slurm"], ids=lambda row: "-".join(row.values())
)
def test_every_pair_of_own_and_existing_passes(row: Row, tmp_path: Path) -> None:
    assembly = read_assembly(synthesize(load(tmp_path, content(row)), tmp_path / "assembly").directory)

    answer = ask_parallelcluster({**assembly, "documents": {}}, tmp_path, [])

    assert [finding for finding in answer.outcome.findings if finding.level is Level.ERROR] == []
