"""A model as an ECS service: hosts, task, deployment, registration with the endpoint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2
from aws_cdk import aws_logs as logs
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from neuron_constructs.acknowledgements import allow_redundant_depends_on
from neuron_constructs.inference.engine_metrics import EngineMetrics, EngineMetricsProps
from neuron_constructs.inference.engine_proxy import PROXY_CONTAINER, PROXY_PORT, EngineProxy, EngineProxyProps
from neuron_constructs.inference.engine_task import EngineTask, EngineTaskProps
from neuron_constructs.inference.hosts import InferentiaHosts, InferentiaHostsProps
from neuron_constructs.inference.model import Model
from neuron_constructs.proxy import Proxy
from slipway import facts
from slipway.bundle import ASSETS


@dataclass(frozen=True, kw_only=True)
class ModelServiceProps:
    """Properties of a `ModelService`."""

    name: str
    """Name of the ECS service: letters, digits and hyphens, one of its own in the cluster."""

    cluster: ecs.Cluster
    """The ECS cluster."""

    vpc: ec2.IVpc
    """The VPC."""

    subnets: Sequence[ec2.ISubnet]
    """Private subnets in zones that offer the instance type."""

    target_group: elbv2.ApplicationTargetGroup
    """Where tasks register for requests."""

    load_balancer_security_group: ec2.SecurityGroup
    """Where requests and health checks come from."""

    engine: facts.InferenceEngine
    """The engine's row."""

    image: ecs.ContainerImage
    """A container image with the engine's contract."""

    image_uri: str
    """The same as text, for hosts that fetch it before a task asks for it."""

    image_needs_log_in: bool
    """Whether it is in a private Amazon ECR repository."""

    ami_id: str | None = None
    """Image of the hosts, or None for the release that the engine's row names."""

    neuron_runtime: str | None
    """Version of the Neuron runtime library in the container image, or None if it is not known."""

    capacity_reservation_id: str | None = None
    """The reservation or Capacity Block that all hosts start in, in the zone of the subnets; none without one."""

    capacity_block: bool = False
    """Whether it is a Capacity Block."""

    instance_type: str
    """EC2 instance type of the hosts."""

    model: Model
    """The model to serve."""

    compiled: facts.CompiledShape | None = None
    """What the model was compiled for, where that is known."""

    limits: Mapping[str, int] = field(default_factory=dict)
    """Less than that, by the names of the engine's row."""

    task_count: int = 1
    """Fewest tasks."""

    desired_count: int | None = None
    """Tasks that a deployment starts, where a parameter of the template says it; `task_count` where none does."""

    scales: bool = False
    """Whether the number of tasks changes: a task that answers requests is then kept from scale-in."""

    max_hosts: int
    """Most hosts."""

    warm_pool_count: int = 0
    """Hosts that are set up and stopped."""

    deployment: Literal["surge", "in_place"] = "surge"
    """`surge`: a new task starts on a host of its own before an old one stops. `in_place`: the old one stops first."""

    idle_timeout_seconds: int
    """Seconds without a byte after which the load balancer closes a connection."""

    api_key: secretsmanager.ISecret | None
    """Secret with the valid API keys; none where the tasks ask for none, and take plain HTTP."""

    proxy_image: ecs.ContainerImage
    """What asks for the keys: nginx, `engine-proxy` of `facts.cluster_images`, or a copy of it."""

    scripts: Path = ASSETS / "inference"
    """Folder with the hosts' and tasks' scripts."""

    log_retention: logs.RetentionDays
    """How long the engine's log is kept."""

    http_proxy: Proxy | None = None
    """HTTP proxy of the hosts; `proxy_image` is another thing, it stands before the engine."""

    @property
    def port(self) -> int:
        """TCP port on which a task takes requests."""
        return PROXY_PORT if self.api_key else self.engine.port

    @property
    def batch_size(self) -> int | None:
        """Requests that a task answers at a time, where that is known."""
        return self.limits.get("max_batch_size") or (self.compiled.batch_size if self.compiled else None)


