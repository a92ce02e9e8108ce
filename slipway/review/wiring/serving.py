"""Containers behind a load balancer: they, their target group and their hosts agree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from slipway import facts
from slipway.facts.inference import InferenceEngine
from slipway.review.changes.references import references
from slipway.review.changes.resources import Resource
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, literal, mapping, rows, texts

_SERVICE, _TASK = "AWS::ECS::Service", "AWS::ECS::TaskDefinition"
_TARGETS = "AWS::ElasticLoadBalancingV2::TargetGroup"
_RULE = "AWS::ElasticLoadBalancingV2::ListenerRule"
_OWN_ADDRESS = re.compile(r"https?://(?:localhost|127\.0\.0\.1):(\d+)")
_REGISTERED_SHARE = 0.985
"""Of a host's memory that its kernel reports at most: the rest is the kernel's own."""

_DEVICE = re.compile(r"/dev/neuron(\d+)")


class _Served(NamedTuple):
    """A container that a load balancer sends requests to."""

    service: Resource
    task: Resource
    container: Mapping[str, Any]
    targets: Resource

    @property
    def engine(self) -> InferenceEngine | None:
        """The engine that it runs, if Slipway knows the image."""
        image = str(self.container.get("Image"))
        engines = facts.inference_engines().values()
        return next((each for each in engines if each.image == image), None)


def _served(resources: Resources) -> Iterator[_Served]:
    for service in resources.of_type(_SERVICE):
        task = resources.resource(service.at("TaskDefinition"), _TASK)
        for balancer in rows(service.at("LoadBalancers")):
            targets = resources.resource(balancer.get("TargetGroupArn"), _TARGETS)
            for container in rows(task.at("ContainerDefinitions")) if task else ():
                if task and targets and container.get("Name") == balancer.get("ContainerName"):
                    yield _Served(service, task, container, targets)


@rule(
    reason="ECS refuses the service: a task with an address of its own is a target by address.",
    fix="Write `TargetType: ip` for tasks with network mode `awsvpc`, and `instance` for the others.",
    source='Amazon ECS developer guide, "Use an Application Load Balancer for Amazon ECS"',
)
def targets_are_of_the_tasks_kind(resources: Resources) -> Iterator[Finding]:
    """A target group takes addresses if its tasks have their own, and instances otherwise."""
    for each in _served(resources):
        wanted = "ip" if each.task.at("NetworkMode") == "awsvpc" else "instance"
        if literal(each.targets.at("TargetType") or "instance") not in (wanted, None):
            yield about(each.targets, "TargetType", f"tasks of {each.service.logical_id} need {wanted}")


@rule(
    reason="No task becomes healthy: ECS replaces them until it rolls the deployment back.",
    fix="Write the path that the engine answers.",
    source="slipway/facts/data/inference_engines.yaml, which has the source of each engine",
)
def health_check_asks_what_the_engine_answers(resources: Resources) -> Iterator[Finding]:
    """The health check of a known engine asks the path where that engine tells its health."""
    for each in _served(resources):
        path = literal(each.targets.at("HealthCheckPath") or "/")
        if each.engine and path and path not in (each.engine.health_path, *each.engine.inference_paths):
            yield about(each.targets, "HealthCheckPath", f"{each.engine.name} does not answer {path}")


@rule(
    severity="warning",
    reason="Clients get the listener's answer, often 404, instead of the engine's.",
    fix="Write a path that the engine serves.",
    source="slipway/facts/data/inference_engines.yaml, which has the source of each engine",
)
def path_is_one_of_the_engine(resources: Resources) -> Iterator[Finding]:
    """Each path for which a listener forwards requests to a known engine is one that the engine serves."""
    for each in _served(resources):
        engine = each.engine
        for forwarding in resources.of_type(_RULE) if engine else ():
            if all(key != each.targets.key for key, _ in references(forwarding.at("Actions"))):
                continue
            for index, condition in enumerate(rows(forwarding.at("Conditions"))):
                for pattern in texts(mapping(condition.get("PathPatternConfig")).get("Values")):
                    served = (*engine.inference_paths, *engine.other_paths, engine.health_path) if engine else ()
                    # A listener can take a prefix off the path.
                    if not any(fnmatchcase(path, pattern) or pattern.endswith(path) for path in served if path != "/"):
                        yield about(forwarding, f"Conditions.{index}", f"the engine does not serve {pattern}")


@rule(
    severity="warning",
    reason="The container listens where nobody asks: it is never healthy.",
    fix="Write the same port into the variable and the port mapping.",
    source='Amazon ECS developer guide, "Task definition parameters", port mappings',
)
def port_variable_is_a_port_of_the_container(resources: Resources) -> Iterator[Finding]:
    """A container's variable PORT is one of its ports."""
    for task in resources.of_type(_TASK):
        for index, container in enumerate(rows(task.at("ContainerDefinitions"))):
            ports = {str(mapping.get("ContainerPort")) for mapping in rows(container.get("PortMappings"))}
            for variable in rows(container.get("Environment")):
                value = str(variable.get("Value"))
                if variable.get("Name") == "PORT" and value.isdecimal() and ports and value not in ports:
                    yield about(task, f"ContainerDefinitions.{index}.Environment", f"no port mapping has port {value}")


