"""The services of an endpoint and their hosts, brought to zero before their stack is deleted.

CloudFormation deletes a service before its capacity provider, and that before the Auto Scaling group; each waits until
the tasks have drained, and gives up when that takes longer than it waits. Tasks that are gone already delay nothing.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from slipway.aws.account import Account
from slipway.aws.stacks import physical_ids
from slipway.errors import FailedError

POLL_SECONDS = 15.0
"""How often Amazon ECS and EC2 Auto Scaling are asked."""

TASK_SECONDS = 1800.0
"""How long tasks may drain; then their hosts go with them. A target is deregistered for 5 minutes, an engine may finish
its requests after that, and a busy task may protect itself for 15 minutes before."""

_MOST_AT_ONCE = 10
_SUSPENDED = {
    "DynamicScalingInSuspended": True,
    "DynamicScalingOutSuspended": True,
    "ScheduledScalingSuspended": True,
}


@dataclass(frozen=True)
class Service:
    """An ECS service whose tasks serve a model.

    Attributes:
        cluster: name of its cluster.
        name: its name.
        tasks: tasks that run, or start.
        wanted: tasks that shall run.
    """

    cluster: str
    name: str
    tasks: int
    wanted: int

    def __str__(self) -> str:
        """Say it in a few words."""
        return f"{self.name}: {self.tasks} task{'s' * (self.tasks != 1)}"


@dataclass(frozen=True)
class Hosts:
    """An Auto Scaling group of hosts.

    Attributes:
        group: its name.
        count: hosts that are not terminated, stopped ones among them.
        has_warm_pool: whether it keeps stopped ones.
    """

    group: str
    count: int
    has_warm_pool: bool


@dataclass(frozen=True)
class InferenceServices:
    """What serves models in some stacks.

    Attributes:
        account: where it is.
        service_arns: the ECS services.
        groups: the Auto Scaling groups.
    """

    account: Account
    service_arns: tuple[str, ...]
    groups: tuple[str, ...]

    def services(self) -> list[Service]:
        """Return the services with their tasks; services with a task on each host, such as watchers, are none."""
        return [
            Service(
                cluster=row["serviceArn"].split("/")[-2],
                name=row["serviceName"],
                tasks=row["runningCount"] + row["pendingCount"],
                wanted=row["desiredCount"],
            )
            for row in self._described()
            if row["schedulingStrategy"] == "REPLICA"
        ]

    def hosts(self) -> list[Hosts]:
        """Return the groups that still exist."""
        if not self.groups:
            return []
        autoscaling = self.account.client("autoscaling")
        pages = autoscaling.get_paginator("describe_auto_scaling_groups").paginate(
            AutoScalingGroupNames=list(self.groups)
        )
        return [self._hosts(group) for page in pages for group in page["AutoScalingGroups"]]

    def end(self, *, timeout_seconds: float, tell: Callable[[str], None]) -> None:
        """End all tasks, then all hosts, and wait for them.

        Args:
            timeout_seconds: longest wait for the hosts.
            tell: called with what is still there, as often as AWS is asked.

        Raises:
            FailedError: hosts are still there after that time.
        """
        self._end_tasks(min(timeout_seconds, TASK_SECONDS), tell)
        deadline = time.monotonic() + timeout_seconds
        for group in (hosts for hosts in self.hosts() if hosts.count or hosts.has_warm_pool):
            self._empty(group)
        while deployed := [hosts for hosts in self.hosts() if hosts.count]:
            counts = ", ".join(f"{hosts.count} in {hosts.group}" for hosts in deployed)
            if time.monotonic() >= deadline:
                raise FailedError(
                    f"after {timeout_seconds / 60:.0f} minutes there are still inference hosts: {counts}. No stack was "
                    "deleted. Run this again; it goes on where it stopped"
                )
            tell(f"inference hosts: {counts}")
            time.sleep(POLL_SECONDS)

    def _end_tasks(self, timeout_seconds: float, tell: Callable[[str], None]) -> None:
        for service in self.services():
            if service.wanted or service.tasks:
                self._hold_scaling(service)
                self.account.client("ecs").update_service(cluster=service.cluster, service=service.name, desiredCount=0)
                self._expose(service)
                tell(f"{service.name}: no task is wanted any more")
        deadline = time.monotonic() + timeout_seconds
        while busy := [str(service) for service in self.services() if service.tasks]:
            if time.monotonic() >= deadline:
                tell(f"{', '.join(busy)} after {timeout_seconds / 60:.0f} minutes: they end with their hosts")
                return
            tell(f"draining: {', '.join(busy)}")
            time.sleep(POLL_SECONDS)

    def _hold_scaling(self, service: Service) -> None:
        """Keep Application Auto Scaling from bringing tasks back, by its minimum, a schedule or a metric."""
        scaling, resource = self.account.client("application-autoscaling"), f"service/{service.cluster}/{service.name}"
        found = scaling.describe_scalable_targets(ServiceNamespace="ecs", ResourceIds=[resource])["ScalableTargets"]
        for target in found:
            scaling.register_scalable_target(
                ServiceNamespace="ecs",
                ResourceId=resource,
                ScalableDimension=target["ScalableDimension"],
                MinCapacity=0,
                SuspendedState=_SUSPENDED,
            )

    def _expose(self, service: Service) -> None:
        """Take protection off the tasks that answer at the moment: ECS would leave them alone until it is over."""
        pages = (
            self.account.client("ecs")
            .get_paginator("list_tasks")
            .paginate(cluster=service.cluster, serviceName=service.name)
        )
        tasks = [arn for page in pages for arn in page["taskArns"]]
        for start in range(0, len(tasks), _MOST_AT_ONCE):
            self.account.client("ecs").update_task_protection(
                cluster=service.cluster, tasks=tasks[start : start + _MOST_AT_ONCE], protectionEnabled=False
            )

    def _empty(self, hosts: Hosts) -> None:
        autoscaling = self.account.client("autoscaling")
        if hosts.has_warm_pool:
            autoscaling.delete_warm_pool(AutoScalingGroupName=hosts.group, ForceDelete=True)
        # The capacity provider sets the wanted number, too: never above the largest one.
        autoscaling.update_auto_scaling_group(AutoScalingGroupName=hosts.group, MinSize=0, MaxSize=0, DesiredCapacity=0)

    def _hosts(self, group: dict[str, Any]) -> Hosts:
        name = group["AutoScalingGroupName"]
        warm = self.account.client("autoscaling").describe_warm_pool(AutoScalingGroupName=name)
        has_warm_pool = warm.get("WarmPoolConfiguration", {}).get("Status", "") != "PendingDelete"
        instances = [*group["Instances"], *warm.get("Instances", [])]
        return Hosts(name, len(instances), has_warm_pool and "WarmPoolConfiguration" in warm)

    def _described(self) -> Iterator[dict[str, Any]]:
        """Yield each service that is not deleted."""
        for cluster in sorted({arn.split("/")[-2] for arn in self.service_arns}):
            arns = [arn for arn in self.service_arns if arn.split("/")[-2] == cluster]
            for start in range(0, len(arns), _MOST_AT_ONCE):
                some = arns[start : start + _MOST_AT_ONCE]
                answer = self.account.client("ecs").describe_services(cluster=cluster, services=some)
                yield from (row for row in answer["services"] if row["status"] != "INACTIVE")


def find_inference_services(account: Account, stack_ids: Sequence[str]) -> InferenceServices:
    """Return what serves models in some stacks."""

    def ids(resource_type: str) -> tuple[str, ...]:
        return tuple(
            physical_id
            for stack_id in stack_ids
            for physical_id in physical_ids(account.client("cloudformation"), stack_id, resource_type).values()
        )

    return InferenceServices(account, ids("AWS::ECS::Service"), ids("AWS::AutoScaling::AutoScalingGroup"))
