"""What the node scripts say changes what is copied, and nothing that ParallelCluster would compare."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import slipway_stacks.training
from tests.assembly import Assembly, load, synthesize


def copied(assembly: Assembly) -> Any:
    return assembly.resource("training", "Custom::CDKBucketDeployment")["SourceObjectKeys"]


def test_nothing_in_the_cluster_depends_on_what_the_scripts_say(
    default: Assembly, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = tmp_path / "cluster"
    shutil.copytree(slipway_stacks.training.CLUSTER_ASSETS, scripts)
    # An image is baked with the job kit's installer too.
    (tmp_path / "jobs").symlink_to(slipway_stacks.training.CLUSTER_ASSETS.parent / "jobs")
    for script in scripts.rglob("*.sh"):
        script.write_text(f"{script.read_text('utf-8')}\n# another content\n", "utf-8")
    (scripts / "one_more.sh").write_text("#!/usr/bin/env bash\n", "utf-8")
    monkeypatch.setattr(slipway_stacks.training, "CLUSTER_ASSETS", scripts)

    other = synthesize(load("default"), tmp_path / "assembly")

    assert copied(other) != copied(default)
    assert other.resource("training", "Custom::PclusterCluster") == default.resource(
        "training", "Custom::PclusterCluster"
    )