@rule(
    reason="The load balancer sends requests to a container that does not hold them open that long, or cannot be made.",
    fix="Give the timeout less than the interval, and the matcher codes that mean success.",
    source='Elastic Load Balancing user guide, "Health checks for Application Load Balancer target groups"',
)
def health_check_is_possible(resources: Resources) -> Iterator[Finding]:
    """A health check's timeout is shorter than its interval, and not every answer counts as healthy."""
    for targets in resources.of_type(_TARGETS):
        interval, timeout = (targets.at(f"HealthCheck{part}Seconds") for part in ("Interval", "Timeout"))
        if isinstance(interval, int) and isinstance(timeout, int) and timeout >= interval:
            yield about(targets, "HealthCheckTimeoutSeconds", f"{timeout} s is not below the interval of {interval} s")
        codes = str(targets.at("Matcher.HttpCode") or "200")
        if any(code.strip()[:1] not in ("2", "3") for part in codes.split(",") for code in part.split("-")):
            yield about(targets, "Matcher.HttpCode", f"{codes} counts errors as healthy")


@rule(
    reason="No host can start the task: it stays pending, or its engine finds no device.",
    fix="Name devices that the hosts' instance type has.",
    source="EC2 DescribeInstanceTypes; aws-neuronx-dkms, which makes /dev/neuron0 and on",
)
def hosts_have_the_tasks_devices(resources: Resources) -> Iterator[Finding]:
    """The Neuron devices of a task are there on the hosts of its capacity provider."""
    for service in resources.of_type(_SERVICE):
        task = resources.resource(service.at("TaskDefinition"), _TASK)
        devices = [int(found[1]) for found in map(_DEVICE.fullmatch, _devices(task)) if found] if task else []
        counts = [facts.devices(name).neuron_devices for name in _host_types(resources, service)]
        for count in counts if devices else ():
            if max(devices) >= count:
                yield about(service, "TaskDefinition", f"it needs /dev/neuron{max(devices)}, and hosts have {count}")


def _devices(task: Resource) -> Iterator[str]:
    for container in rows(task.at("ContainerDefinitions")):
        for device in rows(mapping(container.get("LinuxParameters")).get("Devices")):
            yield str(device.get("HostPath"))


def _host_types(resources: Resources, service: Resource) -> Iterator[str]:
    for strategy in rows(service.at("CapacityProviderStrategy")):
        provider = resources.resource(strategy.get("CapacityProvider"), "AWS::ECS::CapacityProvider")
        group = provider and resources.resource(
            provider.at("AutoScalingGroupProvider.AutoScalingGroupArn"), "AWS::AutoScaling::AutoScalingGroup"
        )
        named = group.at("LaunchTemplate.LaunchTemplateId") if group else None
        template = resources.resource(named, "AWS::EC2::LaunchTemplate")
        kind = template.at("LaunchTemplateData.InstanceType") if template else None
        if isinstance(kind, str) and kind in facts.instance_types():
            yield kind


