"""The ParallelCluster provider's stand-in with the real aws-parallelcluster behind it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuron_constructs.cluster.configuration import cluster_configuration
from slipway_emulator.fixtures.parallelcluster import VERSION
from tests.emulator.running import RunningEmulator
from tests.unit.test_cluster_configuration import PROPS

PROJECT = Path(__file__).parents[2]
PYTHON = PROJECT / ".tools" / "parallelcluster" / "bin" / "python"
PROVIDER = {
    "Type": "AWS::CloudFormation::Stack",
    "Properties": {
        "TemplateURL": {
            "Fn::Sub": "https://${AWS::Region}-aws-parallelcluster.s3.${AWS::Region}.${AWS::URLSuffix}"
            f"/parallelcluster/{VERSION}/templates/custom_resource/cluster.yaml"
        }
    },
}
NETWORK = {
    "Vpc": {
        "Type": "AWS::EC2::VPC",
        "Properties": {"CidrBlock": "10.0.0.0/16", "EnableDnsSupport": True, "EnableDnsHostnames": True},
    },
    "Net": {
        "Type": "AWS::EC2::Subnet",
        "Properties": {
            "VpcId": {"Ref": "Vpc"},
            "CidrBlock": "10.0.1.0/24",
            "AvailabilityZoneId": "usw2-az4",
            "MapPublicIpOnLaunch": False,
        },
    },
}
pytestmark = pytest.mark.rehearsal


def queue(instance_type: str, **compute: Any) -> dict[str, Any]:
    return {
        "Name": "train",
        "Networking": {"SubnetIds": [{"Ref": "Net"}]},
        "ComputeResources": [{"Name": "nodes", "InstanceType": instance_type, "MinCount": 0, "MaxCount": 2, **compute}],
    }


def stack(queue: dict[str, Any], **properties: Any) -> dict[str, Any]:
    configuration = {
        "Image": {"Os": "alinux2023"},
        "HeadNode": {"InstanceType": "m5.xlarge", "Networking": {"SubnetId": {"Ref": "Net"}, "ElasticIp": False}},
        "Scheduling": {"Scheduler": "slurm", "SlurmQueues": [queue]},
        "Monitoring": {"Logs": {"CloudWatch": {"RetentionInDays": 30, "DeletionPolicy": "Delete"}}},
    }
    cluster = {
        "ServiceToken": {"Fn::GetAtt": ["Provider", "Outputs.ServiceToken"]},
        "ClusterName": properties.pop("ClusterName", "judged"),
        "ClusterConfiguration": configuration,
        **properties,
    }
    return {
        **NETWORK,
        "Provider": PROVIDER,
        "Cluster": {"Type": "Custom::PclusterCluster", "Properties": cluster},
    }


@pytest.fixture(scope="module")
def region(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEmulator]:
    running = RunningEmulator(tmp_path_factory.mktemp("region"), ["--parallelcluster-python", str(PYTHON)])
    yield running
    running.stop()


def test_refused_configuration_is_explained_in_lines(region: RunningEmulator) -> None:
    wrong = stack(queue("trn1.2xlarge", Efa={"Enabled": True}))
    assert region.create("wrong", wrong) == "ROLLBACK_COMPLETE"
    lines = region.reasons("wrong")["Cluster"].splitlines()
    assert lines[0].endswith("Message returned: Invalid cluster configuration.")
    assert "ERROR EfaValidator: Instance type 'trn1.2xlarge' does not support EFA." in lines


def test_property_that_parallelcluster_does_not_know_fails_as_on_aws(region: RunningEmulator) -> None:
    assert region.create("timeout", stack(queue("trn1.2xlarge"), ServiceTimeout=3600)) == "ROLLBACK_COMPLETE"
    assert "unexpected arguments: {'service_timeout'}" in region.reasons("timeout")["Cluster"]


def test_cluster_is_made_changed_and_deleted(region: RunningEmulator) -> None:
    names = ["clusterName", "headNode.instanceId", "headNode.privateIpAddress", "validationMessages", "clusterStatus"]
    outputs = {name.replace(".", ""): {"Value": {"Fn::GetAtt": ["Cluster", name]}} for name in names}
    cluster = stack(queue("trn1.2xlarge"), ClusterName="made")
    assert region.create("parent", cluster, Outputs=outputs) == "CREATE_COMPLETE"
    found = region.outputs("parent")
    assert (found["clusterName"], found["clusterStatus"]) == ("made", "CREATE_COMPLETE")
    assert found["headNodeprivateIpAddress"].startswith("10.0.1.")
    assert isinstance(json.loads(found["validationMessages"]), list)
    instances = region.client("ec2").describe_instances(InstanceIds=[found["headNodeinstanceId"]])
    assert instances["Reservations"][0]["Instances"][0]["InstanceType"] == "m5.xlarge"

    larger = stack(queue("trn1.2xlarge", MaxCount=3), ClusterName="made")
    assert region.update("parent", larger, Outputs=outputs) == "UPDATE_COMPLETE"
    assert region.stack("made")["StackStatus"] == "UPDATE_COMPLETE"

    assert region.delete("parent") == "DELETE_COMPLETE"
    left = {stack["StackName"] for stack in region.cloudformation.describe_stacks()["Stacks"]}
    assert not left & {"parent", "made"}
    assert region.client("ec2").describe_network_interfaces()["NetworkInterfaces"] == []


def test_head_node_in_a_private_subnet_has_no_public_address(region: RunningEmulator) -> None:
    outputs = {"Address": {"Value": {"Fn::GetAtt": ["Cluster", "headNode.publicIpAddress"]}}}
    status = region.create("public", stack(queue("trn1.2xlarge"), ClusterName="private"), Outputs=outputs)
    assert status == "ROLLBACK_COMPLETE"
    assert "headNode.publicIpAddress" in region.stack("public")["StackStatusReason"]


def test_a_creation_that_fails_leaves_what_the_nodes_logged(region: RunningEmulator) -> None:
    """The failure is another owner's table of the cluster's name; the logs are configured as in every environment."""
    region.client("dynamodb").create_table(
        TableName="parallelcluster-failing",
        KeySchema=[{"AttributeName": "Id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "Id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    failing = stack(queue("trn1.2xlarge"), ClusterName="failing")
    failing["Cluster"]["Properties"]["ClusterConfiguration"]["Monitoring"] = cluster_configuration(PROPS)["Monitoring"]

    assert region.create("failed", failing) == "ROLLBACK_COMPLETE"

    assert "failing" not in {stack["StackName"] for stack in region.cloudformation.describe_stacks()["Stacks"]}
    groups = region.client("logs").describe_log_groups(logGroupNamePrefix="/aws/parallelcluster/failing-")
    assert len(groups["logGroups"]) == 1


def test_version_is_that_of_the_virtual_environment() -> None:
    pinned = (PROJECT / "requirements-parallelcluster.txt").read_text(encoding="utf-8")
    assert f"aws-parallelcluster=={VERSION}\n" in pinned
