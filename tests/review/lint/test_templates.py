"""What CloudFormation templates say about the surroundings of a cluster."""

from typing import Any

import pytest

from slipway.assembly.cluster import Cluster
from slipway.assembly.context import Subnet
from slipway.assembly.templates import Templates
from slipway.review.lint.rules import run_rules
from tests.config.files import changed
from tests.review.lint.configurations import MINIMAL

SCRIPTS_BUCKET = "${training.Scripts}"
NETWORK: dict[str, Any] = {
    "Resources": {
        "Gateway": {"Type": "AWS::EC2::InternetGateway"},
        "OpenTable": {"Type": "AWS::EC2::RouteTable"},
        "WayOut": {
            "Type": "AWS::EC2::Route",
            "Properties": {"RouteTableId": {"Ref": "OpenTable"}, "GatewayId": {"Ref": "Gateway"}},
        },
        "Nodes": {
            "Type": "AWS::EC2::Subnet",
            "Properties": {"AvailabilityZoneId": "usw2-az4", "CidrBlock": "10.0.0.0/24"},
        },
        "Edge": {"Type": "AWS::EC2::Subnet", "Properties": {"MapPublicIpOnLaunch": True, "CidrBlock": {"Ref": "Cidr"}}},
        "Routed": {"Type": "AWS::EC2::Subnet", "Properties": {"AvailabilityZoneId": "usw2-az1"}},
        "RoutedOut": {
            "Type": "AWS::EC2::SubnetRouteTableAssociation",
            "Properties": {"SubnetId": {"Ref": "Routed"}, "RouteTableId": {"Ref": "OpenTable"}},
        },
    },
    "Outputs": {"NodesSubnet": {"Value": {"Ref": "Nodes"}}},
}


def output(stack: str, name: str) -> dict[str, Any]:
    """A reference to another stack's output."""
    return {"Fn::GetStackOutput": {"StackName": stack, "OutputName": name, "Region": "us-west-2"}}


STORAGE: dict[str, Any] = {
    "Resources": {
        "Lustre": {
            "Type": "AWS::FSx::FileSystem",
            "Properties": {
                "SubnetIds": [{"Fn::GetStackOutput": {"StackName": "network", "OutputName": "NodesSubnet"}}]
            },
        },
        "Policy": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"Path": "/parallelcluster/"}},
        "Sessions": {
            "Type": "AWS::IAM::ManagedPolicy",
            "Properties": {"PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": ["ssmmessages:*"]}]}},
        },
        "Role": {"Type": "AWS::IAM::Role", "Properties": {"PermissionsBoundary": {"Ref": "Boundary"}}},
    },
    "Parameters": {"Boundary": {"Default": "arn:aws:iam::111122223333:policy/boundary"}},
    "Outputs": {"Lustre": {"Value": {"Ref": "Lustre"}}, "Policy": {"Value": {"Ref": "Policy"}}},
}


SCRIPT = {"Fn::Join": ["", ["s3://", {"Ref": "Scripts"}, "/cluster/node_configured.sh"]]}
CONFIGURATION = changed(
    MINIMAL,
    {
        "Region": None,
        "HeadNode.Networking.SubnetId": output("network", "NodesSubnet"),
        "HeadNode.CustomActions": {"OnNodeConfigured": {"Script": SCRIPT}, "OnNodeUpdated": {"Script": SCRIPT}},
        "HeadNode.Iam.AdditionalIamPolicies.1": {"Policy": output("storage", "Policy")},
        "Scheduling.SlurmQueues.0.Networking.SubnetIds": [output("network", "NodesSubnet")],
        "Scheduling.SlurmQueues.0.CustomActions.OnNodeConfigured": {"Script": SCRIPT},
        "SharedStorage.0.FsxLustreSettings.FileSystemId": output("storage", "Lustre"),
        "Iam": {"PermissionsBoundary": "arn:aws:iam::111122223333:policy/boundary"},
    },
)


def training(configuration: dict[str, Any], **parameters: str) -> dict[str, Any]:
    """A stack with a cluster, its provider and its scripts."""
    url = "https://${AWS::Region}-aws-parallelcluster.s3.amazonaws.com/parallelcluster/${V}/templates/cluster.yaml"
    return {
        "Mappings": {"Versions": {"Provider": {"Release": "3.16.1"}}},
        "Resources": {
            "Provider": {
                "Type": "AWS::CloudFormation::Stack",
                "Properties": {
                    "TemplateURL": {"Fn::Sub": [url, {"V": {"Fn::FindInMap": ["Versions", "Provider", "Release"]}}]},
                    "Parameters": parameters,
                },
            },
            "Scripts": {"Type": "AWS::S3::Bucket"},
            "Copy": {
                "Type": "Custom::CDKBucketDeployment",
                "Properties": {
                    "DestinationBucketName": {"Ref": "Scripts"},
                    "DestinationBucketKeyPrefix": "cluster",
                    "SourceObjectKeys": ["abc.zip"],
                },
            },
            "Cluster": {
                "Type": "Custom::PclusterCluster",
                "Properties": {
                    "ServiceToken": {"Fn::GetAtt": ["Provider", "Outputs.ServiceToken"]},
                    "ClusterConfiguration": configuration,
                },
            },
        },
    }


