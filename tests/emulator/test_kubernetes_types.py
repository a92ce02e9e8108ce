"""EKS as CloudFormation sees it: what refers to what, what is refused, and what has to go first."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.emulator.running import RunningEmulator

ZONES = ("a", "b")
ROLE = {
    "Type": "AWS::IAM::Role",
    "Properties": {
        "AssumeRolePolicyDocument": {
            "Version": "2012-10-17",
            "Statement": [
                {"Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com"}, "Action": "sts:AssumeRole"}
            ],
        }
    },
}
NETWORK: dict[str, Any] = {
    "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}},
    **{
        f"Subnet{zone}": {
            "Type": "AWS::EC2::Subnet",
            "Properties": {
                "VpcId": {"Ref": "Vpc"},
                "CidrBlock": f"10.0.{number}.0/24",
                "AvailabilityZone": f"us-west-2{zone}",
            },
        }
        for number, zone in enumerate(ZONES)
    },
}


def resources(name: str, *, launched: Mapping[str, Any] | None = None, **node_group: Any) -> dict[str, Any]:
    """A network, a cluster with that name, a launch template and a node group."""
    data = {"InstanceType": "m6i.xlarge", "MetadataOptions": {"HttpTokens": "required"}, **(launched or {})}
    return {
        **NETWORK,
        "Role": ROLE,
        "Cluster": {
            "Type": "AWS::EKS::Cluster",
            "Properties": {
                "Name": name,
                "Version": "1.35",
                "RoleArn": {"Fn::GetAtt": ["Role", "Arn"]},
                "ResourcesVpcConfig": {
                    "SubnetIds": [{"Ref": f"Subnet{zone}"} for zone in ZONES],
                    "EndpointPrivateAccess": True,
                    "EndpointPublicAccess": False,
                },
                "Logging": {"ClusterLogging": {"EnabledTypes": [{"Type": "api"}, {"Type": "audit"}]}},
                "Tags": [{"Key": "team", "Value": "ml"}],
            },
        },
        "Template": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}},
        "Nodes": {
            "Type": "AWS::EKS::Nodegroup",
            "Properties": {
                "ClusterName": {"Ref": "Cluster"},
                "NodeRole": {"Fn::GetAtt": ["Role", "Arn"]},
                "Subnets": [{"Ref": "Subneta"}],
                "AmiType": "AL2023_x86_64_STANDARD",
                "ScalingConfig": {"MinSize": 1, "DesiredSize": 1, "MaxSize": 2},
                "Labels": {"pool": "cpu"},
                "Taints": [{"Key": "pool", "Value": "cpu", "Effect": "NO_SCHEDULE"}],
                "LaunchTemplate": {
                    "Id": {"Ref": "Template"},
                    "Version": {"Fn::GetAtt": ["Template", "LatestVersionNumber"]},
                },
                **node_group,
            },
        },
    }


def only_group(emulator: RunningEmulator, cluster: str) -> Any:
    """The cluster's node group as EKS describes it."""
    client = emulator.client("eks")
    (name,) = client.list_nodegroups(clusterName=cluster)["nodegroups"]
    return client.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]


def test_a_cluster_comes_with_a_security_group_and_interfaces_that_go_with_it(emulator: RunningEmulator) -> None:
    outputs = {"Group": {"Value": {"Fn::GetAtt": ["Cluster", "ClusterSecurityGroupId"]}}}
    assert emulator.create("eks", resources("eks-whole"), Outputs=outputs) == "CREATE_COMPLETE"
    cluster = emulator.client("eks").describe_cluster(name="eks-whole")["cluster"]
    assert cluster["version"] == "1.35"
    assert cluster["tags"]["team"] == "ml"
    assert cluster["logging"]["clusterLogging"] == [{"types": ["api", "audit"], "enabled": True}]
    assert cluster["resourcesVpcConfig"]["clusterSecurityGroupId"] == emulator.outputs("eks")["Group"]
    interfaces = {
        interface["Description"]
        for interface in emulator.client("ec2").describe_network_interfaces()["NetworkInterfaces"]
        if interface["VpcId"] == emulator.physical_id("eks", "Vpc")
    }
    assert interfaces == {"Amazon EKS eks-whole", f"Node of {only_group(emulator, 'eks-whole')['nodegroupName']}"}
    assert emulator.delete("eks") == "DELETE_COMPLETE"


