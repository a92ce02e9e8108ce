"""The network stack: zones by id, private nodes, closed defaults."""

import json
from ipaddress import IPv4Network
from typing import Any

import pytest

from slipway.assembly.existing import existing_in
from slipway.assembly.instances import instance_groups
from slipway.assembly.stacks import read_stacks
from slipway.review.report.architecture.read import read_architecture
from tests.assembly import ENVIRONMENT_FILES, Assembly
from tests.conftest import AssemblyFactory

OWN_VPC = [name for name, path in ENVIRONMENT_FILES.items() if "\n  existing:" not in path.read_text(encoding="utf-8")]


@pytest.fixture(params=OWN_VPC)
def own_vpc(request: pytest.FixtureRequest, assemblies: AssemblyFactory) -> Assembly:
    """Each environment that makes its VPC."""
    return assemblies(request.param)


@pytest.fixture
def isolated(assemblies: AssemblyFactory) -> Assembly:
    """An environment without NAT."""
    return assemblies("isolated")


def test_subnets_name_their_zones_by_id_and_never_by_name(own_vpc: Assembly) -> None:
    network = own_vpc.environment.network
    subnets = own_vpc.resources("network", "AWS::EC2::Subnet").values()
    zone_ids = [subnet["Properties"]["AvailabilityZoneId"] for subnet in subnets]

    assert all("AvailabilityZone" not in subnet["Properties"] for subnet in subnets)
    assert set(zone_ids) == {network.training_availability_zone_id, *network.other_availability_zone_ids}


def test_no_subnet_hands_out_public_addresses(own_vpc: Assembly) -> None:
    for subnet in own_vpc.resources("network", "AWS::EC2::Subnet").values():
        assert subnet["Properties"]["MapPublicIpOnLaunch"] is False


def test_subnets_are_disjoint_and_inside_the_vpc(own_vpc: Assembly) -> None:
    vpc = IPv4Network(own_vpc.environment.network.cidr)
    ranges = [
        IPv4Network(subnet["Properties"]["CidrBlock"])
        for subnet in own_vpc.resources("network", "AWS::EC2::Subnet").values()
    ]

    assert all(subnet.subnet_of(vpc) for subnet in ranges)
    assert not any(a.overlaps(b) for i, a in enumerate(ranges) for b in ranges[i + 1 :])


def test_the_first_nat_gateway_is_in_the_training_zone(default: Assembly) -> None:
    (gateway,) = default.resources("network", "AWS::EC2::NatGateway").values()
    subnet = default.template("network")["Resources"][gateway["Properties"]["SubnetId"]["Ref"]]

    assert subnet["Properties"]["AvailabilityZoneId"] == default.environment.network.training_availability_zone_id


def endpoints(assembly: Assembly, kind: str) -> dict[str, dict[str, Any]]:
    """The VPC endpoints of a kind, by service."""
    found = [row["Properties"] for row in assembly.resources("network", "AWS::EC2::VPCEndpoint").values()]
    return {service_of(row): row for row in found if row["VpcEndpointType"] == kind}


def service_of(endpoint: dict[str, Any]) -> str:
    """What follows the Region in the name of an endpoint's service."""
    name: Any = endpoint["ServiceName"]
    if isinstance(name, str):
        return name.removeprefix("com.amazonaws.us-west-2.")
    last: str = name["Fn::Join"][1][-1]
    return last.lstrip(".")


def test_s3_is_reached_without_nat(own_vpc: Assembly) -> None:
    endpoint = endpoints(own_vpc, "Gateway")["s3"]
    private_zones = 1 + len(own_vpc.environment.network.other_availability_zone_ids)

    assert len(endpoint["RouteTableIds"]) >= private_zones


def test_flows_are_logged_and_the_default_security_group_is_emptied(own_vpc: Assembly) -> None:
    assert own_vpc.resource("network", "AWS::EC2::FlowLog")["TrafficType"] == "ALL"
    assert own_vpc.resources("network", "Custom::VpcRestrictDefaultSG")


