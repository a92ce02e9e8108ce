"""The network stack: zones by id, private nodes, closed defaults."""

from ipaddress import IPv4Network

from tests.assembly import Assembly


def test_subnets_name_their_zones_by_id_and_never_by_name(each_assembly: Assembly) -> None:
    network = each_assembly.environment.network
    subnets = each_assembly.resources("network", "AWS::EC2::Subnet").values()
    zone_ids = [subnet["Properties"]["AvailabilityZoneId"] for subnet in subnets]

    assert all("AvailabilityZone" not in subnet["Properties"] for subnet in subnets)
    assert set(zone_ids) == {network.training_availability_zone_id, *network.other_availability_zone_ids}


def test_no_subnet_hands_out_public_addresses(each_assembly: Assembly) -> None:
    for subnet in each_assembly.resources("network", "AWS::EC2::Subnet").values():
        assert subnet["Properties"]["MapPublicIpOnLaunch"] is False


def test_subnets_are_disjoint_and_inside_the_vpc(each_assembly: Assembly) -> None:
    vpc = IPv4Network(each_assembly.environment.network.cidr)
    ranges = [
        IPv4Network(subnet["Properties"]["CidrBlock"])
        for subnet in each_assembly.resources("network", "AWS::EC2::Subnet").values()
    ]

    assert all(subnet.subnet_of(vpc) for subnet in ranges)
    assert not any(a.overlaps(b) for i, a in enumerate(ranges) for b in ranges[i + 1 :])


def test_the_first_nat_gateway_is_in_the_training_zone(default: Assembly) -> None:
    (gateway,) = default.resources("network", "AWS::EC2::NatGateway").values()
    subnet = default.template("network")["Resources"][gateway["Properties"]["SubnetId"]["Ref"]]

    assert subnet["Properties"]["AvailabilityZoneId"] == default.environment.network.training_availability_zone_id


def test_s3_is_reached_without_nat(each_assembly: Assembly) -> None:
    endpoint = each_assembly.resource("network", "AWS::EC2::VPCEndpoint")
    private_zones = 1 + len(each_assembly.environment.network.other_availability_zone_ids)

    assert endpoint["VpcEndpointType"] == "Gateway"
    assert len(endpoint["RouteTableIds"]) >= private_zones


def test_flows_are_logged_and_the_default_security_group_is_emptied(each_assembly: Assembly) -> None:
    assert each_assembly.resource("network", "AWS::EC2::FlowLog")["TrafficType"] == "ALL"
    assert each_assembly.resources("network", "Custom::VpcRestrictDefaultSG")


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


def test_nodes_carry_the_environments_tag(each_slurm_assembly: Assembly) -> None:
    tag = {"Key": "slipway:environment", "Value": each_slurm_assembly.environment.name}
    configuration = each_slurm_assembly.resource("training", "Custom::PclusterCluster")["ClusterConfiguration"]

    assert tag in configuration["Tags"]


def test_values_cross_stacks_without_exports(each_assembly: Assembly) -> None:
    for template in each_assembly.templates().values():
        assert "Fn::ImportValue" not in str(template)
        assert not any("Export" in output for output in template.get("Outputs", {}).values())
