"""A model as an ECS service: cluster, hosts, task, deployment, registration with the endpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from constructs import Construct

from neuron_constructs.acknowledgements import allow_redundant_depends_on
from neuron_constructs.inference.endpoint import Endpoint
from neuron_constructs.inference.engine_task import EngineTask, EngineTaskProps
from neuron_constructs.inference.hosts import InferentiaHosts, InferentiaHostsProps
from neuron_constructs.inference.model import Model
from neuron_constructs.log_groups import stack_log_group
from slipway import facts

_MODEL_LOAD_MINUTES = 20
"""How long a task may fail health checks after it started: boot, image pull and the model's load."""


@dataclass(frozen=True, kw_only=True)
class ModelServiceProps:
    """Properties of a `ModelService`."""

    cluster_name: str
    """Name of the ECS cluster, one of its own in account and region; it names a log group too."""

    vpc: ec2.IVpc
    """The VPC."""

    subnets: Sequence[ec2.ISubnet]
    """Private subnets in zones that offer the instance type."""

    endpoint: Endpoint
    """The load balancer that sends requests."""

    engine: facts.InferenceEngine
    """The engine's row."""

    image: str | None
    """Another container image with the engine's contract."""

    instance_type: str
    """EC2 instance type of the hosts."""

    model: Model
    """The model to serve."""

    desired_count: int
    """Tasks to run; 0 until the model is in the bucket."""

    max_count: int
    """Most hosts."""

    api_key_secret_arn: str | None
    """Secret with the engine's API key."""

    set_up_script: Path
    """The hosts' user data script."""

    log_retention: logs.RetentionDays
    """How long the logs of engine and cluster are kept."""

    @property
    def has_spare_host(self) -> bool:
        """Whether a new task finds a host of its own before an old one stops: a host has devices for one task."""
        return self.max_count > self.desired_count


class ModelService(Construct):
    """An inference engine that serves one model, one task on each host."""

    cluster: ecs.Cluster
    service: ecs.Ec2Service

    def __init__(self, scope: Construct, id: str, props: ModelServiceProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.cluster = self._cluster(props)
        hosts = InferentiaHosts(
            self,
            "Hosts",
            InferentiaHostsProps(
                vpc=props.vpc,
                subnets=props.subnets,
                cluster=self.cluster,
                instance_type=props.instance_type,
                max_count=props.max_count,
                kept_during_update=props.desired_count if props.has_spare_host else 0,
                set_up_script=props.set_up_script,
                model=props.model,
            ),
        )
        task = EngineTask(
            self,
            "Task",
            EngineTaskProps(
                engine=props.engine,
                image=props.image or props.engine.image,
                model=props.model,
                instance_type=props.instance_type,
                api_key_secret_arn=props.api_key_secret_arn,
                log_retention=props.log_retention,
            ),
        )
        self.service = self._service(props, hosts, task)

    def _cluster(self, props: ModelServiceProps) -> ecs.Cluster:
        """A cluster whose Container Insights write to a log group of the stack.

        CloudWatch makes that group by itself when it is missing, outside of any stack and without retention. Its name
        holds the cluster's, which is why the cluster is named and the group is there first.
        """
        log_group = stack_log_group(
            self,
            "InsightsLogs",
            retention=props.log_retention,
            name=f"/aws/ecs/containerinsights/{props.cluster_name}/performance",
        )
        cluster = ecs.Cluster(
            self,
            "Cluster",
            cluster_name=props.cluster_name,
            vpc=props.vpc,
            container_insights_v2=ecs.ContainerInsights.ENHANCED,
        )
        cluster.node.add_dependency(log_group)
        return cluster

    def _service(self, props: ModelServiceProps, hosts: InferentiaHosts, task: EngineTask) -> ecs.Ec2Service:
        service = ecs.Ec2Service(
            self,
            "Service",
            cluster=self.cluster,
            task_definition=task.definition,
            desired_count=props.desired_count,
            # Without a spare host the old task must stop before the new one starts.
            min_healthy_percent=100 if props.has_spare_host else 0,
            max_healthy_percent=200 if props.has_spare_host else 100,
            # A move to another zone would cost a host and a model load, and stop answers where no host is to spare.
            availability_zone_rebalancing=ecs.AvailabilityZoneRebalancing.DISABLED,
            capacity_provider_strategies=[
                ecs.CapacityProviderStrategy(capacity_provider=hosts.capacity_provider.capacity_provider_name, weight=1)
            ],
            vpc_subnets=ec2.SubnetSelection(subnets=list(props.subnets)),
            security_groups=[self._task_security_group(props)],
            circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
            health_check_grace_period=cdk.Duration.minutes(_MODEL_LOAD_MINUTES),
        )
        service.attach_to_application_target_group(props.endpoint.target_group)
        if props.model.is_chosen:
            wanted = cdk.Fn.condition_if(props.model.is_chosen.logical_id, props.desired_count, 0)
            cast("ecs.CfnService", service.node.default_child).desired_count = cdk.Token.as_number(wanted)
        # The service must go before the cluster lets go of its capacity provider (aws/containers-roadmap#631).
        service.node.add_dependency(self.cluster)
        allow_redundant_depends_on(service.node.default_child)
        return service

    def _task_security_group(self, props: ModelServiceProps) -> ec2.SecurityGroup:
        group = ec2.SecurityGroup(
            self, "TaskSecurityGroup", vpc=props.vpc, description="Engine: the endpoint in", allow_all_outbound=False
        )
        port = ec2.Port.tcp(props.engine.port)
        group.add_ingress_rule(props.endpoint.security_group, port, "Requests and health checks")
        props.endpoint.security_group.add_egress_rule(group, port, "Engine")
        return group
