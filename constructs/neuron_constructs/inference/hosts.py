"""Inferentia hosts of an ECS cluster: launch template, Auto Scaling group, warm pool, capacity provider."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, skip_checkov
from neuron_constructs.capacity_reservation import reserve
from neuron_constructs.inference.host_permissions import HostPermissions, host_role
from neuron_constructs.inference.host_user_data import (
    HOLD_SECONDS,
    HostScripts,
    driver_variables,
    host_user_data,
    model_variables,
    proxy_variables,
    set_up_seconds,
)
from neuron_constructs.inference.host_volumes import host_volumes
from neuron_constructs.inference.model import Model, MountedLustre
from neuron_constructs.log_groups import stack_log_group
from neuron_constructs.proxy import Proxy, let_reach
from slipway import facts

_LIFECYCLE_HOOK = "slipway-set-up"
"""The hosts' scripts know it by this name; names of hooks are a group's own."""


@dataclass(frozen=True, kw_only=True)
class InferentiaHostsProps:
    """Properties of `InferentiaHosts`."""

    vpc: ec2.IVpc
    """The VPC."""

    subnets: Sequence[ec2.ISubnet]
    """Private subnets in zones that offer the instance type."""

    cluster: ecs.Cluster
    """The ECS cluster that the hosts join."""

    service_name: str
    """Name of the ECS service that they are for, a dimension of their metrics."""

    instance_type: str
    """EC2 instance type; a row of the facts with Neuron devices."""

    capacity_reservation_id: str | None = None
    """The On-Demand Capacity Reservation or Capacity Block that all hosts start in, in the zone of the subnets."""

    capacity_block: bool = False
    """Whether it is a Capacity Block."""

    machine_image: ec2.IMachineImage
    """Image of the hosts: an ECS-optimized Amazon Linux 2023 image for Neuron, one release of it or a copy."""

    neuron_runtime: str | None
    """Version of the Neuron runtime library in the engine's image; a host whose driver does not work with it takes no
    task. None where that is not known: then every driver passes."""

    image: str
    """The engine's image as its task names it; hosts of the warm pool have it before they are stopped."""

    image_needs_log_in: bool
    """Whether it is in a private Amazon ECR repository."""

    max_count: int
    """Most hosts. There are as many as the service has tasks, from none."""

    kept_during_update: int
    """Hosts that stay in service while others are replaced; less than `max_count`."""

    warm_pool_count: int
    """Hosts that are set up and stopped, beside those; 0 for no warm pool."""

    set_up_scripts: Path
    """Folder with `user_data.sh`, and in `host` what it runs: assets/inference."""

    model: Model
    """The model that a host serves."""

    model_files: Sequence[str] = ("config.json",)
    """Files that the engine starts with, below the model's folder: a host without one takes no task."""

    metrics_namespace: str
    """CloudWatch namespace of the Neuron devices' metrics and of `HostFailures`."""

    log_retention: logs.RetentionDays
    """How long the reasons of failed hosts are kept."""

    proxy: Proxy | None = None
    """HTTP proxy of the hosts. Their containers need none: the agent and Docker reach AWS for them."""


