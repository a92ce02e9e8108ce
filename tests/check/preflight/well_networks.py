"""What EC2 says of the VPC of tests/environments/existingvpc.yaml in an account where it fits."""

from collections.abc import Mapping
from typing import Any

_VPC, _RANGE = "vpc-0123456789abcdef0", "10.80.0.0/16"


def _subnet(id_: str, zone_id: str, third: int) -> dict[str, Any]:
    return {
        "SubnetId": id_,
        "VpcId": _VPC,
        "AvailabilityZoneId": zone_id,
        "CidrBlock": f"10.80.{third}.0/20",
        "AvailableIpAddressCount": 4000,
    }


def existing_vpc() -> dict[str, Any]:
    """Return the replies by `service.Operation`; `subnets` and `attributes` are what two of them answer from."""
    subnets = {
        subnet["SubnetId"]: subnet
        for subnet in (
            _subnet("subnet-0aaaaaaaaaaaaaaa4", "usw2-az4", 0),
            _subnet("subnet-0aaaaaaaaaaaaaaa1", "usw2-az1", 16),
            _subnet("subnet-0bbbbbbbbbbbbbbb4", "usw2-az4", 32),
            _subnet("subnet-0bbbbbbbbbbbbbbb1", "usw2-az1", 48),
        )
    }
    attributes = {"enableDnsSupport": True, "enableDnsHostnames": True}

    def described(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        (named,) = (row["Values"] for row in parameters["Filters"] if row["Name"] == "subnet-id")
        return {"Subnets": [subnets[id_] for id_ in named if id_ in subnets]}

    def attribute(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        name = parameters["Attribute"]
        return {"VpcId": _VPC, f"E{name[1:]}": {"Value": attributes[name]}}

    def to_everywhere(gateway: str) -> dict[str, Any]:
        return {"DestinationCidrBlock": "0.0.0.0/0", "State": "active", "GatewayId": gateway}

    endpoint = {"DestinationPrefixListId": "pl-1", "GatewayId": "vpce-1", "State": "active"}
    nat = {"DestinationCidrBlock": "0.0.0.0/0", "State": "active", "NatGatewayId": "nat-1"}
    other = {"RouteTableId": "rtb-other", "Associations": [{"SubnetId": "subnet-0aaaaaaaaaaaaaaa1"}]}
    return {
        "subnets": subnets,
        "attributes": attributes,
        "ec2.DescribeSubnets": described,
        "ec2.DescribeVpcAttribute": attribute,
        "ec2.DescribeVpcs": {
            "Vpcs": [
                {
                    "VpcId": _VPC,
                    "CidrBlock": _RANGE,
                    "CidrBlockAssociationSet": [{"CidrBlock": _RANGE, "CidrBlockState": {"State": "associated"}}],
                }
            ]
        },
        "ec2.DescribeRouteTables": {
            "RouteTables": [
                # The main one: of the subnet that has none of its own.
                {"RouteTableId": "rtb-main", "Associations": [{"Main": True}], "Routes": [nat, endpoint]},
                {
                    "RouteTableId": "rtb-public",
                    "Associations": [{"SubnetId": f"subnet-0bbbbbbbbbbbbbbb{zone}"} for zone in (4, 1)],
                    "Routes": [to_everywhere("igw-1")],
                },
                {**other, "Routes": [to_everywhere("tgw-1"), dict(endpoint)]},
            ]
        },
    }


def replies_of_existing_vpc() -> dict[str, Any]:
    """Return the replies alone."""
    return {name: reply for name, reply in existing_vpc().items() if "." in name}
