"""ECS task definitions: containers, their settings, and the hosts that run them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from slipway import facts
from slipway.review.changes.references import references, strings
from slipway.review.changes.resources import Resource
from slipway.review.wiring.nodes import known_types_of
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, literal, mapping, rows
from slipway.review.wiring.statements import statements_of_role

TASK = "AWS::ECS::TaskDefinition"
_SERVICE = "AWS::ECS::Service"
_OWN_ADDRESS = re.compile(r"https?://(?:localhost|127\.0\.0\.1):(\d+)")
_DEVICE = re.compile(r"/dev/neuron(\d+)")
_MODEL = re.compile(r"SLIPWAY_MODEL_PREFIX='\$\{[\w-]+/(\w+)\}")
_MANIFEST = re.compile(r"SLIPWAY_MODEL_DIGEST='\$\{[\w-]+/(\w+)\}")
_REGISTERED_SHARE = 0.985
"""Share of a host's memory that Linux reports at most, and that ECS can register."""


def containers_of(task: Resource | None) -> list[Mapping[str, Any]]:
    """Return the container definitions of a task definition; none without a task definition."""
    return rows(task.at("ContainerDefinitions")) if task else []


def _containers(resources: Resources) -> Iterator[tuple[Resource, str, Mapping[str, Any]]]:
    """Yield every container definition with its task definition and its path there."""
    for task in resources.of_type(TASK):
        for index, container in enumerate(containers_of(task)):
            yield task, f"ContainerDefinitions.{index}", container


def _variables(container: Mapping[str, Any]) -> dict[str, str]:
    return {str(row.get("Name")): str(row.get("Value")) for row in rows(container.get("Environment"))}


def _ports(containers: list[Mapping[str, Any]]) -> set[str]:
    return {str(port.get("ContainerPort")) for one in containers for port in rows(one.get("PortMappings"))}


@rule(
    severity="warning",
    reason="Requests and health checks go to another port than the one on which the container listens.",
    fix="Write the same port into the variable and the port mapping.",
    source='Amazon ECS developer guide, "Task definition parameters", port mappings',
)
def port_variable_is_a_port_of_the_container(resources: Resources) -> Iterator[Finding]:
    """A container's variable PORT is one of its ports."""
    for task, path, container in _containers(resources):
        value, ports = _variables(container).get("PORT", ""), _ports([container])
        if value.isdecimal() and ports and value not in ports:
            yield about(task, f"{path}.Environment", f"no port mapping has port {value}")


@rule(
    reason="ECS refuses the task definition, or never starts the container.",
    fix="Name a volume and a container of the same task definition.",
    source='Amazon ECS developer guide, "Amazon ECS task definition parameters"',
)
def task_names_its_own_parts(resources: Resources) -> Iterator[Finding]:
    """Mount points, container dependencies and load balancers name volumes and containers of their task definition."""
    for task, path, container in _containers(resources):
        named = {str(one.get("Name")): one for one in containers_of(task)}
        volumes = {str(volume.get("Name")) for volume in rows(task.at("Volumes"))}
        for mount in rows(container.get("MountPoints")):
            if str(mount.get("SourceVolume")) not in volumes:
                yield about(task, f"{path}.MountPoints", f"the task has no volume {mount.get('SourceVolume')}")
        for earlier in rows(container.get("DependsOn")):
            name = str(earlier.get("ContainerName"))
            if name not in named:
                yield about(task, f"{path}.DependsOn", f"the task has no container {name}")
            elif earlier.get("Condition") == "HEALTHY" and "HealthCheck" not in named[name]:
                yield about(task, f"{path}.DependsOn", f"{name} has no health check, and never becomes healthy")
    for service in resources.of_type(_SERVICE):
        names = {str(one.get("Name")) for one in containers_of(resources.resource(service.at("TaskDefinition"), TASK))}
        for index, balancer in enumerate(rows(service.at("LoadBalancers"))):
            if names and str(balancer.get("ContainerName")) not in names:
                message = f"the task has no container {balancer.get('ContainerName')}"
                yield about(service, f"LoadBalancers.{index}.ContainerName", message)


@rule(
    severity="warning",
    reason="The program calls the API of another Region: it finds nothing there, or is refused.",
    fix="Write the stack's Region.",
    source='Amazon ECS developer guide, "Send Amazon ECS logs to CloudWatch"',
)
def containers_ask_their_own_region(resources: Resources) -> Iterator[Finding]:
    """The Region in a container's settings is that of its stack."""
    for task, path, container in _containers(resources):
        own = resources.region_of(task)
        options = mapping(mapping(container.get("LogConfiguration")).get("Options"))
        for name, value in {**options, **_variables(container)}.items():
            is_region = name in ("awslogs-region", "AWS_REGION", "AWS_DEFAULT_REGION", "region")
            if is_region and own in facts.regions() and literal(value) not in (own, None):
                yield about(task, path, f"{name} is {value}, and the stack is in {own}")


@rule(
    severity="warning",
    reason="The engine does not find its model: it downloads another copy, or exits.",
    fix="Mount the model at the directory that the variable names.",
    source="slipway/facts/data/inference_engines.yaml, environment",
)
def model_is_mounted(resources: Resources) -> Iterator[Finding]:
    """The model directory that a container's variable names is a mount of the container."""
    for task, path, container in _containers(resources):
        mounts = [str(mount.get("ContainerPath")) for mount in rows(container.get("MountPoints"))]
        for name, value in _variables(container).items():
            is_directory = name in ("MODEL_ID", "HF_MODEL_ID") and value.startswith("/")
            if is_directory and not any(value == at or value.startswith(f"{at}/") for at in mounts):
                yield about(task, f"{path}.Environment", f"nothing is mounted at {value}")


