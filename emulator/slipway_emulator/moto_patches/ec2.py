"""EC2: instances started from launch templates, and the network interfaces that outlive their owners."""

from typing import Any, cast

from moto.core.responses import ActionResult
from moto.ec2.models.elastic_block_store import Snapshot
from moto.ec2.models.instances import InstanceBackend
from moto.ec2.models.nat_gateways import NatGateway, NatGatewayBackend
from moto.ec2.responses.elastic_block_store import ElasticBlockStore
from moto.ec2.responses.instances import InstanceResponse

from slipway_emulator.moto_patches.patch import MotoPatch
from slipway_emulator.settings import ACCOUNT

_IMAGE_SIZE_GIB = 45
"""What a root device gets that names no size; on AWS the image's own size counts (ParallelCluster's: 45 GiB)."""


def _with_sizes(mappings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Only the mappings that stand for a volume, each with a size."""
    return [
        {**mapping, "Ebs": {**mapping["Ebs"], "VolumeSize": mapping["Ebs"].get("VolumeSize") or _IMAGE_SIZE_GIB}}
        for mapping in mappings
        if "Ebs" in mapping
    ]


def _accept_every_block_device() -> None:
    parse = InstanceResponse._parse_block_device_mapping

    def parse_block_device_mapping(self: InstanceResponse) -> list[dict[str, Any]]:
        if mappings := self.params.get("BlockDeviceMappings"):
            self.params["BlockDeviceMappings"] = _with_sizes(mappings)
        return parse(self)

    InstanceResponse._parse_block_device_mapping = parse_block_device_mapping  # type: ignore[method-assign]


def _take_devices_from_launch_templates() -> None:
    run = InstanceBackend.run_instances

    def run_instances(self: Any, *arguments: Any, **named: Any) -> Any:
        if template := named.get("launch_template"):
            data = self._get_template_from_args(template).data
            if not named.get("nics"):
                named["nics"] = data.get("NetworkInterfaces", [])
            if not named.get("block_device_mappings") and data.get("BlockDeviceMappings"):
                named["block_device_mappings"] = _with_sizes(data["BlockDeviceMappings"])
        return run(self, *arguments, **named)

    setattr(InstanceBackend, run.__name__, run_instances)


def _delete_interfaces_with_instances() -> None:
    run = InstanceBackend.run_instances

    def run_instances(self: Any, *arguments: Any, **named: Any) -> Any:
        interfaces = named.get("nics") or [{"DeviceIndex": 0}]
        named["nics"] = [
            interface if "NetworkInterfaceId" in interface else {"DeleteOnTermination": True, **interface}
            for interface in interfaces
        ]
        return run(self, *arguments, **named)

    setattr(InstanceBackend, run.__name__, run_instances)


def _delete_interfaces_with_nat_gateways() -> None:
    delete = NatGatewayBackend.delete_nat_gateway

    def delete_nat_gateway(self: Any, nat_gateway_id: str) -> NatGateway:
        gateway = delete(self, nat_gateway_id)
        self.enis.pop(gateway._eni.id, None)
        return gateway

    setattr(NatGatewayBackend, delete.__name__, delete_nat_gateway)


def _list_snapshots_by_owner() -> None:
    describe = ElasticBlockStore.describe_snapshots

    def describe_snapshots(self: ElasticBlockStore) -> ActionResult:
        found = cast("dict[str, list[Snapshot]]", describe(self).result)["Snapshots"]
        owners = {ACCOUNT if owner == "self" else owner for owner in self._get_param("OwnerIds", [])}
        return ActionResult({"Snapshots": [each for each in found if not owners or each.owner_id in owners]})

    setattr(ElasticBlockStore, describe.__name__, describe_snapshots)


DEVIATIONS = (
    MotoPatch(
        "ec2-block-device-mappings",
        "moto refuses instance-store mappings and root devices without a size; EC2 takes the image's size",
        _accept_every_block_device,
    ),
    MotoPatch(
        "ec2-instance-network-interfaces",
        "moto keeps the interface it made for an instance when the instance ends; EC2 deletes it",
        _delete_interfaces_with_instances,
    ),
    # After the one above: the later bridge acts first, and that one fills in interfaces when there are none.
    MotoPatch(
        "ec2-launch-template-devices",
        "moto ignores a launch template's network interfaces and adds a root volume beside the template's",
        _take_devices_from_launch_templates,
    ),
    MotoPatch(
        "ec2-nat-gateway-network-interfaces",
        "moto keeps a deleted NAT gateway's interface",
        _delete_interfaces_with_nat_gateways,
    ),
    MotoPatch(
        "ec2-snapshot-owners",
        "moto ignores OwnerIds when it lists snapshots, and lists those of public images, too",
        _list_snapshots_by_owner,
    ),
)
