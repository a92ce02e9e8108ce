"""How a VPC of the stacks is cut into subnets, and where their routes lead."""

from collections.abc import Mapping
from functools import cached_property

from slipway.review.changes.permissions.security_groups import EVERYBODY
from slipway.review.changes.resources import Resource
from slipway.review.wiring.resources import Resources

SUBNET, TABLE, VPC = "AWS::EC2::Subnet", "AWS::EC2::RouteTable", "AWS::EC2::VPC"


class Routes:
    """The routes of an assembly. A subnet that no template has is unknown, and no rule judges it."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    @cached_property
    def tables(self) -> Mapping[str, Resource]:
        """Route tables by the key of the subnet that they are of."""
        found = {}
        for association in self._resources.of_type("AWS::EC2::SubnetRouteTableAssociation"):
            subnet = self._resources.resource(association.at("SubnetId"), SUBNET)
            table = self._resources.resource(association.at("RouteTableId"), TABLE)
            if subnet and table:
                found[subnet.key] = table
        return found

    def subnet(self, subnet: str) -> Resource | None:
        """Return a subnet that is named by a reference."""
        return self._resources.resource(subnet, SUBNET)

    def gateway(self, subnet: Resource) -> Resource | None:
        """Return the NAT gateway or the internet gateway of a subnet's default route."""
        route = self._default_route(subnet)
        target = (route.at("NatGatewayId") or route.at("GatewayId")) if route else None
        return self._resources.resource(target, "AWS::EC2::NatGateway", "AWS::EC2::InternetGateway")

    def leads_elsewhere(self, subnet: Resource) -> bool:
        """Return whether a subnet's default route leads to what no template has, such as a transit gateway."""
        return self._default_route(subnet) is not None and self.gateway(subnet) is None

    def _default_route(self, subnet: Resource) -> Resource | None:
        table = self.tables.get(subnet.key)
        for route in self._resources.of_type("AWS::EC2::Route"):
            is_of_table = table and self._resources.resource(route.at("RouteTableId"), TABLE) is table
            if is_of_table and route.at("DestinationCidrBlock") == EVERYBODY:
                return route
        return None

    def is_public(self, subnet: Resource) -> bool:
        """Return whether a subnet's default route is an internet gateway that is attached to its VPC."""
        gateway = self.gateway(subnet)
        return bool(gateway) and any(
            self._resources.resource(each.at("InternetGatewayId"), "AWS::EC2::InternetGateway") is gateway
            and each.at("VpcId") == subnet.at("VpcId")
            for each in self._resources.of_type("AWS::EC2::VPCGatewayAttachment")
        )

    def reaches_the_internet(self, subnet: Resource) -> bool:
        """Return whether a machine in a subnet reaches the internet, with the address that it gets there."""
        if self.leads_elsewhere(subnet) or (subnet.at("MapPublicIpOnLaunch") is True and self.is_public(subnet)):
            return True
        gateway = self.gateway(subnet)
        if gateway is None or gateway.type != "AWS::EC2::NatGateway":
            return False
        if gateway.at("ConnectivityType") == "private":
            return False
        behind = self.subnet(str(gateway.at("SubnetId")))
        return behind is None or (self.is_public(behind) and gateway.at("AllocationId") is not None)

    def gateway_endpoints(self, subnet: Resource) -> set[str]:
        """Return the services that a subnet's route table reaches through gateway endpoints, as `s3`."""
        table = self.tables.get(subnet.key)
        return {
            str(endpoint.at("ServiceName")).rpartition(".")[2]
            for endpoint in self._resources.of_type("AWS::EC2::VPCEndpoint")
            for each in endpoint.at("RouteTableIds") or ()
            if table and self._resources.resource(each, TABLE) is table
        }
