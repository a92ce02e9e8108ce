"""ECS's part: starts a stand-in engine as a task definition says, and stops it as ECS does."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.assembly import PROJECT
from tests.endpoint.gateway_targets import Target, TargetGroup
from tests.endpoint.stack_values import StackValues


@dataclass(frozen=True, kw_only=True)
class ServedContainer:
    """What the template says of a service's engine, and of the container that takes requests for it."""

    service: str
    """Name of the ECS service."""

    target_group: str
    """Logical id of the target group that its tasks register with."""

    desired_count: int
    entry_point: tuple[str, ...]
    command: tuple[str, ...]
    environment: Mapping[str, str]
    secrets: tuple[str, ...]
    """Variables whose values come from secrets: the engine's, and those of the container that takes requests."""

    port: int
    """Port that is registered with the target group."""

    engine_port: int
    """Port that the engine publishes inside the task."""

    stop_timeout_seconds: int

    grace_seconds: int
    """How long after its start ECS lets a task fail its health checks."""


def served_containers(values: StackValues) -> dict[str, ServedContainer]:
    """Return the containers of a template behind its load balancer, by the name of their service."""
    definitions = dict(values.resources("AWS::ECS::TaskDefinition"))
    found = dict[str, ServedContainer]()
    for _, service in values.resources("AWS::ECS::Service"):
        for registration in service.get("LoadBalancers", []):
            definition = definitions[service["TaskDefinition"]]
            found[service["ServiceName"]] = _container(service, registration, definition)
    return found


def _container(
    service: Mapping[str, Any], registration: Mapping[str, Any], definition: Mapping[str, Any]
) -> ServedContainer:
    containers = {container["Name"]: container for container in definition["ContainerDefinitions"]}
    entrance, container = containers[registration["ContainerName"]], containers["Engine"]
    port = int(registration["ContainerPort"])
    mapped = [mapping["ContainerPort"] for mapping in entrance["PortMappings"]]
    assert port in mapped, f"{entrance['Name']} is registered with port {port}, but publishes {mapped}"
    secrets = {secret["Name"]: None for each in (entrance, container) for secret in each.get("Secrets", ())}
    return ServedContainer(
        service=service["ServiceName"],
        target_group=registration["TargetGroupArn"],
        desired_count=int(service["DesiredCount"]),
        entry_point=tuple(container.get("EntryPoint", ())),
        command=tuple(container.get("Command", ())),
        environment={pair["Name"]: pair["Value"] for pair in container.get("Environment", ())},
        secrets=tuple(secrets),
        port=port,
        engine_port=int(container["PortMappings"][0]["ContainerPort"]),
        # 30 is the default of ECS's agent.
        stop_timeout_seconds=int(container.get("StopTimeout", 30)),
        grace_seconds=int(service.get("HealthCheckGracePeriodSeconds", 0)),
    )


@dataclass(eq=False)
class RunningTask:
    """A task of a service."""

    container: ServedContainer
    target: Target
    process: asyncio.subprocess.Process
    log: Path
    events: list[str] = field(default_factory=list)
    """What ECS did to it, in order: `deregistered`, `SIGTERM`, `SIGKILL`, `ended`."""

    def requests(self) -> Sequence[Mapping[str, Any]]:
        """What reached the engine, health checks included."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    async def stop(self, group: TargetGroup, *, scale: float, closes_connections: bool) -> None:
        """Stop the task in ECS's order: out of the target group, SIGTERM after its delay, SIGKILL after a time-out."""
        await group.deregister(self.target, closes_connections=closes_connections)
        self.events.append("deregistered")
        await self.end(self.container.stop_timeout_seconds * scale)

    async def end(self, seconds: float) -> None:
        """End the process: SIGTERM, and SIGKILL if it has not ended after the given real seconds."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
            self.events.append("SIGTERM")
        try:
            await asyncio.wait_for(self.process.wait(), seconds)
        except TimeoutError:
            # It can end at the very moment of the time-out.
            if self.process.returncode is None:
                self.process.kill()
                self.events.append("SIGKILL")
            await self.process.wait()
        self.events.append("ended")


@dataclass(frozen=True, kw_only=True)
class TaskStarter:
    """What tasks need beside their template."""

    engines: Mapping[str, str]
    """Engine by name of the service."""

    scale: float
    """Real seconds for one of the template's."""

    secret_value: str
    """What every secret's value is."""

    directory: Path
    """For logs."""

    async def start(self, container: ServedContainer, *, load_seconds: float = 0) -> RunningTask:
        """Start a task; its port is refused until the engine has loaded, as with the real ones."""
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        host, port = listener.getsockname()
        log = self.directory / f"{container.service}-{port}.jsonl"
        own = [
            *("--engine", self.engines[container.service]),
            *("--entry-point", json.dumps(container.entry_point)),
            *("--published-port", str(container.engine_port)),
            *("--listener", str(listener.fileno())),
            *("--scale", str(self.scale)),
            *("--load-seconds", str(load_seconds)),
            *("--log", str(log)),
        ]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.endpoint.stand_in_engine", *own, "--", *container.command),
            cwd=PROJECT,
            env={
                "PATH": os.environ["PATH"],
                **container.environment,
                **dict.fromkeys(container.secrets, self.secret_value),
            },
            pass_fds=(listener.fileno(),),
        )
        listener.close()
        return RunningTask(container, Target(host, port), process, log)