def test_every_bucket_is_private_encrypted_versioned_and_tls_only(each_assembly: Assembly) -> None:
    for template in each_assembly.templates().values():
        policies = [r["Properties"] for r in template["Resources"].values() if r["Type"] == "AWS::S3::BucketPolicy"]
        for logical_id, resource in template["Resources"].items():
            if resource["Type"] != "AWS::S3::Bucket":
                continue
            bucket = resource["Properties"]
            assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
            assert bucket["BucketEncryption"]
            assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
            (policy,) = [p for p in policies if p["Bucket"] == {"Ref": logical_id}]
            denied = [s["Condition"] for s in policy["PolicyDocument"]["Statement"] if s["Effect"] == "Deny"]
            assert {"Bool": {"aws:SecureTransport": "false"}} in denied
            assert "BucketName" not in bucket


def test_an_isolated_vpc_leads_nowhere(isolated: Assembly) -> None:
    types = {resource["Type"] for resource in isolated.template("network")["Resources"].values()}
    routes = isolated.resources("network", "AWS::EC2::Route")

    assert not routes
    assert not types & {"AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", "AWS::EC2::EIP"}


def test_an_isolated_vpc_has_an_endpoint_for_each_service_where_it_is_asked_from(isolated: Assembly) -> None:
    """Nodes are in the training zone, hosts of the endpoint in both; a subnet with an endpoint bills by the hour."""
    template = isolated.template("network")["Resources"]
    zones = {
        service: {template[subnet["Ref"]]["Properties"]["AvailabilityZoneId"] for subnet in endpoint["SubnetIds"]}
        for service, endpoint in endpoints(isolated, "Interface").items()
    }
    both, training = {"usw2-az4", "usw2-az1"}, {"usw2-az4"}

    assert set(endpoints(isolated, "Gateway")) == {"s3", "dynamodb"}
    assert {service for service, where in zones.items() if where == training} == {
        "cloudformation",
        "elasticloadbalancing",
    }
    assert {service for service, where in zones.items() if where == both} == {
        "autoscaling",
        "ec2",
        "ecr.api",
        "ecr.dkr",
        "ecs",
        "ecs-agent",
        "ecs-telemetry",
        "logs",
        "monitoring",
        "secretsmanager",
        "ssm",
        "ssmmessages",
    }


def test_endpoints_answer_to_the_services_names_and_let_in_the_vpc_alone(isolated: Assembly) -> None:
    (group,) = isolated.resources("network", "AWS::EC2::SecurityGroup").values()
    (rule,) = group["Properties"]["SecurityGroupIngress"]

    assert all(endpoint["PrivateDnsEnabled"] for endpoint in endpoints(isolated, "Interface").values())
    assert (rule["CidrIp"], rule["FromPort"], rule["ToPort"]) == ("10.40.0.0/16", 443, 443)
    assert [row["CidrIp"] for row in group["Properties"]["SecurityGroupEgress"]] == ["255.255.255.255/32"]


def test_nodes_of_an_isolated_cluster_have_no_names_in_route_53(isolated: Assembly) -> None:
    cluster = isolated.resource("training", "Custom::PclusterCluster")["ClusterConfiguration"]

    assert cluster["Scheduling"]["SlurmSettings"]["Dns"] == {"DisableManagedDns": True, "UseEc2Hostnames": True}


def test_an_isolated_environment_bakes_no_image(isolated: Assembly) -> None:
    assert not [name for name in isolated.template("training")["Outputs"] if name.startswith("BakeImage")]


def test_hosts_of_an_isolated_environment_pull_from_the_accounts_own_registry(isolated: Assembly) -> None:
    definitions = isolated.resources("inference", "AWS::ECS::TaskDefinition").values()
    images = [container["Image"] for one in definitions for container in one["Properties"]["ContainerDefinitions"]]
    commands = [name for name in isolated.template("inference")["Outputs"] if "Mirror" in name]

    assert len(images) >= 5
    assert all("MirrorRepository" in json.dumps(image) for image in images)
    assert sorted(commands) == [
        "MirrorDetectorCommand",
        "MirrorProxyCommand",
        "MirrorRecoveryCommand",
        "Tanuki8bMirrorCommand",
    ]


