"""PF07, PF08 and PF24."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from slipway import facts
from slipway.check.preflight.counted_quotas import counted_quotas
from tests.check.preflight.aws import Aws
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.handmade import handmade, resources_of_stack, standing_stack
from tests.check.preflight.well import limits

NETWORK = {"vpcs": 5, "internet_gateways": 5, "elastic_ips": 5, "nat_gateways": 5, "network_interfaces": 5000}


def vpcs(count: int) -> Mapping[str, Any]:
    """Answer of ec2.DescribeVpcs."""
    return {"Vpcs": [{"VpcId": f"vpc-{number}"} for number in range(count)]}


def test_an_account_with_room_for_the_network_passes(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies |= {"service-quotas.GetServiceQuota": limits(NETWORK), "ec2.DescribeVpcs": vpcs(4)}
    answers = ask("PF07", needs_of("default"), aws)
    assert {answer.status for answer in answers} == {"passed"}
    messages = {answer.subject: answer.message for answer in answers}
    assert messages["VPCs per Region in us-west-2"] == "needed 1, used by others now 4, limit 5: fits"
    assert "NAT gateways per Availability Zone, usw2-az4" in messages


def test_a_full_account_fails_with_the_command(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies |= {"service-quotas.GetServiceQuota": limits(NETWORK), "ec2.DescribeVpcs": vpcs(5)}
    (failed,) = [answer for answer in ask("PF07", needs_of("default"), aws) if answer.status == "failed"]
    assert failed.message == "needed 1, used by others now 5, limit 5: 1 lacking"
    assert failed.fix == (
        "aws service-quotas request-service-quota-increase --service-code vpc --quota-code L-F678F1CE "
        "--desired-value 6 --region us-west-2"
    )


@pytest.mark.parametrize(("owner", "status"), [("default", "passed"), ("another", "failed")])
def test_an_update_needs_no_second_vpc(owner: str, status: str, aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies |= {
        "service-quotas.GetServiceQuota": limits(NETWORK),
        "ec2.DescribeVpcs": vpcs(5),
        "cloudformation.DescribeStacks": standing_stack("slipway-default-network", environment=owner),
        "cloudformation.ListStackResources": resources_of_stack({"vpc-4": "AWS::EC2::VPC"}),
    }
    answers = {answer.subject: answer for answer in ask("PF07", needs_of("default"), aws)}
    assert answers["VPCs per Region in us-west-2"].status == status


def test_nat_gateways_are_counted_zone_by_zone(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    gateways = [{"NatGatewayId": f"nat-{number}", "SubnetId": "subnet-1", "State": "available"} for number in range(5)]
    gone = {"NatGatewayId": "nat-9", "SubnetId": "subnet-1", "State": "deleted"}
    aws.replies |= {
        "service-quotas.GetServiceQuota": limits(NETWORK),
        "ec2.DescribeNatGateways": {"NatGateways": [*gateways, gone]},
        "ec2.DescribeSubnets": {"Subnets": [{"SubnetId": "subnet-1", "AvailabilityZoneId": "usw2-az4"}]},
    }
    answers = {answer.subject: answer for answer in ask("PF07", needs_of("team"), aws)}
    full = answers["NAT gateways per Availability Zone, usw2-az4"]
    assert (full.status, full.message) == ("failed", "needed 1, used by others now 5, limit 5: 1 lacking")
    assert answers["NAT gateways per Availability Zone, usw2-az1"].status == "passed"


def test_too_few_interfaces_for_all_nodes_warn(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["service-quotas.GetServiceQuota"] = limits(NETWORK)
    answers = {answer.subject: answer for answer in ask("PF07", needs_of("ultracluster"), aws)}
    interfaces = answers["Network interfaces per Region, us-west-2"]
    assert interfaces.status == "warning"
    assert (interfaces.fix or "").startswith("aws service-quotas request-service-quota-increase --service-code vpc")


def test_interfaces_of_our_own_nodes_count_once(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    tags = [{"Key": "parallelcluster:cluster-name", "Value": "trainium"}]
    node = {"InstanceId": "i-1", "InstanceType": "trn1.32xlarge", "Tags": tags}
    interfaces = [{"Attachment": {"InstanceId": name}} for name in ["i-1"] * 8 + ["i-2"]]
    aws.replies |= {
        "service-quotas.GetServiceQuota": limits(NETWORK),
        "ec2.DescribeInstances": {"Reservations": [{"Instances": [node]}]},
        "ec2.DescribeNetworkInterfaces": {"NetworkInterfaces": [*interfaces, {"Status": "available"}]},
    }
    answers = {answer.subject: answer for answer in ask("PF07", needs_of("default"), aws)}
    assert "used by others now 2, " in answers["Network interfaces per Region, us-west-2"].message


def lustre(identifier: str, gib: int, kind: str = "PERSISTENT_2") -> dict[str, Any]:
    """A file system as FSx lists it."""
    return {
        "FileSystemId": identifier,
        "FileSystemType": "LUSTRE",
        "StorageCapacity": gib,
        "LustreConfiguration": {"DeploymentType": kind},
    }


def test_file_systems_that_fit_pass(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["fsx.DescribeFileSystems"] = {
        "FileSystems": [lustre("fs-0000000001", 1200), lustre("fs-0000000002", 9600, "SCRATCH_2")]
    }
    answers = {answer.subject: answer for answer in ask("PF08", needs_of("team"), aws)}
    assert {answer.status for answer in answers.values()} == {"passed"}
    capacity = answers["Lustre Persistent_2 SSD storage capacity in us-west-2"]
    assert capacity.message.startswith("needed 9,600 GiB, used by others now 1,200 GiB")
    assert "OpenZFS throughput capacity in us-west-2" in answers


def test_too_little_capacity_fails(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies |= {
        "fsx.DescribeFileSystems": {"FileSystems": [lustre("fs-0000000001", 98_400)]},
        "service-quotas.GetServiceQuota": limits({"lustre_persistent_2_capacity": 100_800}),
    }
    (failed,) = [answer for answer in ask("PF08", needs_of("default"), aws) if answer.status == "failed"]
    assert failed.message == "needed 4,800 GiB, used by others now 98,400 GiB, limit 100,800 GiB: 2,400 GiB lacking"
    assert "--quota-code L-8F1B9C74 --desired-value 103200" in (failed.fix or "")


def test_a_file_system_of_ours_that_grows_counts_once(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies |= {
        "fsx.DescribeFileSystems": {"FileSystems": [lustre("fs-0000000001", 2400)]},
        "service-quotas.GetServiceQuota": limits({"lustre_persistent_2_capacity": 4800}),
        "cloudformation.DescribeStacks": standing_stack("slipway-default-storage", environment="default"),
        "cloudformation.ListStackResources": resources_of_stack({"fs-0000000001": "AWS::FSx::FileSystem"}),
    }
    assert {answer.status for answer in ask("PF08", needs_of("default"), aws)} == {"passed"}


def test_file_systems_without_a_capacity_of_their_own_are_no_ssd(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    tiered = {
        "FileSystemId": "fs-0000000001",
        "StorageType": "INTELLIGENT_TIERING",
        "LustreConfiguration": {"DeploymentType": "PERSISTENT_2"},
    }
    open_zfs = {
        "FileSystemId": "fs-0000000002",
        "StorageType": "INTELLIGENT_TIERING",
        "OpenZFSConfiguration": {"DeploymentType": "MULTI_AZ_1", "ThroughputCapacity": 320},
    }
    aws.replies["fsx.DescribeFileSystems"] = {"FileSystems": [tiered, open_zfs]}
    said = {answer.subject: answer.message for answer in ask("PF08", needs_of("team"), aws)}
    assert "used by others now 0 GiB" in said["Lustre Persistent_2 SSD storage capacity in us-west-2"]
    assert "used by others now 0, " in said["Lustre Persistent_2 SSD file systems in us-west-2"]
    assert "used by others now 0 GiB" in said["OpenZFS SSD storage capacity in us-west-2"]
    assert "used by others now 320 MB/s" in said["OpenZFS throughput capacity in us-west-2"]


def test_a_limit_that_service_quotas_has_no_value_for_is_not_checked(
    aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    reason = {"ErrorCode": "DEPENDENCY_THROTTLING_ERROR", "ErrorMessage": "the service is busy"}
    aws.replies["service-quotas.GetServiceQuota"] = {"Quota": {"ErrorReason": reason}}
    answers = ask("PF08", needs_of("default"), aws)
    assert {answer.status for answer in answers} == {"not_checked"}
    assert "the service is busy" in answers[0].message


SERVICES = {
    "default": ("load_balancers", "slipway-default-inference"),
    "kubernetes": ("eks_clusters", "slipway-kubernetes-kubernetes"),
    "team": ("database_instances", "slipway-team-storage"),
}


@pytest.mark.parametrize("environment", SERVICES)
@pytest.mark.parametrize(("allowed", "status"), [(1, "passed"), (0, "failed")])
def test_services_are_counted(  # noqa: PLR0917 - pytest's parameters
    allowed: int, status: str, environment: str, aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    key, stack = SERVICES[environment]
    aws.replies["service-quotas.GetServiceQuota"] = limits({key: allowed})
    (answer,) = ask("PF24", needs_of(environment), aws)
    assert (answer.status, answer.stacks) == (status, (stack,))
    assert answer.subject == f"{facts.quota(key).name} in us-west-2"


def test_a_network_load_balancer_is_no_application_load_balancer(aws: Aws, ask: Ask, tmp_path: Path) -> None:
    balancer = {"Type": "AWS::ElasticLoadBalancingV2::LoadBalancer", "Properties": {"Type": "network"}}
    assert ask("PF24", handmade(tmp_path, {"Balancer": balancer}), aws) == []


def test_each_row_names_a_quota_of_the_facts() -> None:
    for row in counted_quotas():
        assert facts.quota(row.quota).unit in ("count", "GiB", "MB/s")
