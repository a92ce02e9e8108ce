"""Inferentia hosts of an ECS cluster: launch template, Auto Scaling group, capacity provider."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, skip_checkov
from neuron_constructs.inference.model import Model
from slipway import facts

ROOT_VOLUME_GIB = 100
"""Size of a host's root volume: the engine's image is tens of GiB unpacked."""


@dataclass(frozen=True, kw_only=True)
class InferentiaHostsProps:
    """Properties of `InferentiaHosts`."""

    vpc: ec2.IVpc
    """The VPC."""

    subnets: Sequence[ec2.ISubnet]
    """Private subnets in zones that offer the instance type."""

    cluster: ecs.Cluster
    """The ECS cluster that the hosts join."""

    instance_type: str
    """EC2 instance type; a row of the facts with Neuron devices."""

    max_count: int
    """Most hosts. There are as many as the service has tasks, from none."""

    kept_during_update: int
    """Hosts that stay in service while others are replaced; less than `max_count`."""

    set_up_script: Path
    """The user data script, `assets/inference/host_setup.sh`."""

    model: Model
    """The model that a host mounts."""


class InferentiaHosts(Construct):
    """Hosts that ECS starts when the service wants tasks, each with the model mounted before it takes one."""

    capacity_provider: ecs.AsgCapacityProvider
    auto_scaling_group: autoscaling.AutoScalingGroup

    def __init__(self, scope: Construct, id: str, props: InferentiaHostsProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.auto_scaling_group = autoscaling.AutoScalingGroup(
            self,
            "Group",
            vpc=props.vpc,
            vpc_subnets=ec2.SubnetSelection(subnets=list(props.subnets)),
            launch_template=self._launch_template(props),
            min_capacity=0,
            max_capacity=props.max_count,
            # A changed launch template (another model, a newer AMI) reaches a host only by replacing it.
            update_policy=autoscaling.UpdatePolicy.rolling_update(
                max_batch_size=1, min_instances_in_service=props.kept_during_update
            ),
            group_metrics=[autoscaling.GroupMetrics.all()],
        )
        self.capacity_provider = ecs.AsgCapacityProvider(
            self,
            "CapacityProvider",
            auto_scaling_group=self.auto_scaling_group,
            enable_managed_scaling=True,
            enable_managed_draining=True,
            # With it instances stay protected from scale-in and `cdk destroy` hangs (aws/aws-cdk#18179). Draining
            # already protects the one task of a host.
            enable_managed_termination_protection=False,
        )
        props.cluster.add_asg_capacity_provider(self.capacity_provider)
        self._acknowledge_the_agents_policy()
        acknowledge(
            self.auto_scaling_group,
            {
                "AwsSolutions-AS3": "Hosts come and go with tasks; alarms watch the service, which is what users see.",
            },
        )

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

    def _launch_template(self, props: InferentiaHostsProps) -> ec2.LaunchTemplate:
        security_group = ec2.SecurityGroup(
            self,
            "SecurityGroup",
            vpc=props.vpc,
            description="Inference hosts: nothing in, HTTPS out",
            allow_all_outbound=False,
        )
        security_group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443), "AWS APIs, packages and images")
        return ec2.LaunchTemplate(
            self,
            "LaunchTemplate",
            instance_type=ec2.InstanceType(props.instance_type),
            machine_image=ecs.EcsOptimizedImage.amazon_linux2023(ecs.AmiHardwareType.NEURON),
            role=self._role(props),
            security_group=security_group,
            user_data=self._user_data(props),
            block_devices=[
                ec2.BlockDevice(
                    device_name="/dev/xvda",
                    volume=ec2.BlockDeviceVolume.ebs(
                        ROOT_VOLUME_GIB,
                        volume_type=ec2.EbsDeviceVolumeType.GP3,
                        encrypted=True,
                        delete_on_termination=True,
                    ),
                )
            ],
            http_tokens=ec2.LaunchTemplateHttpTokens.REQUIRED,
            # Containers are one hop further: they cannot take the host's role.
            http_put_response_hop_limit=1,
            detailed_monitoring=True,
            associate_public_ip_address=False,
        )

    def _role(self, props: InferentiaHostsProps) -> iam.Role:
        """Session Manager and the models: Mountpoint reads with the host's role, not the task's.

        The CDK adds what the ECS agent needs when the hosts join the cluster.
        """
        session_manager = "AmazonSSMManagedInstanceCore"
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            managed_policies=[
                props.model.reader_policy,
                iam.ManagedPolicy.from_aws_managed_policy_name(session_manager),
            ],
        )
        acknowledge(
            role,
            {
                f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{session_manager}]": (
                    "AWS keeps it in step with the Session Manager agent; a copy of ours would fall behind."
                )
            },
        )
        return role

    def _user_data(self, props: InferentiaHostsProps) -> ec2.UserData:
        """Parameters and the script itself: nothing is fetched before the host has proven itself."""
        parameters = {
            "SLIPWAY_ECS_CLUSTER": props.cluster.cluster_name,
            "SLIPWAY_MODEL_BUCKET": props.model.bucket.bucket_name,
            "SLIPWAY_MODEL_PREFIX": shlex.quote(props.model.prefix),
            "SLIPWAY_MODEL_MOUNT": shlex.quote(props.model.host_directory),
            "SLIPWAY_NEURON_DEVICES": str(facts.instance_type(props.instance_type).neuron_devices),
        }
        user_data = ec2.UserData.for_linux()
        user_data.add_commands(*(f"export {name}={value}" for name, value in parameters.items()))
        user_data.add_commands(props.set_up_script.read_text(encoding="utf-8"))
        return user_data