class ModelService(Construct):
    """An inference engine that serves one model, one task on each host."""

    service: ecs.Ec2Service
    hosts: InferentiaHosts
    task: EngineTask
    metrics: EngineMetrics
    batch_size: int | None

    def __init__(self, scope: Construct, id: str, props: ModelServiceProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.batch_size = props.batch_size
        self.task = self._task(props)
        self.metrics = EngineMetrics(
            self,
            "Metrics",
            EngineMetricsProps(
                task=self.task,
                engine=props.engine,
                cluster_name=props.cluster.cluster_name,
                service_name=props.name,
                script=props.scripts / "engine_metrics.py",
                batch_size=props.batch_size,
                protects_busy_tasks=props.scales,
            ),
        )
        if props.api_key:
            EngineProxy(
                self,
                "Proxy",
                EngineProxyProps(
                    task=self.task,
                    engine=props.engine,
                    image=props.proxy_image,
                    api_key=props.api_key,
                    idle_timeout_seconds=props.idle_timeout_seconds,
                    script=props.scripts / "engine_proxy.sh",
                ),
            )
        self.hosts = self._hosts(props)
        self.service = self._service(props)

    def _task(self, props: ModelServiceProps) -> EngineTask:
        return EngineTask(
            self,
            "Task",
            EngineTaskProps(
                engine=props.engine,
                image=props.image,
                image_needs_log_in=props.image_needs_log_in,
                model=props.model,
                instance_type=props.instance_type,
                compiled=props.compiled,
                limits=props.limits,
                idle_timeout_seconds=props.idle_timeout_seconds,
                log_retention=props.log_retention,
            ),
        )

    def _hosts(self, props: ModelServiceProps) -> InferentiaHosts:
        return InferentiaHosts(
            self,
            "Hosts",
            InferentiaHostsProps(
                vpc=props.vpc,
                subnets=props.subnets,
                cluster=props.cluster,
                service_name=props.name,
                instance_type=props.instance_type,
                capacity_reservation_id=props.capacity_reservation_id,
                capacity_block=props.capacity_block,
                machine_image=self._machine_image(props),
                neuron_runtime=props.neuron_runtime,
                image=props.image_uri,
                image_needs_log_in=props.image_needs_log_in,
                max_count=props.max_hosts,
                kept_during_update=props.task_count if props.deployment == "surge" else 0,
                warm_pool_count=props.warm_pool_count,
                set_up_scripts=props.scripts,
                model=props.model,
                model_files=props.engine.model_files,
                metrics_namespace=self.metrics.metrics_namespace,
                log_retention=props.log_retention,
                proxy=props.http_proxy,
            ),
        )

    def _machine_image(self, props: ModelServiceProps) -> ec2.IMachineImage:
        if props.ami_id is not None:
            return ec2.MachineImage.generic_linux({cdk.Stack.of(self).region: props.ami_id})
        # The parameter names one release and never changes, and holds its id in every Region. EC2 reads it when a host
        # starts: a parameter of the template would be read anew in each update.
        release = facts.machine_image(props.engine.machine_image)
        return ec2.MachineImage.resolve_ssm_parameter_at_launch(release.ssm_parameter)

    def _service(self, props: ModelServiceProps) -> ecs.Ec2Service:
        surge = props.deployment == "surge"
        capacity_provider = self.hosts.capacity_provider.capacity_provider_name
        service = ecs.Ec2Service(
            self,
            "Service",
            service_name=props.name,
            cluster=props.cluster,
            task_definition=self.task.definition,
            desired_count=props.task_count,
            # A host has devices for one task: without a spare host the old task must stop before the new one starts.
            min_healthy_percent=100 if surge else 0,
            max_healthy_percent=200 if surge else 100,
            # A move to another zone would cost a host and a model load, and stop answers where no host is to spare.
            availability_zone_rebalancing=ecs.AvailabilityZoneRebalancing.DISABLED,
            capacity_provider_strategies=[ecs.CapacityProviderStrategy(capacity_provider=capacity_provider, weight=1)],
            vpc_subnets=ec2.SubnetSelection(subnets=list(props.subnets)),
            security_groups=[self._task_security_group(props)],
            circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
            # Boot, image pull and the model's load, in which a task may fail its health check.
            health_check_grace_period=cdk.Duration.minutes(props.engine.load_minutes),
            enable_ecs_managed_tags=True,
        )
        entrance = PROXY_CONTAINER if props.api_key else self.task.container.container_name
        service.load_balancer_target(
            container_name=entrance, container_port=props.port
        ).attach_to_application_target_group(props.target_group)
        if props.model.is_chosen:
            count = props.task_count if props.desired_count is None else props.desired_count
            wanted = cdk.Fn.condition_if(props.model.is_chosen.logical_id, count, 0)
            cast("ecs.CfnService", service.node.default_child).desired_count = cdk.Token.as_number(wanted)
        # The service must go before the cluster lets go of its capacity provider (aws/containers-roadmap#631).
        service.node.add_dependency(props.cluster)
        allow_redundant_depends_on(service.node.default_child)
        return service

    def _task_security_group(self, props: ModelServiceProps) -> ec2.SecurityGroup:
        group = ec2.SecurityGroup(
            self, "TaskSecurityGroup", vpc=props.vpc, description="Engine: the endpoint in", allow_all_outbound=False
        )
        port = ec2.Port.tcp(props.port)
        group.add_ingress_rule(props.load_balancer_security_group, port, "Requests and health checks")
        props.load_balancer_security_group.add_egress_rule(group, port, "Engine")
        return group
