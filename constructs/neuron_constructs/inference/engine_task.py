"""The task of an inference engine: one container with all Neuron devices of its host."""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge
from neuron_constructs.inference.container_image import container_image, is_in_ecr
from neuron_constructs.inference.model import Model
from neuron_constructs.log_groups import stack_log_group
from slipway import facts

_HOST_RESERVE_MIB = 3584
"""What is left to the host: 2 GiB for Mountpoint, the rest for the ECS agent and the system."""


@dataclass(frozen=True, kw_only=True)
class EngineTaskProps:
    """Properties of an `EngineTask`."""

    engine: facts.InferenceEngine
    """The engine's row."""

    image: str
    """Container image with a tag or digest."""

    model: Model
    """The model to serve, mounted by the host."""

    instance_type: str
    """EC2 instance type of the hosts; a task definition fits one type only."""

    api_key_secret_arn: str | None
    """Secrets Manager secret that holds the API key, if the engine asks for one."""

    log_retention: logs.RetentionDays
    """How long the engine's log is kept."""


class EngineTask(Construct):
    """Task definition of an engine on an Inferentia host."""

    definition: ecs.Ec2TaskDefinition

    def __init__(self, scope: Construct, id: str, props: EngineTaskProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.definition = ecs.Ec2TaskDefinition(self, "Definition", network_mode=ecs.NetworkMode.AWS_VPC)
        self.definition.add_volume(name="models", host=ecs.Host(source_path=props.model.host_directory))
        container = self._container(props)
        container.add_mount_points(
            ecs.MountPoint(container_path=props.model.container_directory, source_volume="models", read_only=True)
        )
        self._acknowledge_the_execution_role(props.image)
        acknowledge(
            self.definition,
            {
                "AwsSolutions-ECS2": "The variables name the model's path and the engine's switches, none is a "
                "secret; an API key comes from Secrets Manager."
            },
        )

    def _acknowledge_the_execution_role(self, image: str) -> None:
        """The CDK fills the role with what image, log and secret need, as an inline policy."""
        role = self.definition.obtain_execution_role()
        acknowledge(
            role,
            {"NIST.800.53.R5-IAMNoInlinePolicy": "The role and its one policy live and die with this task definition."},
        )
        if is_in_ecr(image):
            acknowledge(
                role, {"AwsSolutions-IAM5[Resource::*]": "ecr:GetAuthorizationToken, the log-in, knows no resource."}
            )

    def _container(self, props: EngineTaskProps) -> ecs.ContainerDefinition:
        engine = props.engine
        return self.definition.add_container(
            "Engine",
            image=container_image(self, "Repository", props.image),
            environment={
                **engine.environment,
                engine.model_environment: props.model.container_directory,
                **_served_name(engine, props.model),
            },
            secrets=self._secrets(props),
            # Soft: the page cache of the mapped weights counts as the container's, a hard limit would kill it. It is
            # also what keeps a second task off the host.
            memory_reservation_mib=_memory_reservation_mib(props.instance_type),
            port_mappings=[ecs.PortMapping(container_port=engine.port)],
            linux_parameters=self._linux_parameters(props),
            stop_timeout=cdk.Duration.seconds(engine.stop_timeout_seconds),
            logging=ecs.LogDrivers.aws_logs(
                stream_prefix=engine.name,
                log_group=stack_log_group(self, "Logs", retention=props.log_retention),
                mode=ecs.AwsLogDriverMode.NON_BLOCKING,
            ),
        )

    def _linux_parameters(self, props: EngineTaskProps) -> ecs.LinuxParameters:
        parameters = ecs.LinuxParameters(
            self,
            "LinuxParameters",
            init_process_enabled=True,
            shared_memory_size=props.engine.shared_memory_mib,
        )
        # The Neuron runtime pins host memory for its DMA rings.
        parameters.add_capabilities(ecs.Capability.IPC_LOCK)
        for device in range(facts.instance_type(props.instance_type).neuron_devices):
            path = f"/dev/neuron{device}"
            permissions = [ecs.DevicePermission.READ, ecs.DevicePermission.WRITE]
            parameters.add_devices(ecs.Device(host_path=path, container_path=path, permissions=permissions))
        return parameters

    def _secrets(self, props: EngineTaskProps) -> dict[str, ecs.Secret] | None:
        if props.api_key_secret_arn is None:
            return None
        secret = secretsmanager.Secret.from_secret_complete_arn(self, "ApiKey", props.api_key_secret_arn)
        return {props.engine.api_key_environment: ecs.Secret.from_secrets_manager(secret)}


def _served_name(engine: facts.InferenceEngine, model: Model) -> dict[str, str]:
    if model.name is None or engine.served_name_environment is None:
        return {}
    return {engine.served_name_environment: model.name}


def _memory_reservation_mib(instance_type: str) -> int:
    """Return the task's share of a host: EC2's memory less what the kernel keeps (up to 5 %) and the host's reserve."""
    return int(facts.instance_type(instance_type).memory_gib * 1024 * 0.95) - _HOST_RESERVE_MIB