@rule(
    severity="warning",
    reason="With no room above and none below, ECS can start no new task and stop no old one: an update waits forever.",
    fix="Write a `MaximumPercent` above 100, or a `MinimumHealthyPercent` below it.",
    source='Amazon ECS developer guide, "Amazon ECS service definition parameters", deploymentConfiguration',
)
def deployment_can_go_on(resources: Resources) -> Iterator[Finding]:
    """A service may run more tasks than it wants, or fewer, while it is updated."""
    for service in resources.of_type(_SERVICE):
        most, least = (
            service.at(f"DeploymentConfiguration.{name}") for name in ("MaximumPercent", "MinimumHealthyPercent")
        )
        if isinstance(most, int) and isinstance(least, int) and most <= 100 <= least:
            yield about(service, "DeploymentConfiguration", f"it runs {least} to {most} percent of its tasks")


@rule(
    reason="ECS refuses the task definition, or starts no container of it.",
    fix="Name a volume of the task, and a container of it that starts earlier.",
    source='Amazon ECS developer guide, "Amazon ECS task definition parameters"',
)
def task_names_its_own_parts(resources: Resources) -> Iterator[Finding]:
    """Mounts name volumes of their task, containers wait for others of it, and a service names one of them."""
    for task in resources.of_type(_TASK):
        containers = rows(task.at("ContainerDefinitions"))
        names = {str(container.get("Name")) for container in containers}
        volumes = {str(volume.get("Name")) for volume in rows(task.at("Volumes"))}
        for index, container in enumerate(containers):
            for mount in rows(container.get("MountPoints")):
                if str(mount.get("SourceVolume")) not in volumes:
                    path = f"ContainerDefinitions.{index}.MountPoints"
                    yield about(task, path, f"the task has no volume {mount.get('SourceVolume')}")
            for earlier in rows(container.get("DependsOn")):
                path, name = f"ContainerDefinitions.{index}.DependsOn", str(earlier.get("ContainerName"))
                if name not in names:
                    yield about(task, path, f"the task has no container {name}")
                unchecked = any(str(one.get("Name")) == name and "HealthCheck" not in one for one in containers)
                if earlier.get("Condition") == "HEALTHY" and unchecked:
                    yield about(task, path, f"{name} has no health check, and never becomes healthy")
    for service in resources.of_type(_SERVICE):
        own = resources.resource(service.at("TaskDefinition"), _TASK)
        named = {str(container.get("Name")) for container in (rows(own.at("ContainerDefinitions")) if own else ())}
        for index, balancer in enumerate(rows(service.at("LoadBalancers"))):
            if named and str(balancer.get("ContainerName")) not in named:
                message = f"the task has no container {balancer.get('ContainerName')}"
                yield about(service, f"LoadBalancers.{index}.ContainerName", message)


@rule(
    severity="warning",
    reason="The program asks another Region's API: it finds nothing there, or is refused.",
    fix="Write the Region of the stack.",
    source='Amazon ECS developer guide, "Send Amazon ECS logs to CloudWatch"',
)
def containers_ask_their_own_region(resources: Resources) -> Iterator[Finding]:
    """The Region that a container's settings name is that of its stack."""
    of_stack = {stack.name: stack.region for stack in resources.stacks}
    for task in resources.of_type(_TASK):
        own = of_stack[task.stack]
        for index, container in enumerate(rows(task.at("ContainerDefinitions"))):
            options = mapping(mapping(container.get("LogConfiguration")).get("Options"))
            variables = {str(row.get("Name")): row.get("Value") for row in rows(container.get("Environment"))}
            for name, value in {**options, **variables}.items():
                is_region = name in ("awslogs-region", "AWS_REGION", "AWS_DEFAULT_REGION", "region")
                if is_region and own in facts.regions() and literal(value) not in (own, None):
                    yield about(task, f"ContainerDefinitions.{index}", f"{name} is {value}, and the stack is in {own}")


