"""The task of an inference engine: one container with all Neuron devices of its host."""

from collections.abc import Mapping
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from constructs import Construct

from neuron_constructs.acknowledgements import ECR_LOG_IN, acknowledge
from neuron_constructs.inference.model import Model, MountedBucket
from neuron_constructs.log_groups import stack_log_group
from neuron_constructs.service_principals import bind_to_this_account
from slipway import facts

_HOST_RESERVE_MIB = 1536
"""What is left to the host: the ECS agent, the system, and the small containers beside the engine."""

_MOUNTPOINT_MIB = 2048
"""What Mountpoint for Amazon S3 takes on a host that mounts the model with it."""

_KEEP_ALIVE_MARGIN_SECONDS = 60
"""How much longer than the load balancer the engine keeps an idle connection."""

_MODEL_CHECK_MIB = 32

MODEL_CHECK = """\
for file; do
  if ! [ -s "$0/$file" ]; then
    echo "$0/$file is missing or empty, so the engine does not start: the model's folder is not complete," \\
      "was compiled for another engine, or its mount on this host has failed" >&2
    exit 1
  fi
done
"""
"""Shell script that ends with 1 unless every file (its arguments) is in the model's folder (its name)."""


@dataclass(frozen=True, kw_only=True)
class EngineTaskProps:
    """Properties of an `EngineTask`."""

    engine: facts.InferenceEngine
    """The engine's row."""

    image: ecs.ContainerImage
    """A container image with the engine's contract."""

    image_needs_log_in: bool
    """Whether it is in a private Amazon ECR repository."""

    model: Model
    """The model to serve, which the host has in its `host_directory`."""

    instance_type: str
    """EC2 instance type of the hosts; a task definition fits one type only."""

    compiled: facts.CompiledShape | None
    """What the model was compiled for, where that is known. The engine's row says whether it must be."""

    limits: Mapping[str, int]
    """Less than that, by the names of the engine's row; empty for the compiled values."""

    idle_timeout_seconds: int
    """Seconds without a byte after which the load balancer closes a connection."""

    log_retention: logs.RetentionDays
    """How long the engine's log is kept."""