def test_a_cluster_with_node_groups_cannot_be_deleted(emulator: RunningEmulator) -> None:
    assert emulator.create("eks-kept", resources("eks-kept")) == "CREATE_COMPLETE"
    client = emulator.client("eks")
    with pytest.raises(client.exceptions.ResourceInUseException):
        client.delete_cluster(name="eks-kept")
    assert emulator.delete("eks-kept") == "DELETE_COMPLETE"


def test_a_subnet_of_a_cluster_cannot_be_deleted_before_it(emulator: RunningEmulator) -> None:
    assert emulator.create("eks-subnet", resources("eks-subnet")) == "CREATE_COMPLETE"
    client = emulator.client("ec2")
    with pytest.raises(client.exceptions.ClientError, match="DependencyViolation"):
        client.delete_subnet(SubnetId=emulator.physical_id("eks-subnet", "Subnetb"))
    assert emulator.delete("eks-subnet") == "DELETE_COMPLETE"


def test_size_labels_and_versions_change_in_place(emulator: RunningEmulator) -> None:
    assert emulator.create("eks-change", resources("eks-change")) == "CREATE_COMPLETE"
    before = only_group(emulator, "eks-change")
    larger: dict[str, Any] = {
        "ScalingConfig": {"MinSize": 1, "DesiredSize": 1, "MaxSize": 5},
        "Labels": {"pool": "cpu", "new": "yes"},
    }
    assert emulator.update("eks-change", resources("eks-change", **larger)) == "UPDATE_COMPLETE"
    newer = resources("eks-change", launched={"EbsOptimized": True}, **larger, ReleaseVersion="1.36.2-20260714")
    newer["Cluster"]["Properties"]["Version"] = "1.36"
    assert emulator.update("eks-change", newer) == "UPDATE_COMPLETE"
    after = only_group(emulator, "eks-change")
    assert after["nodegroupName"] == before["nodegroupName"]
    assert (after["scalingConfig"]["maxSize"], after["labels"]["new"]) == (5, "yes")
    # The backend has no call for versions: they are reported as changes without a home.
    *_, nodes = emulator.ledger(stack="eks-change", logical_id="Nodes", action="update")
    (cluster,) = emulator.ledger(stack="eks-change", logical_id="Cluster", action="update")
    assert nodes["unmapped"] == ["LaunchTemplate", "ReleaseVersion"]
    assert cluster["unmapped"] == ["Version"]
    assert emulator.delete("eks-change") == "DELETE_COMPLETE"


def test_a_version_does_not_change_with_anything_else(emulator: RunningEmulator) -> None:
    assert emulator.create("eks-both", resources("eks-both")) == "CREATE_COMPLETE"
    both = resources("eks-both", Labels={"pool": "other"}, ReleaseVersion="1.35.2-20260714")
    assert emulator.update("eks-both", both) == "UPDATE_ROLLBACK_COMPLETE"
    assert "cannot be combined with other updates" in emulator.reasons("eks-both")["Nodes"]
    assert emulator.delete("eks-both") == "DELETE_COMPLETE"


def test_other_subnets_replace_a_node_group(emulator: RunningEmulator) -> None:
    assert emulator.create("eks-replace", resources("eks-replace")) == "CREATE_COMPLETE"
    before = only_group(emulator, "eks-replace")["nodegroupName"]
    assert emulator.update("eks-replace", resources("eks-replace", Subnets=[{"Ref": "Subnetb"}])) == "UPDATE_COMPLETE"
    assert only_group(emulator, "eks-replace")["nodegroupName"] != before
    assert emulator.delete("eks-replace") == "DELETE_COMPLETE"


def test_a_launch_template_that_eks_refuses_fails(emulator: RunningEmulator) -> None:
    refused = {
        "profile": resources("eks-profile", launched={"IamInstanceProfile": {"Name": "nodes"}}),
        "subnet": resources(
            "eks-card", launched={"NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": {"Ref": "Subneta"}}]}
        ),
        "twice": resources("eks-twice", InstanceTypes=["m6i.xlarge"]),
    }
    for what, template in refused.items():
        assert emulator.create(f"eks-{what}", template) == "ROLLBACK_COMPLETE", what
        assert "InvalidParameterException" in emulator.reasons(f"eks-{what}")["Nodes"]


