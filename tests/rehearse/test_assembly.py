import json
from pathlib import Path
from typing import Any

import pytest

from slipway.assembly.stacks import NoAssemblyError, Stack, read_artifacts, read_stacks
from slipway.rehearse.assembly import Assembly, AssemblyError
from tests.rehearse.fakes import REGION, assembly_files

TOPIC = {"Topic": {"Type": "AWS::SNS::Topic"}}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def with_properties(folder: Path, environment: str = f"aws://unknown-account/{REGION}", **properties: Any) -> Path:
    files = assembly_files({"storage": TOPIC})
    manifest = json.loads(files["manifest.json"])
    artifact = manifest["artifacts"]["storage"]
    artifact["environment"] = environment
    artifact["properties"] |= properties
    manifest["artifacts"]["storage.assets"] = {"type": "cdk:asset-manifest", "properties": {"file": "assets.json"}}
    return written(folder, {**files, "manifest.json": json.dumps(manifest)})


def test_a_stack_is_read_with_all_that_the_tools_need(tmp_path: Path) -> None:
    folder = with_properties(tmp_path, stackName="named", tags={"team": "llm"}, terminationProtection=True)
    assert read_stacks(folder) == (Stack("named", REGION, {"Resources": TOPIC}, {"team": "llm"}, True),)


def test_what_the_manifest_leaves_out_has_its_default(tmp_path: Path) -> None:
    (stack,) = read_stacks(written(tmp_path, assembly_files({"storage": TOPIC})))
    assert (stack.name, stack.tags, stack.termination_protection) == ("storage", {}, False)


def test_artifacts_are_told_apart_by_type(tmp_path: Path) -> None:
    found = read_artifacts(with_properties(tmp_path), "cdk:asset-manifest")
    assert found == {"storage.assets": {"type": "cdk:asset-manifest", "properties": {"file": "assets.json"}}}


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "manifest.json"),
        ({"manifest.json": "no JSON"}, "is not a cloud assembly"),
        ({"manifest.json": json.dumps({"artifacts": {}})}, "has no stack"),
        ({"manifest.json": assembly_files({"storage": TOPIC})["manifest.json"]}, "storage.json"),
    ],
    ids=["empty folder", "not JSON", "no stack", "template missing"],
)
def test_a_folder_that_is_none_is_refused_with_the_reason(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    with pytest.raises(NoAssemblyError, match=reason):
        read_stacks(written(tmp_path, files))
    with pytest.raises(AssemblyError, match=reason):
        Assembly.read(tmp_path)


def test_a_rehearsal_wants_one_explicit_region(tmp_path: Path) -> None:
    assembly = Assembly.read(with_properties(tmp_path, environment="aws://unknown-account/unknown-region"))
    with pytest.raises(AssemblyError, match="unknown-region"):
        _ = assembly.region
