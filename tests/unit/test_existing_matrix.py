"""Every pair of own and existing storage synthesizes; what is existing is named, and never a resource of a stack."""

import json
from pathlib import Path

import pytest

from slipway.assembly.existing import existing_in
from slipway.assembly.stacks import read_stacks
from tests.assembly import synthesize
from tests.config.files import load
from tests.covering_array import Row
from tests.existing_environments import content, rows


@pytest.mark.parametrize("row", rows(), ids=lambda row: "-".join(row.values()))
def test_it_synthesizes_and_names_what_is_not_its_own(row: Row, tmp_path: Path) -> None:
    assembly = synthesize(load(tmp_path, content(row)), tmp_path / "assembly")
    templates = assembly.templates().values()
    types = [resource["Type"] for template in templates for resource in template["Resources"].values()]
    named = {resource.kind for resource in existing_in(read_stacks(assembly.directory))}

    file_systems = (row["lustre"] == "own") + (row["home"] == "own")
    assert types.count("AWS::FSx::FileSystem") == file_systems
    assert ("AWS::FSx::DataRepositoryAssociation" in types) is (row["lustre"] == "own")
    assert ("KMS key" in named) is (row["key"] == "customers")
    assert ("S3 bucket" in named) is (row["buckets"] != "own")
    assert ("FSx for Lustre file system" in named) is (row["lustre"] == "existing")
    for template in templates:
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::S3::BucketPolicy":
                assert "example-" not in json.dumps(resource["Properties"]["Bucket"])