@rule(
    severity="warning",
    reason="The container calls a port of its own task on which nothing listens.",
    fix="Write a port of one of the task's port mappings.",
    source='Amazon ECS developer guide, "Amazon ECS task networking", awsvpc: containers share localhost',
)
def address_in_a_task_is_one_of_its_ports(resources: Resources) -> Iterator[Finding]:
    """A localhost address in a container's variable has a port that a container of the task maps."""
    for task, path, container in _containers(resources):
        ports = _ports(containers_of(task))
        for name, value in _variables(container).items():
            found = _OWN_ADDRESS.search(value)
            if found and ports and found[1] not in ports:
                yield about(task, f"{path}.Environment", f"{name} has port {found[1]}, which no container maps")


@rule(
    reason="No host can start the task: it stays pending, or its engine finds no device.",
    fix="Name devices that the hosts' instance type has.",
    source="EC2 DescribeInstanceTypes; aws-neuronx-dkms, which makes /dev/neuron0 and on",
)
def hosts_have_the_tasks_devices(resources: Resources) -> Iterator[Finding]:
    """The hosts of a service have the Neuron devices that its task uses."""
    for service, task, host in _hosts(resources):
        paths = [str(row.get("HostPath")) for one in containers_of(task) for row in _devices(one)]
        last = max((int(found[1]) for found in map(_DEVICE.fullmatch, paths) if found), default=-1)
        if last >= host.neuron_devices:
            yield about(service, "TaskDefinition", f"it needs /dev/neuron{last}; {host.name} has {host.neuron_devices}")


def _devices(container: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return rows(mapping(container.get("LinuxParameters")).get("Devices"))


@rule(
    reason="No host has enough memory: the task stays PROVISIONING, and ECS starts hosts that cannot run it.",
    fix="Leave some of the host's memory to the system and the ECS agent.",
    source='Amazon ECS developer guide, "Reserving Amazon ECS Linux container instance memory"',
)
def host_has_room_for_the_task(resources: Resources) -> Iterator[Finding]:
    """The containers of a task together reserve less memory than a host of its service registers."""
    for service, task, host in _hosts(resources):
        reserved = [one.get("MemoryReservation") or one.get("Memory") or 0 for one in containers_of(task)]
        total = sum(each for each in reserved if isinstance(each, int))
        room = host.memory_gib * 1024 * _REGISTERED_SHARE
        if total > room:
            yield about(service, "TaskDefinition", f"its tasks reserve {total} MiB; {host.name} registers {room:.0f}")


def _hosts(resources: Resources) -> Iterator[tuple[Resource, Resource, facts.InstanceType]]:
    """Yield services with their task definition and the instance type of their hosts, if Slipway knows it."""
    for service in resources.of_type(_SERVICE):
        task = resources.resource(service.at("TaskDefinition"), TASK)
        for strategy in rows(service.at("CapacityProviderStrategy")):
            provider = resources.resource(strategy.get("CapacityProvider"), "AWS::ECS::CapacityProvider")
            named = provider.at("AutoScalingGroupProvider.AutoScalingGroupArn") if provider else None
            group = resources.resource(named, "AWS::AutoScaling::AutoScalingGroup")
            if group and task:
                yield from ((service, task, host) for host in known_types_of(resources, group))


@rule(
    reason="ECS cannot pull the image: the task stops before it starts (CannotPullContainerError).",
    fix="Allow `ecr:BatchGetImage` on the repository in the task's execution role.",
    source='Amazon ECS developer guide, "Amazon ECS task execution IAM role"',
)
def execution_role_pulls_the_images(resources: Resources) -> Iterator[Finding]:
    """The execution role may pull each image that is in a repository of the stacks."""
    for task, path, container in _containers(resources):
        role = resources.resource(task.at("ExecutionRoleArn"), "AWS::IAM::Role")
        allowed = _pulled(resources, role) if role else {"*"}
        for key, _ in references(container.get("Image")):
            repository = resources.by_key.get(key)
            is_repository = repository and repository.type == "AWS::ECR::Repository"
            if role and repository and is_repository and not {"*", f"${{{key}.Arn}}"} & allowed:
                yield about(task, f"{path}.Image", f"{role.logical_id} may not pull from {repository.logical_id}")


def _pulled(resources: Resources, role: Resource) -> set[str]:
    """Return the ARNs of repositories from which a role may pull; `*` for a wildcard, or if policies are unknown."""
    found = list(statements_of_role(resources, role))
    if not found or role.at("ManagedPolicyArns"):
        return {"*"}
    pulls = [arn for one in found if one.allows_action("ecr:BatchGetImage") for arn in one.resources]
    return {"*" if "*" in arn else arn for arn in pulls}


@rule(
    severity="warning",
    reason="Hosts refuse the model that they fetch, because its manifest is that of another version: no task starts.",
    fix="Write the parameter of the manifest that belongs to the version.",
    source="assets/inference/host/model_folder.py, which checks the manifest",
)
def hosts_check_the_model_that_they_fetch(resources: Resources) -> Iterator[Finding]:
    """The model and its manifest in a host's user data are parameters of the same version."""
    for template in resources.of_type("AWS::EC2::LaunchTemplate"):
        for text in strings(template.at("LaunchTemplateData.UserData")):
            version, manifest = (found.search(text) for found in (_MODEL, _MANIFEST))
            if version and manifest and f"{version[1]}Manifest" != manifest[1]:
                yield about(template, "LaunchTemplateData.UserData", f"{manifest[1]} is not of {version[1]}")