def test_what_only_stands_in_the_ledger_says_so(emulator: RunningEmulator) -> None:
    template = resources("eks-records")
    in_cluster = {"ClusterName": {"Ref": "Cluster"}}
    role = {"Fn::GetAtt": ["Role", "Arn"]}
    template |= {
        "AddOn": {"Type": "AWS::EKS::Addon", "Properties": {**in_cluster, "AddonName": "vpc-cni"}},
        "Entry": {"Type": "AWS::EKS::AccessEntry", "Properties": {**in_cluster, "PrincipalArn": role}},
        "Identity": {
            "Type": "AWS::EKS::PodIdentityAssociation",
            "Properties": {**in_cluster, "Namespace": "slipway", "ServiceAccount": "jobs", "RoleArn": role},
        },
    }
    outputs = {
        "Identity": {"Value": {"Fn::GetAtt": ["Identity", "AssociationId"]}},
        "Entry": {"Value": {"Fn::GetAtt": ["Entry", "AccessEntryArn"]}},
    }
    assert emulator.create("eks-records", template, Outputs=outputs) == "CREATE_COMPLETE"
    backing = {entry["logical_id"]: entry["backing"] for entry in emulator.ledger(stack="eks-records", action="create")}
    assert {name: backing[name] for name in ("AddOn", "Entry", "Identity", "Cluster", "Nodes")} == {
        "AddOn": "record",
        "Entry": "record",
        "Identity": "record",
        "Cluster": "api",
        "Nodes": "api",
    }
    assert emulator.physical_id("eks-records", "AddOn") == "eks-records|vpc-cni"
    assert emulator.outputs("eks-records")["Identity"].startswith("a-")
    assert ":access-entry/eks-records/" in emulator.outputs("eks-records")["Entry"]
    assert emulator.delete("eks-records") == "DELETE_COMPLETE"


def test_a_chart_is_written_down_for_a_cluster_that_is_there(emulator: RunningEmulator) -> None:
    template = resources("eks-chart")
    chart = {"Release": "kueue", "Chart": "kueue", "Namespace": "kueue-system", "CreateNamespace": True}
    for logical_id, cluster in {"Chart": {"Ref": "Cluster"}, "Stray": "eks-elsewhere"}.items():
        template[logical_id] = {
            "Type": "Custom::AWSCDK-EKS-HelmChart",
            "Properties": {"ServiceToken": "unused", "ClusterName": cluster, **chart},
        }
    assert emulator.create("eks-chart", template) == "ROLLBACK_COMPLETE"
    assert emulator.reasons("eks-chart")["Stray"] == "No cluster found for name: eks-elsewhere."
    del template["Stray"]
    assert emulator.create("eks-charts", template) == "CREATE_COMPLETE"
    (created,) = emulator.ledger(stack="eks-charts", logical_id="Chart", action="create")
    assert created["backing"] == "record"
    assert emulator.delete("eks-charts") == "DELETE_COMPLETE"


def test_a_rule_of_eventbridge_goes_with_its_targets(emulator: RunningEmulator) -> None:
    queue = "arn:aws:codebuild:us-west-2:123456789012:project/image"
    rule = {
        "Type": "AWS::Events::Rule",
        "Properties": {
            "EventPattern": {"source": ["aws.cloudformation"], "detail": {"status-details": {"status": ["x"]}}},
            "State": "ENABLED",
            "Targets": [{"Arn": queue, "Id": "Target0", "RoleArn": {"Fn::GetAtt": ["Role", "Arn"]}}],
        },
    }
    assert emulator.create("rule", {"Role": ROLE, "Rule": rule}) == "CREATE_COMPLETE"
    client, name = emulator.client("events"), emulator.physical_id("rule", "Rule")
    assert [target["Arn"] for target in client.list_targets_by_rule(Rule=name)["Targets"]] == [queue]
    assert emulator.delete("rule") == "DELETE_COMPLETE"
    assert name not in {found["Name"] for found in client.list_rules()["Rules"]}
