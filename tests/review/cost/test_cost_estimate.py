"""The estimate: every resource counted, nothing unknown taken for free, sums that are the sums of their lines."""

import copy
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slipway import catalogue
from slipway.assembly.stacks import CLUSTER_TYPE, Stack, read_stacks
from slipway.review.cost.estimate import estimate
from slipway.review.cost.hosts import MACHINES
from slipway.review.cost.merged import merged
from slipway.review.cost.model import HOURS_PER_MONTH, Cost, CostLine
from slipway.review.cost.resources import MEASURED
from tests.assembly import Assembly
from tests.conftest import AssemblyFactory


def cost_of(assembly: Assembly) -> Cost:
    """The cost of an assembly."""
    return estimate(read_stacks(assembly.directory))


def idle(assembly: Assembly) -> dict[str, float]:
    """What exists in an assembly while it is idle, by the name of its price."""
    found: dict[str, float] = defaultdict(float)
    for line in cost_of(assembly).lines:
        if line.item and line.billing == "priced" and line.idle_quantity:
            found[line.item] += line.idle_quantity
    return dict(found)


def alone(resource_type: str, properties: dict[str, Any], region: str = "us-west-2") -> Cost:
    """The cost of one resource in a stack of its own."""
    template = {"Resources": {"It": {"Type": resource_type, "Properties": properties}}}
    return estimate((Stack("alone", region, template, {}, termination_protection=False),))


def with_queue(stacks: tuple[Stack, ...], **changes: int | str) -> tuple[Stack, ...]:
    """The same stacks with another first compute resource."""
    changed = []
    for stack in stacks:
        template = copy.deepcopy(stack.template)
        for resource in template["Resources"].values():
            if resource["Type"] == CLUSTER_TYPE:
                queue = resource["Properties"]["ClusterConfiguration"]["Scheduling"]["SlurmQueues"][0]
                queue["ComputeResources"][0] |= changes
        changed.append(replace(stack, template=template))
    return tuple(changed)


def test_every_type_of_every_environment_has_a_row(each_assembly: Assembly) -> None:
    types = {each["Type"] for template in each_assembly.templates().values() for each in template["Resources"].values()}

    assert types <= catalogue.billings().keys()


def test_what_is_measured_has_somebody_who_measures_it() -> None:
    measured = {name for name, billing in catalogue.billings().items() if billing.measured}

    assert measured == MEASURED.keys() | MACHINES.keys()


def test_every_resource_is_a_line_or_free(each_assembly: Assembly) -> None:
    cost = cost_of(each_assembly)
    lines = {(line.stack, line.logical_id) for line in cost.lines}
    resources = sum(len(template["Resources"]) for template in each_assembly.templates().values())

    assert len(lines) + sum(cost.free_types.values()) == resources
    assert all(line.note for line in cost.unknown)


def test_sums_are_the_sums_of_lines(each_assembly: Assembly) -> None:
    cost = cost_of(each_assembly)

    for line in cost.lines:
        if line.billing != "priced":
            assert (line.idle_usd_per_hour, line.peak_usd_per_hour) == (None, None)
            continue
        assert line.unit_usd is not None
        hours = 1 if line.unit == "hour" else HOURS_PER_MONTH
        assert line.idle_usd_per_hour == pytest.approx(line.idle_quantity * line.unit_usd / hours)
        assert line.peak_usd_per_hour == pytest.approx(line.peak_quantity * line.unit_usd / hours)
        assert line.peak_quantity >= line.idle_quantity
    together = merged(cost.lines)
    assert sum(line.idle_usd_per_hour or 0 for line in together) == pytest.approx(cost.idle_usd_per_hour)
    assert sum(line.peak_usd_per_hour or 0 for line in together) == pytest.approx(cost.peak_usd_per_hour)
    assert len({(line.billing, line.what, line.note) for line in together}) == len(together)


def test_the_default_environment(default: Assembly) -> None:
    assert idle(default) == {
        "nat_gateway_hour": 1,
        "public_ipv4_hour": 1,
        "lustre_persistent_2_250_gb_month": 4800,
        "m6i.2xlarge": 1,
        # Head node, /home, /apps, inference host.
        "gp3_gb_month": 500 + 100 + 200 + 100,
        "inf2.8xlarge": 1,
        "load_balancer_hour": 1,
        "hosted_zone_month": 1,
        "kms_key_month": 1,
        # Our own, five of which are on two metrics, and those of ParallelCluster.
        "cloudwatch_alarm_metric_month": 37 + 5 + 5,
        "cloudwatch_composite_alarm_month": 1,
        "cloudwatch_dashboard_month": 2,
    }