def test_the_private_subnets_of_an_isolated_vpc_have_the_ranges_that_they_have_with_nat(
    isolated: Assembly, default: Assembly
) -> None:
    """So an environment can lose its NAT gateway without new subnets."""
    ranges, with_nat = (
        [row["Properties"]["CidrBlock"] for row in one.resources("network", "AWS::EC2::Subnet").values()]
        for one in (isolated, default)
    )

    assert set(ranges) <= set(with_nat)


def test_nodes_carry_the_environments_tag(each_slurm_assembly: Assembly) -> None:
    tag = {"Key": "slipway:environment", "Value": each_slurm_assembly.environment.name}
    configuration = each_slurm_assembly.resource("training", "Custom::PclusterCluster")["ClusterConfiguration"]

    assert tag in configuration["Tags"]


def test_values_cross_stacks_without_exports(each_assembly: Assembly) -> None:
    for template in each_assembly.templates().values():
        assert "Fn::ImportValue" not in str(template)
        assert not any("Export" in output for output in template.get("Outputs", {}).values())


def test_an_existing_vpc_gets_no_resource_and_loses_none(assemblies: AssemblyFactory) -> None:
    """A template without a resource of the VPC cannot change or delete it; security groups are our own."""
    assembly = assemblies("existingvpc")
    types = {resource["Type"] for one in assembly.templates().values() for resource in one["Resources"].values()}

    assert {name for name in types if name.startswith("AWS::EC2::")} == {
        "AWS::EC2::LaunchTemplate",
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupEgress",
        "AWS::EC2::SecurityGroupIngress",
    }
    assert "Custom::VpcRestrictDefaultSG" not in types
    assert {
        group["Properties"]["VpcId"]
        for one in assembly.templates().values()
        for group in one["Resources"].values()
        if group["Type"] == "AWS::EC2::SecurityGroup"
    } == {"vpc-0123456789abcdef0"}


def test_everything_is_in_the_subnets_of_the_existing_vpc(assemblies: AssemblyFactory) -> None:
    assembly = assemblies("existingvpc")
    private = ["subnet-0aaaaaaaaaaaaaaa4", "subnet-0aaaaaaaaaaaaaaa1"]
    cluster = assembly.resource("training", "Custom::PclusterCluster")["ClusterConfiguration"]
    balancer = assembly.resource("inference", "AWS::ElasticLoadBalancingV2::LoadBalancer")
    hosts = assembly.resources("inference", "AWS::AutoScaling::AutoScalingGroup").values()

    assert cluster["HeadNode"]["Networking"]["SubnetId"] == private[0]
    assert assembly.resource("storage", "AWS::RDS::DBSubnetGroup")["SubnetIds"] == private
    assert balancer["Subnets"] == ["subnet-0bbbbbbbbbbbbbbb4", "subnet-0bbbbbbbbbbbbbbb1"]
    assert assembly.resource("kubernetes", "AWS::EKS::Cluster")["ResourcesVpcConfig"]["SubnetIds"] == private
    assert {subnet for group in hosts for subnet in group["Properties"]["VPCZoneIdentifier"]} <= set(private)


def test_the_tools_read_of_an_existing_vpc_what_its_templates_lack(assemblies: AssemblyFactory) -> None:
    stacks = read_stacks(assemblies("existingvpc").directory)
    architecture = read_architecture(stacks)
    queue = next(part for part in architecture.parts if part.kind == "queue")

    assert {str(row) for row in existing_in(stacks)} >= {
        "VPC vpc-0123456789abcdef0 (the network)",
        "subnet subnet-0aaaaaaaaaaaaaaa4 (private, usw2-az4)",
    }
    assert all(group.availability_zone_ids for group in instance_groups(stacks))
    assert architecture.network == "Existing VPC 10.80.0.0/16"
    assert queue.subnets == ("subnet-0aaaaaaaaaaaaaaa4",)
