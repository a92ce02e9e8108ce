"""The engine's own metrics in CloudWatch, from a second container of the task."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge
from neuron_constructs.inference.engine_task import EngineTask
from slipway import facts

METRICS_NAMESPACE = "Slipway/Inference"
"""CloudWatch namespace of engines and their hosts."""

MetricName = Literal[
    "QueueSize",
    "RunningRequests",
    "BatchUtilization",
    "PromptTokens",
    "GeneratedTokens",
    "Requests",
    "TimeToFirstToken",
    "RequestDuration",
    "Scrapes",
]

_MEMORY_MIB = 64
_MEMORY_LIMIT_MIB = 160
_NOBODY = "65534:65534"


@dataclass(frozen=True, kw_only=True)
class EngineMetricsProps:
    """Properties of `EngineMetrics`."""

    task: EngineTask
    """The engine's task; it gets the container."""

    engine: facts.InferenceEngine
    """The engine's row."""

    cluster_name: str
    """Name of the ECS cluster, a dimension of the metrics."""

    service_name: str
    """Name of the ECS service, a dimension of the metrics."""

    script: Path
    """What runs in the container: assets/inference/engine_metrics.py."""

    batch_size: int | None = None
    """Requests that a task answers at a time. Without it there is no `BatchUtilization`."""

    protects_busy_tasks: bool = True
    """Whether a task is kept from scale-in and replacement while it answers requests, for 15 minutes at most. It is of
    use where tasks come and go; elsewhere it only makes a deployment wait."""


class EngineMetrics(Construct):
    """A container beside the engine that reads its metrics and prints them in CloudWatch's embedded metric format.

    It is made from the engine's image, which is on the host already and has Python, and gets the script as an argument:
    no further image, no network for the task. CloudWatch Logs makes metrics of what it prints, wherever it comes from
    (Amazon CloudWatch User Guide, "Using the PutLogEvents API to send manually-created embedded metric format logs").
    The engine depends on nothing of it: it is not essential, and ECS starts it again when it ends.
    """

    metrics_namespace: str

    def __init__(self, scope: Construct, id: str, props: EngineMetricsProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.metrics_namespace = METRICS_NAMESPACE
        self._dimensions = {"ClusterName": props.cluster_name, "ServiceName": props.service_name}
        self._add_container(props)
        if props.protects_busy_tasks:
            self._allow_protection(props)

    def metric(self, name: MetricName, statistic: str) -> cloudwatch.Metric:
        """Return a metric over all tasks of the service, by the minute.

        Args:
            name: its name. `TimeToFirstToken` and `RequestDuration` are there where the engine measures them.
            statistic: `Average` and `Maximum` of `QueueSize`, `RunningRequests` and `BatchUtilization` are those of a
                task; tokens, `Requests` and `Scrapes` are counted (`Sum`); times have percentiles (`p50`, `p90`).
        """
        return cloudwatch.Metric(
            namespace=self.metrics_namespace,
            metric_name=name,
            dimensions_map=self._dimensions,
            statistic=statistic,
            period=cdk.Duration.minutes(1),
        )

    def _add_container(self, props: EngineMetricsProps) -> None:
        environment = {
            "SLIPWAY_METRICS_URL": f"http://127.0.0.1:{props.engine.port}{props.engine.metrics_path}",
            "SLIPWAY_METRIC_NAMES": json.dumps(dict(props.engine.metrics)),
            "SLIPWAY_NAMESPACE": self.metrics_namespace,
            "SLIPWAY_CLUSTER": props.cluster_name,
            "SLIPWAY_SERVICE": props.service_name,
            "SLIPWAY_PROTECT_BUSY_TASK": json.dumps(props.protects_busy_tasks),
        }
        if props.batch_size is not None:
            environment["SLIPWAY_BATCH_SIZE"] = str(props.batch_size)
        parameters = ecs.LinuxParameters(self, "LinuxParameters")
        parameters.drop_capabilities(ecs.Capability.ALL)
        props.task.definition.add_container(
            "EngineMetrics",
            image=ecs.ContainerImage.from_registry(props.task.container.image_name),
            # -I: neither the working directory nor variables of the image decide what is imported.
            entry_point=["python3", "-I", "-c"],
            command=[props.script.read_text(encoding="utf-8")],
            environment=environment,
            essential=False,
            enable_restart_policy=True,
            # The shortest that ECS takes; one that ends earlier stays ended.
            restart_attempt_period=cdk.Duration.seconds(60),
            memory_reservation_mib=_MEMORY_MIB,
            memory_limit_mib=_MEMORY_LIMIT_MIB,
            user=_NOBODY,
            readonly_root_filesystem=True,
            linux_parameters=parameters,
            logging=ecs.LogDrivers.aws_logs(
                stream_prefix="metrics",
                log_group=props.task.log_group,
                mode=ecs.AwsLogDriverMode.NON_BLOCKING,
            ),
        )

    def _allow_protection(self, props: EngineMetricsProps) -> None:
        """Let the task protect itself. Its other containers have the same role, and could do no more with it."""
        everywhere = f"{cdk.Aws.PARTITION}:ecs:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}"
        policy = iam.Policy(
            self,
            "Protection",
            roles=[props.task.definition.task_role],
            statements=[
                iam.PolicyStatement(
                    actions=["ecs:GetTaskProtection", "ecs:UpdateTaskProtection"],
                    resources=[f"arn:{everywhere}:task/{props.cluster_name}/*"],
                )
            ],
        )
        # A name that is a reference stands in the finding by its logical id.
        name = cdk.Stack.of(self).resolve(props.cluster_name)
        shown = name if isinstance(name, str) else f"<{name['Ref']}>"
        finding = f"arn:<AWS::Partition>:ecs:<AWS::Region>:<AWS::AccountId>:task/{shown}/*"
        acknowledge(
            policy,
            {
                "NIST.800.53.R5-IAMNoInlinePolicy": "The role and its one policy live and die with this task.",
                f"AwsSolutions-IAM5[Resource::{finding}]": "A task's id is made when it starts.",
            },
        )