def test_a_team_also_pays_home_accounting_and_login_nodes(team: Assembly) -> None:
    found = idle(team)

    assert found["m6i.xlarge"] == 2
    assert found["load_balancer_hour"] == 1
    assert (found["open_zfs_single_az_1_gb_month"], found["open_zfs_single_az_1_mbps_month"]) == (512, 256)
    assert (found["db.t4g.medium"], found["rds_gp3_gb_month"], found["secret_month"]) == (1, 20, 1)
    assert found["gp3_gb_month"] == 500 + 200 + 2 * 45
    assert any(line.what == "backups of file systems" for line in cost_of(team).lines)


def test_a_file_system_without_backups_has_no_line_for_them(directory: Assembly) -> None:
    assert not any(line.what == "backups of file systems" for line in cost_of(directory).lines)


def test_a_standby_doubles_the_database(directory: Assembly) -> None:
    assert (idle(directory)["db.m5.large"], idle(directory)["rds_gp3_gb_month"]) == (2, 200)


def test_a_public_endpoint_pays_its_addresses_its_firewall_and_stopped_hosts(public: Assembly) -> None:
    lines = {line.what: line for line in merged(cost_of(public).lines)}

    assert lines["public IPv4 addresses of the load balancer"].idle_quantity == 3
    assert lines["rules of the web application firewall"].idle_quantity == 5
    assert lines["volumes of stopped inference hosts of tanuki-8b, 300 GiB gp3 each"].idle_quantity == 300


def test_a_fast_copy_of_a_model_pays_what_its_volume_has_beyond_the_base(public: Assembly) -> None:
    lines = {line.what: line for line in cost_of(public).lines}
    hosts = lines["inference hosts of tanuki-8b, inf2.24xlarge"]
    throughput = lines["volumes of inference hosts of tanuki-8b, 875 MiB/s beyond the base each"]
    iops = lines["volumes of inference hosts of tanuki-8b, 1000 IOPS beyond the base each"]

    # 1,000 MiB/s and 4,000 IOPS, of which every volume has 125 and 3,000 for nothing.
    assert throughput.peak_usd_per_hour == pytest.approx(hosts.peak_quantity * 875 * 0.04 / HOURS_PER_MONTH)
    assert iops.idle_usd_per_hour == pytest.approx(hosts.idle_quantity * 1000 * 0.005 / HOURS_PER_MONTH)
    assert lines["volumes of stopped inference hosts of tanuki-8b, 875 MiB/s beyond the base each"].idle_quantity == 875


def test_clients_that_are_machines_bill_by_the_month(machines: Assembly) -> None:
    assert idle(machines)["cognito_machine_client_month"] == 1
    people = alone("AWS::Cognito::UserPoolClient", {"AllowedOAuthFlows": ["code"]})
    assert (people.lines, people.free_types) == ((), {"AWS::Cognito::UserPoolClient": 1})


def test_kubernetes_pays_its_control_plane_keys_and_core_nodes(assemblies: AssemblyFactory) -> None:
    found = idle(assemblies("kubernetes"))

    assert (found["eks_cluster_hour"], found["m6i.xlarge"], found["kms_key_month"]) == (1, 2, 2)
    assert found["gp3_gb_month"] == 200
    assert "trn1.32xlarge" not in found


def line_of(assembly: Assembly, start: str) -> CostLine:
    """The only line of an assembly whose words begin so."""
    found = [line for line in cost_of(assembly).lines if line.what.startswith(start)]
    assert len(found) == 1, found
    return found[0]


def test_spot_counts_at_the_price_on_demand(team: Assembly) -> None:
    line = line_of(team, "queue spot, trn1-32xl")

    assert line.peak_usd_per_hour == pytest.approx(8 * 21.50)
    assert line.note is not None
    assert "Spot" in line.note


def test_a_capacity_block_is_named_without_a_price(ultracluster: Assembly) -> None:
    line = line_of(ultracluster, "queue block")

    assert (line.billing, line.idle_quantity, line.peak_quantity) == ("unknown", 16, 16)
    assert line.note == "paid when the Capacity Block is bought, at the price of the offer"
    assert line_of(ultracluster, "volumes of queue block").idle_usd_per_hour


def test_a_cpu_type_without_facts_is_unpriced(default: Assembly) -> None:
    before = estimate(read_stacks(default.directory))
    cost = estimate(with_queue(read_stacks(default.directory), InstanceType="m7i.8xlarge"))
    [line] = [line for line in cost.unknown if "m7i.8xlarge" in line.what]

    assert (line.idle_usd_per_hour, line.peak_usd_per_hour, line.peak_quantity) == (None, None, 4)
    assert line.note == "unpriced: Slipway has no price of m7i.8xlarge"
    assert cost.peak_usd_per_hour == pytest.approx(before.peak_usd_per_hour - 4 * 21.50)


