"""An environment in moto that runs: a compute fleet, services that scale or not, node groups."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import boto3

from slipway_pause.environment import Targets
from slipway_pause.fleet import ITEM

REGION = "us-west-2"
SLURM = "trainium"
ECS = "slipway-test-inference"
EKS = "slipway-test-kubernetes"
TARGETS = Targets((SLURM,), (EKS,), (f"{ECS}/tanuki", f"{ECS}/tanuki-candidate"))

_DIMENSION = "ecs:service:DesiredCount"


@dataclass(frozen=True)
class ServiceState:
    """An ECS service: wanted tasks; bounds of its scaling and what of it is suspended, where it scales."""

    desired: int
    bounds: tuple[int, int] | None = None
    suspended: tuple[bool, bool, bool] = (False, False, False)


@dataclass(frozen=True)
class NodeGroupState:
    """A node group: fewest, wanted and most nodes."""

    least: int
    desired: int
    most: int


@dataclass(frozen=True)
class State:
    """How the environment runs, its tags included."""

    fleet: str = "RUNNING"
    services: Mapping[str, ServiceState] = field(
        default_factory=lambda: {"tanuki": ServiceState(2, (1, 4)), "tanuki-candidate": ServiceState(1)}
    )
    node_groups: Mapping[str, NodeGroupState] = field(
        default_factory=lambda: {
            "core": NodeGroupState(2, 2, 3),
            "trn1": NodeGroupState(0, 3, 4),
            "cpu": NodeGroupState(1, 1, 2),
        }
    )
    held: frozenset[str] = frozenset()
    """Node groups that may start no node."""

    tags: tuple[tuple[str, str, str], ...] = ()
    """Tags on table, services and EKS cluster: what it is on, key and value."""


@dataclass(frozen=True)
class World:
    """The environment and who asks AWS about it."""

    session: boto3.Session
    clients: dict[str, Any] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        """Return a boto3 client, each time the same."""
        if service not in self.clients:
            self.clients[service] = self.session.client(service)  # type: ignore[call-overload]
        return self.clients[service]

    def build(self, state: State) -> None:
        """Have it all run as the state says."""
        self._build_fleet(state.fleet)
        self._build_services(state.services)
        self._build_node_groups(state.node_groups)

    def set_fleet(self, status: str) -> None:
        """Do as clusterstatusmgtd does: write another status."""
        data = {"M": {"status": {"S": status}, "lastStatusUpdatedTime": {"S": "2026-11-22 09:00:00.000000+00:00"}}}
        self.client("dynamodb").put_item(TableName=f"parallelcluster-{SLURM}", Item={**ITEM, "Data": data})

    def state(self) -> State:
        """Ask AWS how it runs."""
        return State(
            fleet=self._fleet(),
            services=self._services(),
            node_groups=self._node_groups(),
            held=frozenset(label for label, group in self._groups().items() if self._is_held(group)),
            tags=tuple(sorted(self._tags())),
        )

    def _build_fleet(self, status: str) -> None:
        self.client("dynamodb").create_table(
            TableName=f"parallelcluster-{SLURM}",
            AttributeDefinitions=[{"AttributeName": "Id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "Id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        self.set_fleet(status)

    def _build_services(self, services: Mapping[str, ServiceState]) -> None:
        ecs = self.client("ecs")
        ecs.create_cluster(clusterName=ECS)
        ecs.register_task_definition(
            family="engine", containerDefinitions=[{"name": "engine", "image": "engine:1", "memory": 128}]
        )
        for name, state in services.items():
            ecs.create_service(
                cluster=ECS, serviceName=name, taskDefinition="engine", desiredCount=state.desired, tags=[]
            )
            if state.bounds:
                dynamic_in, dynamic_out, scheduled = state.suspended
                self.client("application-autoscaling").register_scalable_target(
                    ServiceNamespace="ecs",
                    ResourceId=f"service/{ECS}/{name}",
                    ScalableDimension=_DIMENSION,
                    MinCapacity=state.bounds[0],
                    MaxCapacity=state.bounds[1],
                    SuspendedState={
                        "DynamicScalingInSuspended": dynamic_in,
                        "DynamicScalingOutSuspended": dynamic_out,
                        "ScheduledScalingSuspended": scheduled,
                    },
                )

    def _build_node_groups(self, groups: Mapping[str, NodeGroupState]) -> None:
        eks, subnets = self.client("eks"), self.client("ec2").describe_subnets()["Subnets"][:2]
        ids = [subnet["SubnetId"] for subnet in subnets]
        role = "arn:aws:iam::123456789012:role/node"
        eks.create_cluster(name=EKS, roleArn=role, resourcesVpcConfig={"subnetIds": ids}, tags={"team": "research"})
        scaling = self.client("autoscaling")
        scaling.create_launch_configuration(
            LaunchConfigurationName="nodes", ImageId="ami-12c6146b", InstanceType="trn1.2xlarge"
        )
        for label, state in groups.items():
            made = eks.create_nodegroup(
                clusterName=EKS,
                nodegroupName=f"Group-{label}",
                subnets=ids,
                nodeRole=role,
                labels={"slipway/node-group": label},
                scalingConfig={"minSize": state.least, "desiredSize": state.desired, "maxSize": state.most},
            )
            scaling.create_auto_scaling_group(
                AutoScalingGroupName=made["nodegroup"]["resources"]["autoScalingGroups"][0]["name"],
                LaunchConfigurationName="nodes",
                MinSize=0,
                MaxSize=4,
                DesiredCapacity=0,
                VPCZoneIdentifier=ids[0],
            )

    def _fleet(self) -> str:
        item = self.client("dynamodb").get_item(TableName=f"parallelcluster-{SLURM}", Key=ITEM)["Item"]
        return str(item["Data"]["M"]["status"]["S"])

    def _services(self) -> dict[str, ServiceState]:
        ecs, scaling = self.client("ecs"), self.client("application-autoscaling")
        arns = ecs.list_services(cluster=ECS)["serviceArns"]
        targets = {
            row["ResourceId"].split("/")[-1]: row
            for row in scaling.describe_scalable_targets(ServiceNamespace="ecs")["ScalableTargets"]
        }
        found = {}
        for row in ecs.describe_services(cluster=ECS, services=arns)["services"]:
            target = targets.get(row["serviceName"])
            suspended = (target or {}).get("SuspendedState", {})
            found[row["serviceName"]] = ServiceState(
                row["desiredCount"],
                (target["MinCapacity"], target["MaxCapacity"]) if target else None,
                (
                    suspended.get("DynamicScalingInSuspended", False),
                    suspended.get("DynamicScalingOutSuspended", False),
                    suspended.get("ScheduledScalingSuspended", False),
                ),
            )
        return found

    def _groups(self) -> dict[str, Any]:
        eks = self.client("eks")
        names = eks.list_nodegroups(clusterName=EKS)["nodegroups"]
        rows = [eks.describe_nodegroup(clusterName=EKS, nodegroupName=name)["nodegroup"] for name in names]
        return {row["labels"]["slipway/node-group"]: row for row in rows}

    def _node_groups(self) -> dict[str, NodeGroupState]:
        return {
            label: NodeGroupState(
                row["scalingConfig"]["minSize"], row["scalingConfig"]["desiredSize"], row["scalingConfig"]["maxSize"]
            )
            for label, row in self._groups().items()
        }

    def _is_held(self, row: Any) -> bool:
        name = row["resources"]["autoScalingGroups"][0]["name"]
        answer = self.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[name])
        [group] = answer["AutoScalingGroups"]
        return "Launch" in [process["ProcessName"] for process in group["SuspendedProcesses"]]

    def _tags(self) -> list[tuple[str, str, str]]:
        dynamodb, ecs = self.client("dynamodb"), self.client("ecs")
        table = dynamodb.describe_table(TableName=f"parallelcluster-{SLURM}")["Table"]["TableArn"]
        tags = [
            ("table", tag["Key"], tag["Value"]) for tag in dynamodb.list_tags_of_resource(ResourceArn=table)["Tags"]
        ]
        for arn in ecs.list_services(cluster=ECS)["serviceArns"]:
            found = ecs.list_tags_for_resource(resourceArn=arn)["tags"]
            tags += [(arn.split("/")[-1], tag["key"], tag["value"]) for tag in found]
        cluster = self.client("eks").describe_cluster(name=EKS)["cluster"]
        return [*tags, *(("kubernetes", key, value) for key, value in cluster["tags"].items())]