class EngineTask(Construct):
    """Task definition of an engine on an Inferentia or Trainium host: all devices of the host, one task on each.

    A small container looks for the model's files first. Without them it ends with 1 and says so in the log, and the
    engine never starts: an engine that finds nothing in its folder would ask a public hub for a model of that name, or
    compile one. The engines' rows keep them off the hub anyway: huggingface_hub 0.35 refuses an absolute path as a
    model's name, and with HF_HUB_OFFLINE every call, both of which was tried; the engines themselves were only read.
    """

    definition: ecs.Ec2TaskDefinition
    container: ecs.ContainerDefinition
    log_group: logs.LogGroup
    settings: facts.EngineSettings
    """What the templates of the engine's row were filled with."""

    def __init__(self, scope: Construct, id: str, props: EngineTaskProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.settings = facts.EngineSettings(
            model_directory=props.model.container_directory,
            model_name=props.model.name,
            keep_alive_seconds=props.idle_timeout_seconds + _KEEP_ALIVE_MARGIN_SECONDS,
            compiled=props.compiled,
            limits=props.limits,
        )
        self.log_group = stack_log_group(self, "Logs", retention=props.log_retention)
        # The CDK's empty task role stays: neither container calls AWS.
        self.definition = ecs.Ec2TaskDefinition(self, "Definition", network_mode=ecs.NetworkMode.AWS_VPC)
        bind_to_this_account(self.definition.task_role)
        self.definition.add_volume(name="models", host=ecs.Host(source_path=props.model.host_directory))
        self.container = self._engine(props)
        check = self._model_check(props)
        self.container.add_container_dependencies(
            ecs.ContainerDependency(container=check, condition=ecs.ContainerDependencyCondition.SUCCESS)
        )
        for container in (self.container, check):
            container.add_mount_points(
                ecs.MountPoint(container_path=props.model.container_directory, source_volume="models", read_only=True)
            )
        for directory in props.engine.writable_directories:
            name = directory.strip("/").replace("/", "-")
            self.definition.add_volume(name=name)
            self.container.add_mount_points(
                ecs.MountPoint(container_path=directory, source_volume=name, read_only=False)
            )
        self._acknowledge(props)

    def _acknowledge(self, props: EngineTaskProps) -> None:
        acknowledge(
            self.definition,
            {
                "AwsSolutions-ECS2": "The variables name the model's path and the engine's switches, none is a "
                "secret; API keys come from Secrets Manager."
            },
        )
        # The CDK fills the role with what image, log and secret need, as an inline policy.
        role = self.definition.obtain_execution_role()
        acknowledge(
            role,
            {"NIST.800.53.R5-IAMNoInlinePolicy": "The role and its one policy live and die with this task definition."},
        )
        if props.image_needs_log_in:
            acknowledge(role, ECR_LOG_IN)

    def _engine(self, props: EngineTaskProps) -> ecs.ContainerDefinition:
        engine = props.engine
        return self.definition.add_container(
            "Engine",
            image=props.image,
            entry_point=list(engine.entry_point) if engine.entry_point else None,
            command=engine.command_for(self.settings) or None,
            environment=engine.environment_for(self.settings),
            # Soft: the page cache of the mapped weights counts as the container's, a hard limit would kill it. It is
            # also what keeps a second task off the host.
            memory_reservation_mib=_memory_reservation_mib(props),
            readonly_root_filesystem=True,
            working_directory=engine.working_directory,
            port_mappings=[ecs.PortMapping(container_port=engine.port)],
            linux_parameters=self._engine_parameters(props),
            stop_timeout=cdk.Duration.seconds(engine.stop_timeout_seconds),
            logging=self._log(engine.name),
        )

    def _model_check(self, props: EngineTaskProps) -> ecs.ContainerDefinition:
        parameters = ecs.LinuxParameters(self, "ModelCheckParameters")
        parameters.drop_capabilities(ecs.Capability.ALL)
        return self.definition.add_container(
            "ModelCheck",
            # The same image, because the host needs it anyway.
            image=props.image,
            entry_point=["/bin/sh", "-c", MODEL_CHECK],
            command=[props.model.container_directory, *props.engine.model_files],
            essential=False,
            memory_reservation_mib=_MODEL_CHECK_MIB,
            readonly_root_filesystem=True,
            linux_parameters=parameters,
            logging=self._log("model-check"),
        )

    def _log(self, stream_prefix: str) -> ecs.LogDriver:
        # Lines are dropped rather than the engine stopped when CloudWatch Logs is slow.
        return ecs.LogDrivers.aws_logs(
            stream_prefix=stream_prefix, log_group=self.log_group, mode=ecs.AwsLogDriverMode.NON_BLOCKING
        )

    def _engine_parameters(self, props: EngineTaskProps) -> ecs.LinuxParameters:
        # The init process passes SIGTERM on, and takes in the engine's orphaned workers.
        parameters = ecs.LinuxParameters(
            self, "LinuxParameters", init_process_enabled=True, shared_memory_size=props.engine.shared_memory_mib
        )
        parameters.drop_capabilities(ecs.Capability.ALL)
        parameters.add_capabilities(*(ecs.Capability[name] for name in props.engine.linux_capabilities))
        for device in range(facts.instance_type(props.instance_type).neuron_devices):
            path = f"/dev/neuron{device}"
            permissions = [ecs.DevicePermission.READ, ecs.DevicePermission.WRITE]
            parameters.add_devices(ecs.Device(host_path=path, container_path=path, permissions=permissions))
        return parameters


def _memory_reservation_mib(props: EngineTaskProps) -> int:
    """Return the engine's share: EC2's memory less what the kernel keeps (up to 5 %) and the host's reserve."""
    reserve = _HOST_RESERVE_MIB + _MODEL_CHECK_MIB
    if isinstance(props.model.source, MountedBucket):
        reserve += _MOUNTPOINT_MIB
    return int(facts.instance_type(props.instance_type).memory_gib * 1024 * 0.95) - reserve
