"""Edits of environment files, synthesized: what their reviewers would be told."""

from collections import Counter
from pathlib import Path

from slipway.assembly.stacks import Stack, read_stacks
from slipway.config import load_environment
from slipway.review.changes.compare import compare
from slipway.review.changes.model import Changes
from tests.assembly import environment_path, synthesize
from tests.conftest import AssemblyFactory
from tests.review.changes.pairs import folded, own, says

VPC = "slipway-default-network/NetworkVpc7FB7348F"
QUEUE = "ClusterConfiguration.Scheduling.SlurmQueues[trn1].ComputeResources[trn1-32xl].MaxCount"


def _edited(name: str, folder: Path, *edits: tuple[str, str]) -> tuple[Stack, ...]:
    text = environment_path(name).read_text(encoding="utf-8")
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    # Under its own name: a file's name has to be the environment's.
    file = folder / f"{name}.yaml"
    file.write_text(text, encoding="utf-8")
    return read_stacks(synthesize(load_environment(file), folder / "assembly").directory)


def _changes(name: str, assemblies: AssemblyFactory, folder: Path, *edits: tuple[str, str]) -> Changes:
    return compare(read_stacks(assemblies(name).directory), _edited(name, folder, *edits))


def test_another_range_of_the_vpc(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    changes = _changes("default", assemblies, tmp_path, ("cidr: 10.40.0.0/16", "cidr: 10.41.0.0/16"))

    # The subnets and the endpoint's group have ranges of their own; all else only follows.
    assert Counter(own(changes)) == {
        "replace network EC2::VPC": 1,
        "replace network EC2::Subnet": 4,
        "replace inference EC2::SecurityGroup": 1,
    }
    assert Counter(row for row in folded(changes) if row.startswith("replace network")) == {
        "replace network EC2::RouteTable": 4,
        "replace network EC2::Route": 4,
        "replace network EC2::SubnetRouteTableAssociation": 4,
        "replace network EC2::NatGateway": 1,
        "replace network EC2::VPCGatewayAttachment": 1,
        "replace network EC2::VPCEndpoint": 1,
        "replace network EC2::FlowLog": 1,
    }
    causes = {change.logical_id: change.caused_by for change in changes.resources}
    assert causes["NetworkVpcPublicSubnet1RouteTable30235CE2"] == VPC
    assert causes["ClusterEB0386A7"] == "slipway-default-network/NetworkVpcPrivateSubnet1Subnet6DD86AE6"
    lost = [says(change) for change in changes.resources if change.loses_data]
    assert lost == ["replace storage FSx::FileSystem with its data"]
    assert not changes.broadenings


def test_a_larger_file_system_and_a_larger_queue(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    edits = ("capacity_gib: 4800", "capacity_gib: 9600"), ("max_count: 4", "max_count: 6")
    changes = _changes("default", assemblies, tmp_path, *edits)

    assert {change.logical_id: [row.path for row in change.properties] for change in changes.resources} == {
        "ClusterEB0386A7": [QUEUE],
        "LustreFileSystem46590C25": ["StorageCapacity"],
        "WatchFileSystemNearlyFull601B30F9": ["Threshold"],
        "WatchFileSystemSaturated4DF5C55C": ["Threshold"],
    }
    assert {change.effect for change in changes.resources} == {"update"}
    assert not changes.broadenings


def test_no_inference_any_more(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    text = environment_path("default").read_text(encoding="utf-8")
    inference = text[text.index("inference:") : text.index("operations:")]
    with_it, without = read_stacks(assemblies("default").directory), _edited("default", tmp_path, (inference, ""))
    changes = compare(with_it, without)

    assert changes.removed_stacks == ("slipway-default-inference",)
    assert not changes.with_effect("replace", "may_replace", "orphan", "add")
    inference_stack = assemblies("default").template("inference")["Resources"]
    removed = {change.logical_id for change in changes.with_effect("remove") if change.stack.endswith("inference")}
    assert removed == set(inference_stack)
    assert not any(change.loses_data for change in changes.resources)
    assert not changes.broadenings

    # The other way round, each of its roles is somebody new.
    back = compare(without, with_it)
    assert back.added_stacks == ("slipway-default-inference",)
    roles = {key for key, row in inference_stack.items() if row["Type"] == "AWS::IAM::Role"}
    assert roles <= {row.resource for row in back.broadenings}
    assert {row.kind for row in back.broadenings} == {"iam", "security_group"}


def test_data_that_are_kept_from_now_on(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    changes = _changes("default", assemblies, tmp_path, ("lifecycle: ephemeral", "lifecycle: persistent"))

    assert not changes.with_effect("replace", "may_replace", "orphan", "add")
    assert {change.type for change in changes.with_effect("remove")} == {
        "Custom::S3AutoDeleteObjects",
        "AWS::IAM::Role",
        "AWS::Lambda::Function",
        "AWS::Logs::LogGroup",
    }
    file_system = next(change for change in changes.resources if change.type == "AWS::FSx::FileSystem")
    assert [row.path for row in file_system.properties] == ["DeletionPolicy", "UpdateReplacePolicy"]
    assert not any(change.loses_data for change in changes.resources)
    assert not changes.broadenings


def test_another_kubernetes_version(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    changes = _changes("kubernetes", assemblies, tmp_path, ('version: "1.35"', 'version: "1.36"'))

    assert Counter(own(changes)) == {
        "update kubernetes EKS::Cluster": 1,
        "update kubernetes EKS::Nodegroup": 3,
        "update kubernetes EKS::Addon": 2,
        "update kubernetes Custom::AWSCDK-EKS-HelmChart": 1,
        "update kubernetes Custom::AWSCDK-EKS-KubernetesResource": 2,
    }
    assert len(changes.resources) == 9
    manifest = next(change for change in changes.resources if change.type.endswith("KubernetesResource"))
    assert all(row.path.startswith("Manifest[") for row in manifest.properties)
    assert not changes.broadenings


def test_a_role_of_another_account_that_may_read_models(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    reader = "arn:aws:iam::444455556666:role/model-promoter"

    changes = _changes("default", assemblies, tmp_path, ("storage:\n", f"storage:\n  model_readers: [{reader}]\n"))

    assert Counter(own(changes)) == {"update storage S3::BucketPolicy": 1}
    assert sorted(one.what for one in changes.broadenings) == [
        f"Allow s3:GetObject on Models7F217E31/* for AWS {reader}",
        f"Allow s3:ListBucket on Models7F217E31 for AWS {reader}",
    ]