class InferentiaHosts(Construct):
    """Hosts that ECS starts when the service wants tasks, each with the model proven before it takes one.

    A host goes into service only when it says so itself, by a lifecycle hook of its group: after its set-up, and once
    more after each start from the warm pool. One that fails, or says nothing for an hour (two for large copies), is
    replaced; why it failed is in `log_group`. Wanted hosts are never more for that, and the pace is bounded: see
    assets/inference/README.md.
    """

    capacity_provider: ecs.AsgCapacityProvider
    auto_scaling_group: autoscaling.AutoScalingGroup
    launch_template: ec2.LaunchTemplate
    """What hosts and their volumes are launched from; its tags become theirs."""
    log_group: logs.LogGroup

    def __init__(self, scope: Construct, id: str, props: InferentiaHostsProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.log_group = stack_log_group(self, "Logs", retention=props.log_retention)
        scripts = HostScripts(self, "Scripts", props.set_up_scripts / "host")
        role = host_role(self, props.model.reader_policy, pulls_images=self._pulls_from_ecr(props))
        self.launch_template = self._launch_template(props, scripts, role)
        self.auto_scaling_group = self._group(props)
        permissions = HostPermissions(
            self,
            "Permissions",
            role=role,
            group=self.auto_scaling_group,
            log_group=self.log_group,
            metrics_namespace=props.metrics_namespace,
            scripts=scripts,
        )
        hook = self.auto_scaling_group.add_lifecycle_hook(
            "SetUp",
            lifecycle_hook_name=_LIFECYCLE_HOOK,
            lifecycle_transition=autoscaling.LifecycleTransition.INSTANCE_LAUNCHING,
            default_result=autoscaling.DefaultResult.ABANDON,
            heartbeat_timeout=cdk.Duration.seconds(set_up_seconds(props.model) + HOLD_SECONDS + 600),
        )
        self.capacity_provider = self._capacity_provider(props)
        # Whatever starts hosts comes after what they need to report.
        for starts_hosts in (self.capacity_provider, *self._warm_pool(props)):
            starts_hosts.node.add_dependency(hook, permissions)

    def _group(self, props: InferentiaHostsProps) -> autoscaling.AutoScalingGroup:
        group = autoscaling.AutoScalingGroup(
            self,
            "Group",
            vpc=props.vpc,
            vpc_subnets=ec2.SubnetSelection(subnets=list(props.subnets)),
            launch_template=self.launch_template,
            min_capacity=0,
            max_capacity=props.max_count,
            health_checks=autoscaling.HealthChecks.with_additional_checks(
                additional_types=[autoscaling.AdditionalHealthCheckType.EBS], grace_period=cdk.Duration.minutes(5)
            ),
            # A changed launch template (another model, a newer AMI) reaches a host only by replacing it.
            update_policy=autoscaling.UpdatePolicy.rolling_update(
                max_batch_size=1, min_instances_in_service=props.kept_during_update
            ),
            group_metrics=[autoscaling.GroupMetrics.all()],
        )
        acknowledge(
            group,
            {"AwsSolutions-AS3": "Hosts come and go with tasks; alarms watch the service, which is what users see."},
        )
        return group

    def _capacity_provider(self, props: InferentiaHostsProps) -> ecs.AsgCapacityProvider:
        provider = ecs.AsgCapacityProvider(
            self,
            "CapacityProvider",
            auto_scaling_group=self.auto_scaling_group,
            enable_managed_scaling=True,
            enable_managed_draining=True,
            # No host without a task: the warm pool is what waits for more.
            target_capacity_percent=100,
            # With it instances stay protected from scale-in and `cdk destroy` hangs (aws/aws-cdk#18179). Draining
            # already protects the one task of a host.
            enable_managed_termination_protection=False,
        )
        props.cluster.add_asg_capacity_provider(provider)
        self._acknowledge_the_agents_policy()
        return provider

    def _warm_pool(self, props: InferentiaHostsProps) -> Sequence[Construct]:
        """Return the warm pool, if there is to be one; ECS does not take hosts that return to it."""
        if props.warm_pool_count == 0:
            return ()
        pool = self.auto_scaling_group.add_warm_pool(
            min_size=props.warm_pool_count,
            # Unsaid, it would hold all hosts up to the group's maximum.
            max_group_prepared_capacity=props.warm_pool_count,
            pool_state=autoscaling.PoolState.STOPPED,
            reuse_on_scale_in=False,
        )
        resource = pool.node.find_child("Resource")
        assert isinstance(resource, cdk.CfnResource)
        # Without a model every one of its hosts would fail.
        resource.cfn_options.condition = props.model.is_chosen
        return (pool,)

    def _acknowledge_the_agents_policy(self) -> None:
        """The CDK gives the host's role what the ECS agent calls, as an inline policy."""
        policy = self.auto_scaling_group.role.node.find_child("DefaultPolicy")
        reason = "Written by the CDK for the ECS agent: these actions know no resource, or are bound to this cluster."
        acknowledge(
            policy,
            {
                "AwsSolutions-IAM5[Action::ecs:Submit*]": reason,
                "AwsSolutions-IAM5[Resource::*]": reason,
                "NIST.800.53.R5-IAMNoInlinePolicy": reason,
            },
        )
        skip_checkov(policy.node.default_child, {"CKV_AWS_111": reason})

    def _launch_template(self, props: InferentiaHostsProps, scripts: HostScripts, role: iam.Role) -> ec2.LaunchTemplate:
        template = ec2.LaunchTemplate(
            self,
            "LaunchTemplate",
            instance_type=ec2.InstanceType(props.instance_type),
            machine_image=props.machine_image,
            role=role,
            security_group=self._security_group(props),
            user_data=host_user_data(scripts, props.set_up_scripts / "user_data.sh", self._variables(props)),
            block_devices=host_volumes(props.model),
            http_tokens=ec2.LaunchTemplateHttpTokens.REQUIRED,
            # Containers are one hop further: they cannot take the host's role.
            http_put_response_hop_limit=1,
            detailed_monitoring=True,
            associate_public_ip_address=False,
        )
        reserve(template, props.capacity_reservation_id, capacity_block=props.capacity_block)
        source = props.model.source
        if isinstance(source, MountedLustre):
            clients = ec2.SecurityGroup.from_security_group_id(
                self, "LustreClients", source.client_group_id, mutable=False
            )
            template.add_security_group(clients)
        return template

    def _security_group(self, props: InferentiaHostsProps) -> ec2.SecurityGroup:
        group = ec2.SecurityGroup(
            self,
            "SecurityGroup",
            vpc=props.vpc,
            description="Inference hosts: nothing in but from file servers, HTTPS out",
            allow_all_outbound=False,
        )
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443), "AWS APIs, packages and images")
        let_reach(group, props.proxy)
        return group

    def _variables(self, props: InferentiaHostsProps) -> dict[str, str]:
        return {
            "SLIPWAY_REGION": cdk.Stack.of(self).region,
            "SLIPWAY_ECS_CLUSTER": props.cluster.cluster_name,
            "SLIPWAY_SERVICE": props.service_name,
            "SLIPWAY_NEURON_DEVICES": str(facts.instance_type(props.instance_type).neuron_devices),
            **driver_variables(props.neuron_runtime),
            **model_variables(props.model),
            "SLIPWAY_MODEL_FILES": ":".join(props.model_files),
            "SLIPWAY_IMAGE": props.image,
            "SLIPWAY_WARM_POOL": "true" if props.warm_pool_count else "false",
            "SLIPWAY_METRICS_NAMESPACE": props.metrics_namespace,
            "SLIPWAY_LOG_GROUP": self.log_group.log_group_name,
            **proxy_variables(props.proxy),
        }

    def _pulls_from_ecr(self, props: InferentiaHostsProps) -> bool:
        return props.image_needs_log_in and props.warm_pool_count > 0