@rule(
    severity="warning",
    reason="The engine looks for a model where nothing is mounted: it downloads one, or ends.",
    fix="Mount the model where the variable says.",
    source="slipway/facts/data/inference_engines.yaml, environment",
)
def model_is_mounted(resources: Resources) -> Iterator[Finding]:
    """The directory of a model that a container's variable names is mounted in the container."""
    for task in resources.of_type(_TASK):
        for index, container in enumerate(rows(task.at("ContainerDefinitions"))):
            mounts = [str(mount.get("ContainerPath")) for mount in rows(container.get("MountPoints"))]
            for row in rows(container.get("Environment")):
                value = str(row.get("Value"))
                is_directory = row.get("Name") in ("MODEL_ID", "HF_MODEL_ID") and value.startswith("/")
                if is_directory and not any(value == at or value.startswith(f"{at}/") for at in mounts):
                    yield about(task, f"ContainerDefinitions.{index}.Environment", f"nothing is mounted at {value}")


@rule(
    reason="No host has room for the task: it stays PROVISIONING, and hosts are started in vain.",
    fix="Leave the system and the ECS agent some of the host's memory.",
    source='Amazon ECS developer guide, "Reserving Amazon ECS Linux container instance memory"',
)
def host_has_room_for_the_task(resources: Resources) -> Iterator[Finding]:
    """The containers of a task reserve less memory together than a host of its service registers."""
    for service in resources.of_type(_SERVICE):
        task = resources.resource(service.at("TaskDefinition"), _TASK)
        containers = rows(task.at("ContainerDefinitions")) if task else []
        reserved = [row.get("MemoryReservation") or row.get("Memory") or 0 for row in containers]
        for kind in _host_types(resources, service) if all(isinstance(each, int) for each in reserved) else ():
            room = facts.instance_types()[kind].memory_gib * 1024 * _REGISTERED_SHARE
            if sum(reserved) > room:
                message = f"its tasks reserve {sum(reserved)} MiB, and a host registers {room:.0f} at most"
                yield about(service, "TaskDefinition", message)


@rule(
    severity="warning",
    reason="A container asks a port of its task where nothing listens.",
    fix="Write a port of a port mapping of the task.",
    source='Amazon ECS developer guide, "Amazon ECS task networking", awsvpc: containers share localhost',
)
def address_in_a_task_is_one_of_its_ports(resources: Resources) -> Iterator[Finding]:
    """An address of the task itself that a container's variable names has a port of one of the task's containers."""
    for task in resources.of_type(_TASK):
        containers = rows(task.at("ContainerDefinitions"))
        ports = {str(one.get("ContainerPort")) for row in containers for one in rows(row.get("PortMappings"))}
        for index, row in enumerate(containers):
            for variable in rows(row.get("Environment")):
                found = _OWN_ADDRESS.search(str(variable.get("Value")))
                if found and ports and found[1] not in ports:
                    path = f"ContainerDefinitions.{index}.Environment"
                    yield about(task, path, f"{variable.get('Name')} names port {found[1]}, which no container has")


@rule(
    severity="warning",
    reason="Answers that are being generated are cut off when a task ends.",
    fix="Write at least the seconds in which the engine finishes its requests.",
    source="slipway/facts/data/inference_engines.yaml; Elastic Load Balancing user guide, deregistration delay",
)
def targets_drain_as_long_as_the_engine(resources: Resources) -> Iterator[Finding]:
    """A target of a known engine gets as long to finish its requests as the engine takes for it."""
    for each in _served(resources):
        attributes = {str(row.get("Key")): row.get("Value") for row in rows(each.targets.at("TargetGroupAttributes"))}
        delay = str(attributes.get("deregistration_delay.timeout_seconds", 300))
        if each.engine and delay.isdecimal() and int(delay) < each.engine.drain_seconds:
            path, seconds = "TargetGroupAttributes", each.engine.drain_seconds
            yield about(each.targets, path, f"{delay} s are less than the {seconds} s of {each.engine.name}")


@rule(
    reason="Elastic Load Balancing refuses the second rule.",
    fix="Give each rule of a listener its own priority.",
    source='Elastic Load Balancing user guide, "Listener rules for your Application Load Balancer"',
)
def listener_rules_have_their_own_priority(resources: Resources) -> Iterator[Finding]:
    """No two rules of a listener have the same priority."""
    seen: dict[tuple[str, str], Resource] = {}
    for one in resources.of_type(_RULE):
        key = str(one.at("ListenerArn")), str(one.at("Priority"))
        if key in seen:
            yield about(one, "Priority", f"{seen[key].logical_id} has {key[1]}, too")
        seen[key] = one
