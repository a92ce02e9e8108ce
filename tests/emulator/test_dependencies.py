"""What EC2 refuses to delete while something stands in it or uses it, and moto would not."""

from typing import Any

import pytest

from tests.emulator.running import RunningEmulator

VPC = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}
SUBNET = {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.0.1.0/24"}}
GROUP = {"Type": "AWS::EC2::SecurityGroup", "Properties": {"GroupDescription": "g", "VpcId": {"Ref": "Vpc"}}}
NETWORK = {"Vpc": VPC, "Net": SUBNET, "Group": GROUP}
OUTPUTS = {"Net": {"Value": {"Ref": "Net"}}, "Group": {"Value": {"Ref": "Group"}}, "Vpc": {"Value": {"Ref": "Vpc"}}}


def network(emulator: RunningEmulator, name: str, **more: Any) -> dict[str, str]:
    assert emulator.create(name, {**NETWORK, **more}, Outputs=OUTPUTS) == "CREATE_COMPLETE"
    return emulator.outputs(name)


def file_system(ids: dict[str, str]) -> dict[str, Any]:
    properties = {
        "FileSystemType": "LUSTRE",
        "StorageCapacity": 1200,
        "SubnetIds": [ids["Net"]],
        "SecurityGroupIds": [ids["Group"]],
    }
    return {"Type": "AWS::FSx::FileSystem", "Properties": properties}


def endpoint(ids: dict[str, str]) -> dict[str, Any]:
    properties = {
        "VpcEndpointType": "Interface",
        "ServiceName": "com.amazonaws.us-west-2.ecr.api",
        "VpcId": ids["Vpc"],
        "SubnetIds": [ids["Net"]],
        "SecurityGroupIds": [ids["Group"]],
    }
    return {"Type": "AWS::EC2::VPCEndpoint", "Properties": properties}


def interface(ids: dict[str, str]) -> dict[str, Any]:
    return {
        "Type": "AWS::EC2::NetworkInterface",
        "Properties": {"SubnetId": ids["Net"], "GroupSet": [ids["Group"]]},
    }


@pytest.mark.parametrize("occupant", [file_system, endpoint, interface], ids=lambda make: make.__name__)
def test_what_stands_in_a_network_keeps_it(emulator: RunningEmulator, occupant: Any) -> None:
    name = occupant.__name__.replace("_", "-")
    ids = network(emulator, f"under-{name}")
    assert emulator.create(f"standing-{name}", {"It": occupant(ids)}) == "CREATE_COMPLETE"
    assert emulator.delete(f"under-{name}") == "DELETE_FAILED"
    reasons = emulator.reasons(f"under-{name}")
    assert reasons.keys() == {f"under-{name}", "Net", "Group"}
    assert "DependencyViolation" in reasons["Net"]
    assert f"resource {ids['Group']} has a dependent object" in reasons["Group"]
    assert emulator.client("ec2").describe_vpcs(VpcIds=[ids["Vpc"]])["Vpcs"]
    assert emulator.delete(f"standing-{name}") == "DELETE_COMPLETE"
    assert emulator.delete(f"under-{name}") == "DELETE_COMPLETE"


def test_a_retained_file_system_keeps_its_network(emulator: RunningEmulator) -> None:
    ids = network(emulator, "under-retained")
    emulator.create("retaining", {"It": {**file_system(ids), "DeletionPolicy": "Retain"}})
    assert emulator.delete("retaining") == "DELETE_COMPLETE"
    assert emulator.delete("under-retained") == "DELETE_FAILED"


def test_an_instance_keeps_its_subnet_until_it_is_terminated(emulator: RunningEmulator) -> None:
    ids, ec2 = network(emulator, "under-instance"), emulator.client("ec2")
    image = ec2.describe_images(Filters=[{"Name": "name", "Values": ["aws-parallelcluster-*"]}])["Images"][0]["ImageId"]
    answer = ec2.run_instances(
        ImageId=image,
        InstanceType="m5.large",
        SubnetId=ids["Net"],
        SecurityGroupIds=[ids["Group"]],
        MinCount=1,
        MaxCount=1,
    )
    assert emulator.delete("under-instance") == "DELETE_FAILED"
    assert "DependencyViolation" in emulator.reasons("under-instance")["Net"]
    ec2.terminate_instances(InstanceIds=[answer["Instances"][0]["InstanceId"]])
    assert emulator.delete("under-instance") == "DELETE_COMPLETE"


@pytest.mark.parametrize("part", ["security group", "internet gateway"])
def test_a_retained_part_keeps_its_vpc(emulator: RunningEmulator, part: str) -> None:
    gateway = {"Type": "AWS::EC2::InternetGateway", "DeletionPolicy": "Retain"}
    attachment = {
        "Type": "AWS::EC2::VPCGatewayAttachment",
        "DeletionPolicy": "Retain",
        "Properties": {"VpcId": {"Ref": "Vpc"}, "InternetGatewayId": {"Ref": "Gateway"}},
    }
    parts: dict[str, dict[str, Any]] = {
        "security group": {"Group": {**GROUP, "DeletionPolicy": "Retain"}},
        "internet gateway": {"Gateway": gateway, "Attachment": attachment},
    }
    name = f"keeps-{part.replace(' ', '-')}"
    network(emulator, name, **parts[part])
    assert emulator.delete(name) == "DELETE_FAILED"
    assert "DependencyViolation" in emulator.reasons(name)["Vpc"]