def test_a_reservation_bills_whether_nodes_run_or_not(ultracluster: Assembly) -> None:
    line = line_of(ultracluster, "queue reserved")

    assert (line.billing, line.idle_quantity, line.peak_quantity) == ("priced", 0, 1603)
    assert line.note is not None
    assert "whether nodes run or not" in line.note


def test_a_type_without_a_list_price_is_unknown(directory: Assembly) -> None:
    line = line_of(directory, "queue reserved")

    assert line.billing == "unknown"
    assert line.note == "no on-demand price is published; sold in Capacity Blocks at changing prices"


def test_a_type_without_a_row_is_unknown() -> None:
    cost = alone("AWS::Brand::New", {})

    assert [(line.what, line.billing) for line in cost.unknown] == [("AWS::Brand::New", "unknown")]
    assert cost.free_types == {}


@pytest.mark.parametrize(
    ("resource_type", "properties"),
    [
        ("AWS::EC2::NatGateway", {}),
        ("AWS::RDS::DBInstance", {"MultiAZ": False, "DBInstanceClass": "db.brand.new", "AllocatedStorage": "20"}),
    ],
)
def test_what_has_no_price_in_a_region_is_unknown(resource_type: str, properties: dict[str, Any]) -> None:
    cost = alone(resource_type, properties, region="eu-north-1")

    assert cost.unknown
    assert (cost.idle_usd_per_hour, cost.prices_as_of) == (0.0, None)


@pytest.mark.parametrize(
    ("resource_type", "properties"),
    [
        ("AWS::FSx::FileSystem", {"StorageCapacity": 1200, "LustreConfiguration": {"DeploymentType": "SCRATCH_2"}}),
        ("AWS::FSx::FileSystem", {"StorageCapacity": 1200, "WindowsConfiguration": {"ThroughputCapacity": 8}}),
        ("AWS::RDS::DBInstance", {"DBInstanceClass": "db.t4g.micro"}),
        ("AWS::EC2::VPCEndpoint", {"VpcEndpointType": "Interface"}),
        ("AWS::AutoScaling::AutoScalingGroup", {"MinSize": "2", "MaxSize": "3", "LaunchTemplate": {}}),
        ("AWS::AutoScaling::WarmPool", {"AutoScalingGroupName": {"Ref": "Hosts"}, "MinSize": 2}),
        ("AWS::EKS::Nodegroup", {"InstanceTypes": ["m6i.large", "m5.large"], "ScalingConfig": {"MinSize": 2}}),
    ],
)
def test_a_resource_that_says_less_than_slipways_is_unknown(resource_type: str, properties: dict[str, Any]) -> None:
    [line] = alone(resource_type, properties).unknown

    assert line.what == resource_type
    assert line.note is not None
    assert line.note.startswith("its template does not say how much it bills: ")


def test_a_load_balancer_that_says_nothing_faces_the_internet() -> None:
    found = alone("AWS::ElasticLoadBalancingV2::LoadBalancer", {"Subnets": ["one", "other"]})

    assert {line.item: line.idle_quantity for line in found.lines if line.billing == "priced"} == {
        "load_balancer_hour": 1,
        "public_ipv4_hour": 2,
    }


def test_a_nested_stack_is_known_only_when_it_is_the_clusters_provider() -> None:
    provider = "https://bucket/parallelcluster/3.16.1/templates/custom_resource/cluster.yaml"

    assert not alone("AWS::CloudFormation::Stack", {"TemplateURL": provider}).unknown
    assert alone("AWS::CloudFormation::Stack", {"TemplateURL": "https://bucket/other.json"}).unknown


def test_an_endpoint_bills_in_each_zone_unless_it_is_a_gateway() -> None:
    interface = alone("AWS::EC2::VPCEndpoint", {"VpcEndpointType": "Interface", "SubnetIds": ["a", "b"]})

    assert interface.idle_usd_per_hour == pytest.approx(0.02)
    assert [line.item for line in interface.lines if line.billing == "by_use"] == ["interface_endpoint_gb"]
    assert not alone("AWS::EC2::VPCEndpoint", {"VpcEndpointType": "Gateway"}).lines


@settings(max_examples=50)
@given(fewer=st.integers(0, 500), more=st.integers(0, 500))
def test_more_nodes_are_never_cheaper(default: Assembly, fewer: int, more: int) -> None:
    stacks = read_stacks(default.directory)
    small, large = (
        estimate(with_queue(stacks, MinCount=min(count, 100), MaxCount=max(count, 100)))
        for count in (fewer, fewer + more)
    )

    assert large.idle_usd_per_hour >= small.idle_usd_per_hour
    assert large.peak_usd_per_hour >= small.peak_usd_per_hour


def test_it_needs_neither_the_cdk_nor_boto3() -> None:
    imported = "{'aws_cdk', 'boto3', 'botocore'} & sys.modules.keys()"
    code = f"import sys, slipway.review.cost.estimate; sys.exit(bool({imported}))"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
