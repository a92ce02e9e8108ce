"""AWS's Neuron node problem detector and recovery on every host of an ECS cluster."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from neuron_constructs.acknowledgements import ECR_LOG_IN, acknowledge
from neuron_constructs.inference.engine_metrics import METRICS_NAMESPACE
from neuron_constructs.log_groups import stack_log_group
from neuron_constructs.service_principals import service_for_this_account

RECOVERY_NAMESPACE = "NeuronHealthCheck"
"""CloudWatch namespace of the recovery. The names of its metrics are not documented: `problems` counts for itself."""

# v0.8.19. Its container is privileged, so not by a tag: kubernetes/k8s.io 5f348a27,
# registry.k8s.io/images/k8s-staging-npd/images.yaml, from which that registry is filled.
_DETECTOR_DIGEST = "sha256:a28d0bd3f6ecc9648ecedd7135c31c31751e340017cc9a663911f7b064a8a010"
DETECTOR_IMAGE = f"registry.k8s.io/node-problem-detector/node-problem-detector@{_DETECTOR_DIGEST}"
"""Image of the detector."""

RECOVERY_IMAGE = "public.ecr.aws/neuron/neuron-node-recovery:1.3.0"
"""Image of the recovery."""

# Tags and commands: aws-neuron-sdk, deploy/ecs/npd.rst; errors and memory:
# src/k8/neuron-problem-detector/k8s-neuron-problem-detector-and-recovery*.yml; both as of 2026-08-21.
_ERRORS = ("SRAM_UNCORRECTABLE_ERROR", "NC_UNCORRECTABLE_ERROR", "HBM_UNCORRECTABLE_ERROR", "DMA_ERROR")
_ERROR_REASON = "NeuronHasError_"
_CONFIGURATION = "/config/kernel-monitor.json"


@dataclass(frozen=True, kw_only=True)
class NodeProblemDetectionProps:
    """Properties of `NodeProblemDetection`."""

    cluster: ecs.ICluster
    """The ECS cluster. A daemon service runs on all of its hosts."""

    auto_scaling_groups: Sequence[autoscaling.AutoScalingGroup]
    """Groups of the hosts; the recovery may mark their instances unhealthy, and those of no other group."""

    log_retention: logs.RetentionDays
    """How long the logs of both containers are kept."""

    detector_image: ecs.ContainerImage | None = None
    """A copy of `DETECTOR_IMAGE`, for hosts that reach no public registry."""

    recovery_image: ecs.ContainerImage | None = None
    """A copy of `RECOVERY_IMAGE`."""


class NodeProblemDetection(Construct):
    """A daemon service that replaces a host whose Neuron device has an error that does not go away.

    The detector reads the kernel's log, where the Neuron driver reports uncorrectable memory errors and failed DMA. The
    recovery asks it, counts an error in CloudWatch, and marks the instance unhealthy: the Auto Scaling group replaces
    it. Both use the host's network: no network interface is taken from the tasks, and the recovery reaches the instance
    metadata, which are closed to other containers.

    A host with daemon tasks alone counts as empty (Amazon ECS cluster auto scaling), so it keeps none alive. The image
    of the recovery is not public source: what it calls is known from AWS's example policy alone.
    """

    service: ecs.Ec2Service
    problems: cloudwatch.Metric
    """How often the detector found an error, over all hosts of the cluster."""

    def __init__(self, scope: Construct, id: str, props: NodeProblemDetectionProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        log_group = stack_log_group(self, "Logs", retention=props.log_retention)
        self.problems = self._count_problems(props, log_group)
        definition = ecs.Ec2TaskDefinition(
            self, "Definition", network_mode=ecs.NetworkMode.HOST, task_role=self._role(props)
        )
        self._add_detector(definition, log_group, props.detector_image or _public(DETECTOR_IMAGE))
        self._add_recovery(definition, log_group, props.recovery_image or _public(RECOVERY_IMAGE))
        _acknowledge(definition, logs_in=props.detector_image is not None)
        self.service = ecs.Ec2Service(
            self,
            "Service",
            cluster=props.cluster,
            task_definition=definition,
            daemon=True,
            # The only task of a host stops before its successor starts.
            min_healthy_percent=0,
            max_healthy_percent=100,
            circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
            enable_ecs_managed_tags=True,
        )

    def _count_problems(self, props: NodeProblemDetectionProps, log_group: logs.LogGroup) -> cloudwatch.Metric:
        """Count the lines in which the detector tells a new status with an error (log_monitor.go of v0.8.19)."""
        return logs.MetricFilter(
            self,
            "Problems",
            log_group=log_group,
            filter_pattern=logs.FilterPattern.literal(f"%{_ERROR_REASON}[A-Z_]+%"),
            metric_namespace=METRICS_NAMESPACE,
            # A metric filter has no dimensions with fixed values.
            metric_name=f"NodeProblems-{props.cluster.cluster_name}",
        ).metric(statistic="Sum")

    def _add_detector(
        self, definition: ecs.Ec2TaskDefinition, log_group: logs.LogGroup, image: ecs.ContainerImage
    ) -> None:
        kernel_log = ecs.LinuxParameters(self, "KernelLog")
        kernel_log.add_devices(
            ecs.Device(host_path="/dev/kmsg", container_path="/dev/kmsg", permissions=[ecs.DevicePermission.READ])
        )
        kernel_log.add_tmpfs(ecs.Tmpfs(container_path="/config", size=1, mount_options=[ecs.TmpfsMountOption.NOEXEC]))
        write = f"echo {shlex.quote(json.dumps(_kernel_monitor()))} > {_CONFIGURATION}"
        run = (
            "exec /node-problem-detector --logtostderr --enable-k8s-exporter=false "
            f"--config.system-log-monitor={_CONFIGURATION}"
        )
        definition.add_container(
            "Detector",
            image=image,
            entry_point=["/bin/sh", "-c"],
            command=[f"{write} && {run}"],
            memory_reservation_mib=80,
            memory_limit_mib=160,
            # The kernel's log is open to no other container: AWS's own task definition is privileged.
            privileged=True,
            readonly_root_filesystem=True,
            linux_parameters=kernel_log,
            logging=_log(log_group, "detector"),
        )

    def _add_recovery(
        self, definition: ecs.Ec2TaskDefinition, log_group: logs.LogGroup, image: ecs.ContainerImage
    ) -> None:
        parameters = ecs.LinuxParameters(self, "RecoveryParameters")
        parameters.drop_capabilities(ecs.Capability.ALL)
        definition.add_container(
            "Recovery",
            image=image,
            entry_point=["/bin/sh", "-c"],
            command=["python scripts/check-health.py"],
            environment={"ENABLE_RECOVERY": "true"},
            memory_reservation_mib=150,
            memory_limit_mib=300,
            readonly_root_filesystem=True,
            linux_parameters=parameters,
            logging=_log(log_group, "recovery"),
        )

    def _role(self, props: NodeProblemDetectionProps) -> iam.Role:
        """Count errors, and mark hosts of these groups unhealthy."""
        # The id in a group's ARN is not known to CloudFormation.
        prefix = f"arn:{cdk.Aws.PARTITION}:autoscaling:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:autoScalingGroup:*:"
        groups = [
            f"{prefix}autoScalingGroupName/{group.auto_scaling_group_name}" for group in props.auto_scaling_groups
        ]
        statements = [
            iam.PolicyStatement(actions=["autoscaling:SetInstanceHealth"], resources=groups),
            iam.PolicyStatement(
                actions=["autoscaling:DescribeAutoScalingInstances", "ec2:DescribeInstances"], resources=["*"]
            ),
            iam.PolicyStatement(
                actions=["cloudwatch:PutMetricData"],
                resources=["*"],
                conditions={"StringEquals": {"cloudwatch:namespace": RECOVERY_NAMESPACE}},
            ),
        ]
        role = iam.Role(self, "Role", assumed_by=service_for_this_account("ecs-tasks.amazonaws.com"))
        policy = iam.ManagedPolicy(self, "Policy", roles=[role], statements=statements)
        prefix = "arn:<AWS::Partition>:autoscaling:<AWS::Region>:<AWS::AccountId>:autoScalingGroup:*:"
        names = [
            cdk.Stack.of(self).resolve(group.auto_scaling_group_name)["Ref"] for group in props.auto_scaling_groups
        ]
        acknowledge(
            policy,
            {
                "AwsSolutions-IAM5[Resource::*]": "These actions know no resource; metrics are bound to a namespace.",
                **{
                    f"AwsSolutions-IAM5[Resource::{prefix}autoScalingGroupName/<{name}>]": (
                        "AWS makes the id in a group's ARN."
                    )
                    for name in names
                },
            },
        )
        return role


def _public(image: str) -> ecs.ContainerImage:
    return ecs.ContainerImage.from_registry(image)


def _kernel_monitor() -> dict[str, object]:
    """The detector's configuration: what the Neuron driver writes into the kernel's log."""
    return {
        "plugin": "kmsg",
        "logPath": "/dev/kmsg",
        "lookback": "5m",
        "bufferSize": 10,
        "source": "kernel-monitor",
        "conditions": [{"type": "NeuronHealth", "reason": "NeuronHasNoError", "message": "Neuron has no error"}],
        "rules": [
            {
                "type": "permanent",
                "condition": "NeuronHealth",
                "reason": f"{_ERROR_REASON}{error}",
                "pattern": f".* NEURON_HW_ERR={error} .*",
            }
            for error in _ERRORS
        ],
    }


def _log(log_group: logs.LogGroup, prefix: str) -> ecs.LogDriver:
    return ecs.LogDrivers.aws_logs(stream_prefix=prefix, log_group=log_group, mode=ecs.AwsLogDriverMode.NON_BLOCKING)


def _acknowledge(definition: ecs.Ec2TaskDefinition, *, logs_in: bool) -> None:
    acknowledge(
        definition,
        {
            "AwsSolutions-ECS2": "The one variable is a switch of AWS's image.",
            "NIST.800.53.R5-ECSTaskDefinitionUserForHostMode": "The kernel's log needs root; the task has no port.",
        },
    )
    role = definition.obtain_execution_role()
    acknowledge(
        role,
        {"NIST.800.53.R5-IAMNoInlinePolicy": "The role and its one policy live and die with this task definition."},
    )
    if logs_in:
        acknowledge(role, ECR_LOG_IN)
