"""What an environment costs while it only stands: list prices of what bills by the hour or by size, used or not.

Run it with `make cost`. It reads the cloud assembly, so it speaks of what would really be deployed. Traffic, requests,
logs, objects and Spot are left out: they depend on use.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from slipway import facts
from slipway.assembly import CLUSTER_TYPE, NoAssemblyError, read_stacks

HOURS_PER_MONTH = 730
"""Hours of an average month, as AWS's own calculators count."""

Properties = Mapping[str, Any]
Resources = Mapping[str, Mapping[str, Any]]

NODE_GROUP_LABEL = "slipway/node-group"
"""Label of nodes with their node group's name, as the constructs write it."""

_NODE_GROUP = "AWS::EKS::Nodegroup"


@dataclass(frozen=True)
class Charge:
    """Something that bills while it stands."""

    what: str
    """What it is, in the reader's words."""

    item: str
    """Name of the price row."""

    quantity: float
    """How many of the price's unit stand: pieces for an hourly price, GB for a monthly one."""

    def usd_per_hour(self, region: str) -> float | None:
        """Return the list price of all of it for an hour; none when the facts have no price for the region."""
        price = facts.price(self.item, region)
        if price is None or price.usd is None:
            return None
        return price.usd * self.quantity / (1 if price.unit == "hour" else HOURS_PER_MONTH)


def _file_system(properties: Properties) -> Iterable[Charge]:
    return _lustre(properties) if "LustreConfiguration" in properties else _open_zfs(properties)


def _lustre(properties: Properties) -> Iterable[Charge]:
    throughput = properties["LustreConfiguration"]["PerUnitStorageThroughput"]
    capacity = properties["StorageCapacity"]
    yield Charge(
        f"FSx for Lustre, {capacity} GiB at {throughput} MB/s/TiB",
        f"lustre_persistent_2_{throughput}_gb_month",
        capacity,
    )


def _open_zfs(properties: Properties) -> Iterable[Charge]:
    configuration = properties["OpenZFSConfiguration"]
    kind = configuration["DeploymentType"].lower()
    capacity, throughput = properties["StorageCapacity"], configuration["ThroughputCapacity"]
    yield Charge(f"FSx for OpenZFS, {capacity} GiB", f"open_zfs_{kind}_gb_month", capacity)
    yield Charge(f"FSx for OpenZFS, {throughput} MB/s", f"open_zfs_{kind}_mbps_month", throughput)


def _database(properties: Properties) -> Iterable[Charge]:
    servers = 2 if properties["MultiAZ"] else 1
    instance, storage = properties["DBInstanceClass"], int(properties["AllocatedStorage"])
    yield Charge(f"accounting database, {instance}", instance, servers)
    yield Charge(f"accounting database, {storage} GiB gp3", "rds_gp3_gb_month", servers * storage)


def _login_nodes(configuration: Properties) -> Iterable[Charge]:
    for pool in configuration.get("LoginNodes", {}).get("Pools", []):
        yield Charge(f"login nodes, {pool['InstanceType']}", pool["InstanceType"], pool["Count"])
        yield Charge("login nodes' network load balancer", "load_balancer_hour", 1)


def _cluster(properties: Properties) -> Iterable[Charge]:
    configuration = properties["ClusterConfiguration"]
    head_node = configuration["HeadNode"]
    yield Charge(f"head node, {head_node['InstanceType']}", head_node["InstanceType"], 1)
    volumes = [head_node["LocalStorage"]["RootVolume"]["Size"]]
    volumes += [item["EbsSettings"]["Size"] for item in configuration["SharedStorage"] if "EbsSettings" in item]
    yield Charge("head node's root and shared volumes, gp3", "gp3_gb_month", sum(volumes))
    yield from _login_nodes(configuration)
    for queue in configuration["Scheduling"]["SlurmQueues"]:
        for resource in queue["ComputeResources"]:
            if resource["MinCount"] and queue["CapacityType"] == "ONDEMAND":
                what = f"nodes that always run in {queue['Name']}, {resource['InstanceType']}"
                yield Charge(what, resource["InstanceType"], resource["MinCount"])


def _node_group(properties: Properties) -> Iterable[Charge]:
    count, kind = properties["ScalingConfig"]["MinSize"], properties.get("CapacityType", "ON_DEMAND")
    if count and kind == "ON_DEMAND":
        launched = properties["LaunchTemplate"]
        name = properties["Labels"][NODE_GROUP_LABEL]
        yield Charge(f"nodes that always run in {name}, {launched['InstanceType']}", launched["InstanceType"], count)
        volumes = [device["Ebs"]["VolumeSize"] for device in launched["BlockDeviceMappings"]]
        yield Charge(f"their root volumes in {name}, gp3", "gp3_gb_month", count * sum(volumes))


