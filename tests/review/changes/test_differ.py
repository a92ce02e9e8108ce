"""The differ's process: what it is told, and what becomes of a missing or failing one."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from slipway.assembly.stacks import Stack, read_stacks
from slipway.review.changes import differ
from slipway.review.changes.compare import compare
from slipway.review.changes.differ import DifferError, ask
from tests.conftest import AssemblyFactory


@pytest.fixture(autouse=True)
def one_differ() -> None:
    """Each question starts the program, as in `slipway plan`."""


def _stack(name: str, resources: dict[str, Any], outputs: dict[str, Any] | None = None) -> Stack:
    return Stack(
        name, "us-west-2", {"Resources": resources, "Outputs": outputs or {}}, {}, termination_protection=False
    )


def test_without_node_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(DifferError, match=r"Node\.js is not installed: run `make setup`"):
        ask({}, {}, {}, {})


def test_without_the_library_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(differ, "_NODE_MODULES", tmp_path / "none")

    with pytest.raises(DifferError, match="node_modules is not installed: run `make setup`"):
        ask({}, {}, {}, {})


def test_a_failure_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "broken.mjs"
    program.write_text("throw new TypeError('no such resource')", encoding="utf-8")
    monkeypatch.setattr(differ, "_PROGRAM", program)

    with pytest.raises(DifferError) as error:
        ask({}, {}, {}, {})

    assert str(error.value) == "the template differ failed: TypeError: no such resource"


def test_an_endless_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: Any, timeout: float, **__: Any) -> None:
        raise subprocess.TimeoutExpired("node", timeout)

    monkeypatch.setattr(subprocess, "run", hang)

    with pytest.raises(DifferError, match="within 60 s"):
        ask({}, {}, {}, {})


def test_one_process_serves_all_stacks_in_time(assemblies: AssemblyFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    run = subprocess.run

    def counted(*words: Any, **options: Any) -> Any:
        started.append(words)
        return run(*words, **options)

    monkeypatch.setattr(subprocess, "run", counted)
    stacks = read_stacks(assemblies("kubernetes").directory)

    begin = time.process_time()
    compare((), stacks)

    assert len(started) == 1
    assert time.process_time() - begin < 2


def test_a_whole_environment_comes_and_goes(assemblies: AssemblyFactory) -> None:
    stacks = read_stacks(assemblies("small").directory)
    number = sum(len(stack.template["Resources"]) for stack in stacks)

    coming, going = compare((), stacks), compare(stacks, ())

    assert len(coming.added_stacks) == len(going.removed_stacks) == len(stacks)
    assert len(coming.with_effect("add")) == len(going.with_effect("remove")) == number
    assert {change.type for change in going.resources if change.loses_data} == {
        "AWS::FSx::FileSystem",
        "AWS::S3::Bucket",
        "Custom::PclusterCluster",
    }
    assert coming.broadenings
    assert not going.broadenings


def test_exports_are_followed_like_outputs() -> None:
    def vpc(cidr: str) -> Stack:
        output = {"Vpc": {"Value": {"Ref": "Vpc"}, "Export": {"Name": {"Fn::Sub": "${AWS::StackName}-vpc"}}}}
        return _stack("net", {"Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": cidr}}}, output)

    subnet = {"VpcId": {"Fn::ImportValue": {"Fn::Sub": "${AWS::StackName}-vpc"}}, "CidrBlock": "10.0.0.0/24"}
    nodes = _stack("nodes", {"Subnet": {"Type": "AWS::EC2::Subnet", "Properties": subnet}})

    changes = compare((vpc("10.0.0.0/16"), nodes), (vpc("10.1.0.0/16"), nodes))

    assert [(change.logical_id, change.effect, change.caused_by) for change in changes.resources] == [
        ("Vpc", "replace", None),
        ("Subnet", "replace", "net/Vpc"),
    ]


def test_a_renamed_tree_is_one_rename_each() -> None:
    def resources(prefix: str) -> dict[str, Any]:
        return {
            f"{prefix}Topic": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "news"}},
            f"{prefix}Policy": {
                "Type": "AWS::SNS::TopicPolicy",
                "Properties": {"Topics": [{"Ref": f"{prefix}Topic"}], "PolicyDocument": {"Statement": []}},
            },
        }

    changes = compare((_stack("one", resources("Old")),), (_stack("one", resources("New")),))

    assert [(change.logical_id, change.effect) for change in changes.resources] == [
        ("NewTopic", "replace"),
        ("NewPolicy", "replace"),
    ]
    assert [change.properties[0].before for change in changes.resources] == ["OldTopic", "OldPolicy"]


def test_a_custom_resource_is_replaced_when_its_function_gives_it_another_id() -> None:
    def stack(name: str) -> Stack:
        bucket = {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": name}, "UpdateReplacePolicy": "Delete"}
        emptied = {"Type": "Custom::S3AutoDeleteObjects", "Properties": {"BucketName": {"Ref": "Data"}}}
        return _stack("one", {"Data": bucket, "Empty": emptied})

    data, empty = compare((stack("old"),), (stack("new"),)).resources

    assert (data.effect, data.loses_data) == ("replace", True)
    assert (empty.effect, empty.caused_by) == ("replace", "one/Data")
    assert [(row.path, row.effect) for row in empty.properties] == [("BucketName", "replace")]


def test_another_version_of_a_function_is_no_new_resource() -> None:
    def version(name: str) -> Stack:
        properties = {"FunctionName": "watch"}
        alias = {"FunctionName": "watch", "FunctionVersion": {"Fn::GetAtt": [name, "Version"]}, "Name": "live"}
        return _stack(
            "one",
            {
                name: {"Type": "AWS::Lambda::Version", "Properties": properties},
                "Alias": {"Type": "AWS::Lambda::Alias", "Properties": alias},
            },
        )

    assert compare((version("CurrentVersionAAAA"),), (version("CurrentVersionBBBB"),)).resources == ()


def test_a_pinned_digest_is_no_file_of_ours() -> None:
    def task(digest: str) -> Stack:
        container = {"Name": "engine", "Image": f"registry.example/engine@sha256:{digest * 64}"}
        return _stack(
            "one", {"Task": {"Type": "AWS::ECS::TaskDefinition", "Properties": {"ContainerDefinitions": [container]}}}
        )

    (change,) = compare((task("a"),), (task("b"),)).resources

    assert change.effect == "replace"
    assert [row.path for row in change.properties] == ["ContainerDefinitions[engine].Image"]


def test_the_order_of_keys_and_of_a_set_is_no_change() -> None:
    def network(*tags: dict[str, str]) -> tuple[Stack]:
        return (_stack("one", {"Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"Tags": list(tags)}}}),)

    before = network({"Key": "a", "Value": "2"}, {"Key": "b", "Value": "1"})
    after = network({"Value": "1", "Key": "b"}, {"Key": "a", "Value": "2"})

    assert compare(before, after).is_empty


def test_another_image_starts_pods_anew() -> None:
    def deployment(tag: str) -> Stack:
        spec = {"template": {"spec": {"containers": [{"name": "shell", "image": f"registry.example/jobs:{tag * 64}"}]}}}
        manifest = json.dumps([{"kind": "Deployment", "metadata": {"name": "shell"}, "spec": spec}])
        return _stack(
            "one", {"Jobs": {"Type": "Custom::AWSCDK-EKS-KubernetesResource", "Properties": {"Manifest": manifest}}}
        )

    (change,) = compare((deployment("a"),), (deployment("b"),)).resources

    assert [row.path for row in change.properties] == [
        "Manifest[Deployment shell].spec.template.spec.containers[shell].image"
    ]


@pytest.mark.parametrize("resource_type", ["AWS::RDS::DBInstance", "AWS::RDS::DBCluster"])
def test_a_database_without_a_policy_leaves_a_snapshot(resource_type: str) -> None:
    (change,) = compare((_stack("one", {"Data": {"Type": resource_type}}),), (_stack("one", {}),)).resources

    assert (change.effect, change.loses_data) == ("remove", False)


def test_a_replacement_reaches_nested_properties_and_no_others() -> None:
    def stack(zone: str, target: int) -> Stack:
        group = {"AutoScalingGroupName": zone}
        provider = {"AutoScalingGroupArn": {"Ref": "Group"}, "ManagedScaling": {"TargetCapacity": target}}
        return _stack(
            "one",
            {
                "Group": {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": group},
                "Provider": {
                    "Type": "AWS::ECS::CapacityProvider",
                    "Properties": {"AutoScalingGroupProvider": provider},
                },
            },
        )

    (scaled,) = compare((stack("a", 100),), (stack("a", 90),)).resources
    moved = compare((stack("a", 100),), (stack("b", 100),)).resources

    assert scaled.effect == "update"
    assert [(change.logical_id, change.effect) for change in moved] == [("Group", "replace"), ("Provider", "replace")]
