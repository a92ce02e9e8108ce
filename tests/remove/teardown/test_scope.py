from pathlib import Path
from typing import Any

import pytest

from slipway.errors import RefusedError
from slipway.remove.scope import Cluster, Scope, read_scope
from tests.assembly import Assembly
from tests.remove.teardown.fakes import BUCKET, CLUSTER, NETWORK, TEMPLATES, TRAINING, write_assembly


def types(resources: Any) -> set[str]:
    return {resource.type for resource in resources}


def scope(folder: Path, templates: dict[str, dict[str, Any]]) -> Scope:
    return read_scope(write_assembly(folder / "assembly", templates))


def test_an_ephemeral_environment_loses_its_data(small: Assembly) -> None:
    read = read_scope(small.directory)

    assert (read.environment, read.region) == ("small", "us-west-2")
    assert read.clusters == (Cluster("trainium-small", {"/home": "Delete", "/apps": "Delete"}),)
    assert types(read.lost) == {"AWS::FSx::FileSystem", "AWS::S3::Bucket"}
    assert not read.kept
    assert read.deletes_data


def test_a_persistent_environment_keeps_its_data(ultracluster: Assembly) -> None:
    read = read_scope(ultracluster.directory)

    assert types(read.kept) >= {"AWS::FSx::FileSystem", "AWS::S3::Bucket"}
    assert "AWS::FSx::FileSystem" not in types(read.lost)
    assert set(read.clusters[0].volumes.values()) == {"Snapshot"}


def test_the_clusters_own_stack_belongs_to_the_environment(tmp_path: Path) -> None:
    assert scope(tmp_path, TEMPLATES).stack_names == (NETWORK, TRAINING, CLUSTER)


def test_data_is_lost_when_a_bucket_or_a_volume_is_deleted(tmp_path: Path) -> None:
    assert not scope(tmp_path / "kept", TEMPLATES).deletes_data
    assert scope(tmp_path / "lost", {**TEMPLATES, NETWORK: {"Data": BUCKET}}).deletes_data


def test_a_folder_that_is_no_assembly_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="is not a cloud assembly"):
        read_scope(tmp_path)


def test_an_assembly_of_another_app_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="share one tag slipway:environment"):
        read_scope(write_assembly(tmp_path / "assembly", tags={}))
