"""The entrance of an engine's task where clients send an API key: TLS, and as many valid keys as the secret has."""

from dataclasses import dataclass
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from neuron_constructs.inference.engine_task import EngineTask
from slipway import facts

PROXY_PORT = 8443
"""TCP port on which tasks with a proxy take requests over TLS."""

PROXY_CONTAINER = "Proxy"
"""Name of the container."""

_NGINX_USER = "101:101"
_KEEP_ALIVE_MARGIN_SECONDS = 60
_MEMORY_MIB = 64
_MEMORY_LIMIT_MIB = 160
_WRITABLE_MIB = 8


@dataclass(frozen=True, kw_only=True)
class EngineProxyProps:
    """Properties of an `EngineProxy`."""

    task: EngineTask
    """The engine's task; it gets the container."""

    engine: facts.InferenceEngine
    """The engine's row."""

    image: ecs.ContainerImage
    """nginx: the row `engine-proxy` of `facts.cluster_images`, or a copy of it."""

    api_key: secretsmanager.ISecret
    """Secret with the valid keys as its text, with commas between them."""

    idle_timeout_seconds: int
    """Seconds without a byte after which the load balancer closes a connection; the proxy waits a minute longer."""

    script: Path
    """What runs in the container: assets/inference/engine_proxy.sh."""


class EngineProxy(Construct):
    """A container that takes the task's requests, and passes those with a valid key on to the engine.

    Engines take one key, so that changing it would have a gap, guard some of their paths only, and speak plain HTTP.
    The task's security group opens the proxy's port alone. The task ends with the proxy; Amazon ECS starts another.
    """

    def __init__(self, scope: Construct, id: str, props: EngineProxyProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        parameters = ecs.LinuxParameters(self, "LinuxParameters")
        parameters.drop_capabilities(ecs.Capability.ALL)
        # The keys and the certificate's own key are never on a disk.
        parameters.add_tmpfs(ecs.Tmpfs(container_path="/tmp", size=_WRITABLE_MIB))
        props.task.definition.add_container(
            PROXY_CONTAINER,
            image=props.image,
            # The script's name is what its messages call it.
            entry_point=["/bin/bash", "-c", props.script.read_text(encoding="utf-8"), "engine-proxy"],
            command=[
                str(PROXY_PORT),
                str(props.engine.port),
                props.engine.health_path,
                str(props.idle_timeout_seconds + _KEEP_ALIVE_MARGIN_SECONDS),
            ],
            secrets={"SLIPWAY_API_KEYS": ecs.Secret.from_secrets_manager(props.api_key)},
            memory_reservation_mib=_MEMORY_MIB,
            memory_limit_mib=_MEMORY_LIMIT_MIB,
            user=_NGINX_USER,
            readonly_root_filesystem=True,
            linux_parameters=parameters,
            port_mappings=[ecs.PortMapping(container_port=PROXY_PORT)],
            # Requests that the engine still finishes go through it.
            stop_timeout=cdk.Duration.seconds(props.engine.stop_timeout_seconds),
            logging=ecs.LogDrivers.aws_logs(
                stream_prefix="proxy", log_group=props.task.log_group, mode=ecs.AwsLogDriverMode.NON_BLOCKING
            ),
        )
