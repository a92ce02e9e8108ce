"""How many tasks a service has: what Application Auto Scaling is told."""

from dataclasses import dataclass, replace
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elbv2

from neuron_constructs.inference.scaling import (
    CapacitySchedule,
    RequestsPerTarget,
    ServiceScaling,
    ServiceScalingProps,
)

NIGHT = CapacitySchedule(name="night", cron="0 20 ? * MON-FRI *", time_zone="Asia/Tokyo", min_count=0, max_count=0)
DAY = CapacitySchedule(name="day", cron="0 7 ? * MON-FRI *", time_zone="Asia/Tokyo", min_count=1, max_count=4)


def metric(name: str) -> cloudwatch.Metric:
    """A metric of the service."""
    return cloudwatch.Metric(
        namespace="Slipway/Inference",
        metric_name=name,
        dimensions_map={"ClusterName": "llm", "ServiceName": "tanuki"},
        statistic="Average",
        period=cdk.Duration.minutes(1),
    )


@dataclass
class Site:
    """A stack with a service behind a load balancer."""

    stack: cdk.Stack
    service: ecs.Ec2Service
    target_group: elbv2.ApplicationTargetGroup

    def props(self) -> ServiceScalingProps:
        """One to four tasks, two waiting requests for each."""
        return ServiceScalingProps(
            service=self.service,
            min_count=1,
            max_count=4,
            metric=metric("QueueSize"),
            target=2,
            scale_out_cooldown_seconds=300,
            scale_in_cooldown_seconds=900,
            schedules=[],
            is_chosen=None,
        )

    def resources(self, kind: str) -> dict[str, Any]:
        """The synthesized resources of a type of Application Auto Scaling."""
        template = assertions.Template.from_stack(self.stack)
        return dict(template.find_resources(f"AWS::ApplicationAutoScaling::{kind}"))


@pytest.fixture
def site() -> Site:
    """A service that is registered with a load balancer."""
    stack = cdk.Stack(cdk.App(), "Llm", env=cdk.Environment(account="111122223333", region="us-west-2"))
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-1",
        availability_zones=["us-west-2a", "us-west-2b"],
        private_subnet_ids=["subnet-1", "subnet-2"],
    )
    cluster = ecs.Cluster.from_cluster_attributes(
        stack, "Cluster", cluster_name="llm", vpc=vpc, security_groups=[], has_ec2_capacity=True
    )
    definition = ecs.Ec2TaskDefinition(stack, "Task", network_mode=ecs.NetworkMode.AWS_VPC)
    definition.add_container(
        "Engine",
        image=ecs.ContainerImage.from_registry("engine:1"),
        memory_reservation_mib=64,
        port_mappings=[ecs.PortMapping(container_port=80)],
    )
    service = ecs.Ec2Service(
        stack,
        "Service",
        service_name="tanuki",
        cluster=cluster,
        task_definition=definition,
        min_healthy_percent=100,
    )
    target_group = elbv2.ApplicationTargetGroup(
        stack, "Targets", vpc=vpc, port=80, target_type=elbv2.TargetType.IP, targets=[service]
    )
    load_balancer = elbv2.ApplicationLoadBalancer(stack, "LoadBalancer", vpc=vpc)
    load_balancer.add_listener("Http", port=80, open=False, default_target_groups=[target_group])
    return Site(stack, service, target_group)


def scaling(site: Site, **changes: Any) -> dict[str, Any]:
    """Synthesize with these properties; return the policies' target tracking by the metric that they track."""
    ServiceScaling(site.stack, "Scaling", replace(site.props(), **changes))
    configurations = [
        policy["Properties"]["TargetTrackingScalingPolicyConfiguration"]
        for policy in site.resources("ScalingPolicy").values()
    ]
    return {
        configuration.get("CustomizedMetricSpecification", {}).get("MetricName")
        or configuration["PredefinedMetricSpecification"]["PredefinedMetricType"]: configuration
        for configuration in configurations
    }


def test_the_queue_of_a_task_is_kept_at_the_target(site: Site) -> None:
    policies = scaling(site)

    assert list(policies) == ["QueueSize"]
    policy = policies["QueueSize"]
    assert (policy["TargetValue"], policy["ScaleOutCooldown"], policy["ScaleInCooldown"]) == (2, 300, 900)
    assert policy["CustomizedMetricSpecification"] == {
        "Namespace": "Slipway/Inference",
        "MetricName": "QueueSize",
        "Dimensions": [
            {"Name": "ClusterName", "Value": "llm"},
            {"Name": "ServiceName", "Value": "tanuki"},
        ],
        "Statistic": "Average",
    }


def test_the_bounds_are_those_of_the_service_by_its_name(site: Site) -> None:
    scaling(site)

    (target,) = (one["Properties"] for one in site.resources("ScalableTarget").values())
    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 4)
    assert target["ScalableDimension"] == "ecs:service:DesiredCount"
    service = site.stack.resolve(site.service.service_name)
    assert target["ResourceId"] == {"Fn::Join": ["", ["service/llm/", service]]}


def test_a_full_batch_keeps_its_task_and_adds_none(site: Site) -> None:
    policies = scaling(site, busy=metric("BatchUtilization"))

    assert set(policies) == {"QueueSize", "BatchUtilization"}
    # Percent of the batch: it is never above, so that the policy has a say in scaling in only.
    assert policies["BatchUtilization"]["TargetValue"] == 100
    assert not policies["BatchUtilization"].get("DisableScaleIn", False)


def test_requests_per_target_need_no_metrics_of_the_engine(site: Site) -> None:
    policies = scaling(site, metric=RequestsPerTarget(target_group=site.target_group), target=30)

    assert list(policies) == ["ALBRequestCountPerTarget"]
    assert policies["ALBRequestCountPerTarget"]["TargetValue"] == 30
    assert "ResourceLabel" in policies["ALBRequestCountPerTarget"]["PredefinedMetricSpecification"]


def test_schedules_are_of_their_time_zone(site: Site) -> None:
    scaling(site, schedules=[NIGHT, DAY])

    (target,) = (one["Properties"] for one in site.resources("ScalableTarget").values())
    actions = {
        action["Schedule"]: (action["Timezone"], action["ScalableTargetAction"])
        for action in target["ScheduledActions"]
    }
    assert actions == {
        "cron(0 20 ? * MON-FRI *)": ("Asia/Tokyo", {"MinCapacity": 0, "MaxCapacity": 0}),
        "cron(0 7 ? * MON-FRI *)": ("Asia/Tokyo", {"MinCapacity": 1, "MaxCapacity": 4}),
    }


def test_schedules_alone_track_nothing(site: Site) -> None:
    assert scaling(site, max_count=1, schedules=[NIGHT]) == {}
    assert len(site.resources("ScalableTarget")) == 1


def test_bounds_that_a_schedule_opens_are_used(site: Site) -> None:
    assert list(scaling(site, max_count=1, schedules=[DAY])) == ["QueueSize"]


def test_before_a_model_is_chosen_nothing_can_start_a_task(site: Site) -> None:
    chosen = cdk.CfnCondition(site.stack, "Chosen", expression=cdk.Fn.condition_equals("a", "b"))

    scaling(site, is_chosen=chosen, schedules=[NIGHT, DAY], busy=metric("BatchUtilization"))

    resources = {**site.resources("ScalableTarget"), **site.resources("ScalingPolicy")}
    assert len(resources) == 3
    assert {resource.get("Condition") for resource in resources.values()} == {"Chosen"}