def found(configuration: dict[str, Any] = CONFIGURATION, **parameters: str) -> Cluster:
    """The cluster of three stacks that refer to each other."""
    stacks = {"network": NETWORK, "storage": STORAGE, "training": training(configuration, **parameters)}
    assets = {"abc.zip": ["node_configured.sh", "steps.sh"]}
    [cluster] = Templates(stacks, "us-west-2", assets.get).clusters()
    assert (cluster.stack, cluster.logical_id) == ("training", "Cluster")
    return cluster.cluster


def test_the_templates_say_all_that_the_rules_ask_but_quotas_and_prices() -> None:
    result = run_rules(found())
    assert result.findings == ()
    assert {missing.rule for missing in result.not_checked} == {
        "quotas-allow-all-nodes",
        "all-nodes-below-price-ceiling",
    }


def test_subnets_are_public_by_their_addresses_or_by_their_route() -> None:
    assert found().context.subnets == {
        "${network.Nodes}": Subnet(zone_id="usw2-az4", public=False, addresses=251),
        "${network.Edge}": Subnet(zone_id=None, public=True, addresses=None),
        "${network.Routed}": Subnet(zone_id="usw2-az1", public=True, addresses=None),
    }


def test_buckets_scripts_policies_and_file_systems_are_known_by_stack_and_logical_id() -> None:
    context = found().context
    assert context.own_buckets == {SCRIPTS_BUCKET}
    assert context.script_urls == {
        f"s3://{SCRIPTS_BUCKET}/cluster/node_configured.sh",
        f"s3://{SCRIPTS_BUCKET}/cluster/steps.sh",
    }
    assert context.policy_arns == {
        "${storage.Policy}": "arn:aws:iam::${AWS::AccountId}:policy/parallelcluster/storage-Policy",
        "${storage.Sessions}": "arn:aws:iam::${AWS::AccountId}:policy/storage-Sessions",
    }
    assert context.session_policies == {"${storage.Sessions}"}
    assert context.file_system_zones == {"${storage.Lustre}": "usw2-az4"}
    assert context.permissions_boundaries == {"arn:aws:iam::111122223333:policy/boundary"}


def test_the_release_is_read_out_of_the_providers_url() -> None:
    assert found().context.release == "3.16.1"
    assert found().context.made_by_provider is True


def test_what_a_role_of_ones_own_may_attach_is_not_known() -> None:
    assert found(CustomLambdaRole="arn:aws:iam::111122223333:role/own").context.made_by_provider is None


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"HeadNode.Networking.SubnetId": output("network", "NodesSubnet")}, None),
        ({"Iam": None}, "permissions-boundary-passed-on"),
        ({"HeadNode.CustomActions.OnNodeUpdated.Script": "s3://elsewhere/a.sh"}, "scripts-from-own-bucket"),
        (
            {"HeadNode.CustomActions.OnNodeUpdated.Script": {"Fn::Sub": "s3://${Scripts}/cluster/missing.sh"}},
            "scripts-are-uploaded",
        ),
        ({"Scheduling.SlurmQueues.0.ComputeResources.0.MaxCount": 300}, "addresses-for-all-nodes"),
    ],
)
def test_references_are_followed(changes: dict[str, Any], rule: str | None) -> None:
    findings = run_rules(found(changed(CONFIGURATION, changes))).findings
    assert {finding.rule for finding in findings} == ({rule} if rule else set())


def test_a_parameter_stands_for_its_default() -> None:
    template = training(changed(CONFIGURATION, {"Image.Os": {"Ref": "System"}}))
    template["Parameters"] = {"System": {"Type": "String", "Default": "ubuntu2004"}}
    [cluster] = Templates({"training": template}).clusters()
    assert "operating-system-exists" in {finding.rule for finding in run_rules(cluster.cluster).findings}


def test_an_asset_that_is_not_at_hand_leaves_the_scripts_unknown() -> None:
    [cluster] = Templates({"training": training(CONFIGURATION)}).clusters()
    assert cluster.cluster.context.script_urls is None