CHARGES: Mapping[str, Callable[[Properties], Iterable[Charge]]] = {
    "AWS::EC2::EIP": lambda _: [Charge("public IPv4 address of a NAT gateway", "public_ipv4_hour", 1)],
    "AWS::EC2::NatGateway": lambda _: [Charge("NAT gateway", "nat_gateway_hour", 1)],
    "AWS::EKS::Cluster": lambda _: [Charge("control plane of the Kubernetes cluster", "eks_cluster_hour", 1)],
    _NODE_GROUP: _node_group,
    "AWS::ElasticLoadBalancingV2::LoadBalancer": lambda _: [Charge("load balancer", "load_balancer_hour", 1)],
    "AWS::FSx::FileSystem": _file_system,
    "AWS::KMS::Key": lambda _: [Charge("KMS key", "kms_key_month", 1)],
    "AWS::RDS::DBInstance": _database,
    "AWS::SecretsManager::Secret": lambda _: [Charge("secret", "secret_month", 1)],
    CLUSTER_TYPE: _cluster,
}
"""What bills by itself, by CloudFormation type. Inference hosts and nodes of jobs bill when they have work."""


def standing_charges(templates: Iterable[Mapping[str, Any]]) -> list[Charge]:
    """Return everything in the templates that bills while it stands."""
    return [
        charge
        for template in templates
        for resource in template["Resources"].values()
        if resource["Type"] in CHARGES
        for charge in CHARGES[resource["Type"]](_properties(resource, template["Resources"]))
    ]


def _properties(resource: Mapping[str, Any], resources: Resources) -> Properties:
    """Return a resource's properties; a node group's with the launch template itself in the place of its id."""
    properties: Properties = resource.get("Properties", {})
    if resource["Type"] != _NODE_GROUP:
        return properties
    launch_template = resources[properties["LaunchTemplate"]["Id"]["Ref"]]["Properties"]["LaunchTemplateData"]
    return {**properties, "LaunchTemplate": launch_template}


def _machines(resource: Mapping[str, Any]) -> Iterable[str]:
    """Yield the instance types that a resource launches when there is work: nodes of jobs, inference hosts."""
    if resource["Type"] == CLUSTER_TYPE:
        for queue in resource["Properties"]["ClusterConfiguration"]["Scheduling"]["SlurmQueues"]:
            yield from (kind["InstanceType"] for kind in queue["ComputeResources"])
    elif resource["Type"] == "AWS::EC2::LaunchTemplate":
        yield resource["Properties"]["LaunchTemplateData"]["InstanceType"]


def machine_prices(templates: Iterable[Mapping[str, Any]]) -> list[Charge]:
    """Return one machine of each instance type that queues and models may launch on demand."""
    resources = [resource for template in templates for resource in template["Resources"].values()]
    types = dict.fromkeys(name for resource in resources for name in _machines(resource))
    return [Charge(f"one {name}", name, 1) for name in types]


def _dollars(amount: float | None, per_month: bool = False) -> str:
    if amount is None:
        return "no list price"
    return f"${amount * HOURS_PER_MONTH:,.0f}" if per_month else f"${amount:.3f}"


def main(assembly: Annotated[Path, typer.Argument(help="Folder of a cloud assembly, for example cdk.out.")]) -> None:
    """Print what an environment costs while it only stands, and what each machine that runs costs."""
    try:
        stacks = read_stacks(assembly)
    except NoAssemblyError as error:
        raise typer.BadParameter(str(error)) from error
    region = stacks[0].region
    templates = [stack.template for stack in stacks]
    table = Table(title=f"standing cost in {region}, list prices", show_footer=True)
    charges = standing_charges(templates)
    total = sum(charge.usd_per_hour(region) or 0.0 for charge in charges)
    unpriced = [charge for charge in charges if charge.usd_per_hour(region) is None]
    table.add_column(
        "what", footer="together" + (f", without {len(unpriced)} that have no list price" if unpriced else "")
    )
    table.add_column("per hour", footer=_dollars(total), justify="right")
    table.add_column("per month", footer=_dollars(total, per_month=True), justify="right")
    for charge in charges:
        amount = charge.usd_per_hour(region)
        table.add_row(charge.what, _dollars(amount), _dollars(amount, per_month=True))
    console = Console()
    console.print(table)
    for charge in machine_prices(templates):
        console.print(f"{charge.what} while it runs: {_dollars(charge.usd_per_hour(region))} per hour")


if __name__ == "__main__":
    typer.run(main)
