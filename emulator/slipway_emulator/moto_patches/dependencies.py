"""EC2: what cannot be deleted while something stands in it or uses it."""

from typing import Any

from moto.ec2.exceptions import DependencyViolationError
from moto.ec2.models.security_groups import SecurityGroupBackend
from moto.ec2.models.subnets import SubnetBackend
from moto.ec2.models.vpcs import VPCBackend, VPCEndPoint

from slipway_emulator.moto_patches.patch import MotoPatch


def _keep_occupied_subnets() -> None:
    delete = SubnetBackend.delete_subnet

    def delete_subnet(self: Any, subnet_id: str) -> Any:
        if any(interface.subnet.id == subnet_id for interface in self.enis.values()):
            raise DependencyViolationError(f"The subnet '{subnet_id}' has dependencies and cannot be deleted.")
        return delete(self, subnet_id)

    setattr(SubnetBackend, delete.__name__, delete_subnet)


def _keep_used_security_groups() -> None:
    # The way by name ends here, too.
    delete = SecurityGroupBackend._delete_security_group

    def delete_security_group(self: Any, vpc_id: str | None, group_id: str) -> None:
        if any(group.id == group_id for interface in self.enis.values() for group in interface.group_set):
            raise DependencyViolationError(f"resource {group_id} has a dependent object")
        delete(self, vpc_id, group_id)

    setattr(SecurityGroupBackend, delete.__name__, delete_security_group)


def _keep_vpcs_in_use() -> None:
    delete = VPCBackend.delete_vpc

    def delete_vpc(self: Any, vpc_id: str) -> Any:
        own_groups = [group for group in self.groups[vpc_id].values() if group.name != "default"]
        gateways = [gateway for gateway in self.internet_gateways.values() if gateway.vpc and gateway.vpc.id == vpc_id]
        if own_groups or gateways:
            raise DependencyViolationError(f"The vpc '{vpc_id}' has dependencies and cannot be deleted.")
        return delete(self, vpc_id)

    setattr(VPCBackend, delete.__name__, delete_vpc)


def _give_endpoints_their_groups() -> None:
    create = VPCBackend.create_vpc_endpoint

    def create_vpc_endpoint(self: Any, *arguments: Any, **named: Any) -> VPCEndPoint:
        endpoint = create(self, *arguments, **named)
        for interface_id in endpoint.network_interface_ids:
            groups = endpoint.security_group_ids or []
            self.modify_network_interface_attribute(
                interface_id, groups, description=f"VPC Endpoint Interface {endpoint.id}"
            )
        return endpoint

    setattr(VPCBackend, create.__name__, create_vpc_endpoint)


DEVIATIONS = (
    MotoPatch(
        "ec2-subnet-dependencies",
        "moto deletes a subnet in which network interfaces stand; EC2 refuses (DependencyViolation)",
        _keep_occupied_subnets,
    ),
    MotoPatch(
        "ec2-security-group-dependencies",
        "moto deletes a security group that network interfaces use; EC2 refuses (DependencyViolation)",
        _keep_used_security_groups,
    ),
    MotoPatch(
        "ec2-vpc-dependencies",
        "moto deletes a VPC with security groups and internet gateways; EC2 refuses (DependencyViolation)",
        _keep_vpcs_in_use,
    ),
    MotoPatch(
        "ec2-endpoint-network-interfaces",
        "moto puts an interface endpoint into the VPC's default security group; EC2 into the endpoint's own",
        _give_endpoints_their_groups,
    ),
)
