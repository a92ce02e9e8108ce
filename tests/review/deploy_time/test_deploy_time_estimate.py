"""The deploy time: means along the longest chain, stacks beside each other as the CDK CLI deploys them."""

import json
from pathlib import Path
from typing import Any

import pytest

from slipway import catalogue
from slipway.assembly.stacks import STACK, NoAssemblyError
from slipway.review.deploy_time.estimate import SECONDS_WITHOUT_ESTIMATE, estimate
from tests.assembly import Assembly
from tests.conftest import AssemblyFactory

WITHOUT_ESTIMATE = {"AWS::EKS::AccessEntry", "AWS::EKS::PodIdentityAssociation"}
"""Types that nobody has published a mean of."""


def written(folder: Path, stacks: dict[str, dict[str, Any]], waits: dict[str, list[str]] | None = None) -> Path:
    """A cloud assembly with these resources by stack."""
    artifacts = {}
    for name, resources in stacks.items():
        (folder / f"{name}.json").write_text(json.dumps({"Resources": resources}))
        artifacts[name] = {
            "type": STACK,
            "environment": "aws://unknown-account/us-west-2",
            "properties": {"templateFile": f"{name}.json"},
            "dependencies": (waits or {}).get(name, []),
        }
    (folder / "manifest.json").write_text(json.dumps({"artifacts": artifacts}))
    return folder


def test_the_default_environment_waits_for_network_file_system_and_cluster(default: Assembly) -> None:
    time = estimate(default.directory)
    of_stacks: dict[str, int] = {}
    for step in time.chain:
        role = step.stack.removeprefix("slipway-default-")
        of_stacks[role] = of_stacks.get(role, 0) + step.seconds

    # Inference takes 297 seconds beside the cluster.
    assert of_stacks == {"network": 267, "storage": 716, "training": 1241, "operations": 8}
    assert time.one_stack_after_another_seconds == 267 + 716 + 1241 + 297 + 8
    assert time.waits_for
    assert (time.waits_for.type, time.waits_for.seconds) == ("Custom::PclusterCluster", 1050)
    assert time.without_estimate == ()


def test_kubernetes_waits_for_the_file_system_and_the_control_plane(assemblies: AssemblyFactory) -> None:
    time = estimate(assemblies("kubernetes").directory)

    assert {"AWS::FSx::FileSystem", "AWS::EKS::Cluster", "AWS::EKS::Nodegroup"} <= {step.type for step in time.chain}
    assert set(time.without_estimate) == WITHOUT_ESTIMATE


def test_the_chain_takes_as_long_as_the_deployment(each_assembly: Assembly) -> None:
    time = estimate(each_assembly.directory)

    assert sum(step.seconds for step in time.chain) == time.seconds
    assert time.seconds <= time.one_stack_after_another_seconds
    assert all(step.seconds == catalogue.create_seconds(step.type) for step in time.chain if step.is_known)


def test_every_type_of_every_environment_has_a_create_time_or_is_named(each_assembly: Assembly) -> None:
    assert set(estimate(each_assembly.directory).without_estimate) <= WITHOUT_ESTIMATE


def test_a_change_takes_only_what_it_touches(default: Assembly) -> None:
    file_system = ("slipway-default-storage", "LustreFileSystem46590C25")
    alarm = ("slipway-default-operations", "WatchDashboard77C0F6EE")
    time = estimate(default.directory, {file_system, alarm})

    assert [(step.stack, step.logical_id, step.seconds) for step in time.chain] == [
        (*file_system, 637),
        (*alarm, 2),
    ]
    assert estimate(default.directory, set()).seconds == 0
    assert estimate(default.directory, set()).waits_for is None


def test_a_type_without_a_mean_is_named_and_counts_a_little(tmp_path: Path) -> None:
    time = estimate(written(tmp_path, {"one": {"It": {"Type": "AWS::Brand::New"}}}))

    assert (time.seconds, time.without_estimate) == (SECONDS_WITHOUT_ESTIMATE, ("AWS::Brand::New",))
    assert [step.is_known for step in time.chain] == [False]


def test_a_nested_stack_takes_as_long_as_its_template(tmp_path: Path) -> None:
    (tmp_path / "nested.json").write_text(json.dumps({"Resources": {"Gateway": {"Type": "AWS::EC2::NatGateway"}}}))
    nested = {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "nested.json"}}
    provider = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "https://bucket/cluster.yaml"}}

    assert estimate(written(tmp_path, {"one": {"Nested": nested}})).seconds == catalogue.create_seconds(
        "AWS::EC2::NatGateway"
    )
    assert estimate(written(tmp_path, {"one": {"Provider": provider}})).seconds == catalogue.create_seconds(
        "AWS::CloudFormation::Stack"
    )


def test_a_fifth_stack_waits_for_the_first_of_four(tmp_path: Path) -> None:
    long, short = {"It": {"Type": "AWS::FSx::FileSystem"}}, {"It": {"Type": "AWS::EC2::NatGateway"}}
    folder = written(tmp_path, {"one": long, "two": long, "three": short, "four": long, "five": long})
    time = estimate(folder)

    assert [step.stack for step in time.chain] == ["three", "five"]
    assert time.seconds == 106 + 637


def test_a_folder_without_an_assembly_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoAssemblyError):
        estimate(tmp_path)
