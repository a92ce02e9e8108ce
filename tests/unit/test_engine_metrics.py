"""An engine's metrics, from its own text through the synthesized container to the metric that its service scales on."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk.assertions import Template

from assets.inference.engine_metrics import UNITS
from neuron_constructs.inference.engine_metrics import EngineMetrics, EngineMetricsProps, MetricName
from neuron_constructs.inference.engine_task import EngineTask
from neuron_constructs.inference.scaling import ServiceScaling, ServiceScalingProps
from slipway import facts
from tests.assembly import Assembly, cdk_context
from tests.assets.engine_stand_in import RECORDED, SCRIPT, Answers, server, sidecar, until
from tests.engine_task_stack import COMPILED, ENGINES, container, definition, engine_task_stack
from tests.pack_findings import pack_findings


def scaled_stack(app: cdk.App, engine: str, **changes: Any) -> cdk.Stack:
    """A stack with an engine's task, its metrics, a service of it, and the service's scaling."""
    stack = engine_task_stack(app, engine, "inf2.xlarge")
    task = stack.node.find_child("Task")
    assert isinstance(task, EngineTask)
    wanted: dict[str, Any] = {"batch_size": COMPILED.batch_size, **changes}
    metrics = EngineMetrics(
        stack,
        "Metrics",
        EngineMetricsProps(
            task=task,
            engine=facts.inference_engine(engine),
            cluster_name="slipway-llm-inference",
            service_name="tanuki-8b",
            script=SCRIPT,
            **wanted,
        ),
    )
    vpc = ec2.Vpc.from_vpc_attributes(
        stack, "Vpc", vpc_id="vpc-1", availability_zones=["us-west-2a"], private_subnet_ids=["subnet-1"]
    )
    cluster = ecs.Cluster.from_cluster_attributes(
        stack, "Cluster", cluster_name="slipway-llm-inference", vpc=vpc, security_groups=[], has_ec2_capacity=True
    )
    service = ecs.Ec2Service(
        stack, "Service", cluster=cluster, task_definition=task.definition, min_healthy_percent=100
    )
    ServiceScaling(
        stack,
        "Scaling",
        ServiceScalingProps(
            service=service,
            min_count=1,
            max_count=4,
            metric=metrics.metric("QueueSize", "Average"),
            target=2,
            scale_out_cooldown_seconds=300,
            scale_in_cooldown_seconds=900,
            schedules=[],
            is_chosen=None,
            busy=metrics.metric("BatchUtilization", "Average"),
        ),
    )
    return stack


def synthesized(engine: str = "tgi", **changes: Any) -> Template:
    """The template of such a stack."""
    return Template.from_stack(scaled_stack(cdk.App(context=cdk_context()), engine, **changes))


def tracked(template: Template) -> Mapping[str, Mapping[str, Any]]:
    """The metrics that the scaling policies track, by name."""
    policies = template.find_resources("AWS::ApplicationAutoScaling::ScalingPolicy").values()
    specifications = [
        policy["Properties"]["TargetTrackingScalingPolicyConfiguration"]["CustomizedMetricSpecification"]
        for policy in policies
    ]
    return {one["MetricName"]: one for one in specifications}


@pytest.mark.parametrize("engine", ENGINES)
def test_what_an_engine_reports_reaches_the_metric_that_its_service_scales_on(engine: str) -> None:
    template = synthesized(engine)
    made = container(template, "EngineMetrics")
    # The CDK adds the Region to every container on EC2: a reference, and nothing that the script reads.
    environment = {each["Name"]: each["Value"] for each in made["Environment"] if each["Name"] != "AWS_REGION"}
    row = facts.inference_engine(engine)
    assert environment["SLIPWAY_METRICS_URL"] == f"http://127.0.0.1:{row.port}{row.metrics_path}"
    answers = Answers(text=(RECORDED / f"{engine}.txt").read_text())

    with server(answers) as url:
        # Only the port is the test's: the real one may be taken on this machine.
        here = {**environment, "SLIPWAY_METRICS_URL": f"{url}{row.metrics_path}", "PATH": os.environ["PATH"]}
        with sidecar(here, [*made["EntryPoint"], *made["Command"]]) as running:
            until(lambda: bool(running.data("QueueSize")))

    policies = tracked(template)
    assert set(policies) == {"QueueSize", "BatchUtilization"}
    for name, value in {"QueueSize": 3, "BatchUtilization": 100 * 4 / COMPILED.batch_size}.items():
        sent, policy = running.data(name)[0], policies[name]
        assert set(sent.values) == {value}
        assert (policy["Namespace"], policy["Statistic"]) == (sent.namespace, "Average")
        assert {(one["Name"], one["Value"]) for one in policy["Dimensions"]} == set(sent.dimensions)


@pytest.mark.parametrize("environment", ["public", "rolledout", "machines"])
def test_the_services_of_an_environment_scale_on_what_their_own_tasks_send(
    assemblies: Callable[[str], Assembly], environment: str
) -> None:
    assembly = assemblies(environment)
    sent = set()
    for resource in assembly.resources("inference", "AWS::ECS::TaskDefinition").values():
        for made in resource["Properties"]["ContainerDefinitions"]:
            if made["Name"] == "EngineMetrics":
                values = {each["Name"]: json.dumps(each["Value"]) for each in made["Environment"]}
                sent.add((values["SLIPWAY_CLUSTER"], values["SLIPWAY_SERVICE"]))
    policies = assembly.resources("inference", "AWS::ApplicationAutoScaling::ScalingPolicy").values()
    specifications = [
        policy["Properties"]["TargetTrackingScalingPolicyConfiguration"].get("CustomizedMetricSpecification")
        for policy in policies
    ]
    dimensions = [
        {one["Name"]: json.dumps(one["Value"]) for one in specification["Dimensions"]}
        for specification in specifications
        if specification
    ]

    assert {(one["ClusterName"], one["ServiceName"]) for one in dimensions} <= sent
    assert len(policies) > 0


def test_the_constructs_names_are_those_that_are_sent() -> None:
    assert set(get_args(MetricName)) == set(UNITS)


def test_the_container_has_next_to_nothing() -> None:
    template = synthesized()
    made = container(template, "EngineMetrics")

    assert made["Image"] == container(template)["Image"]
    assert made["Essential"] is False
    assert made["RestartPolicy"] == {"Enabled": True, "RestartAttemptPeriod": 60}
    assert (made["User"], made["ReadonlyRootFilesystem"]) == ("65534:65534", True)
    assert made["MemoryReservation"] <= 64
    assert not {"MountPoints", "PortMappings", "Secrets", "Privileged", "DependsOn"} & made.keys()
    assert made["LinuxParameters"]["Capabilities"] == {"Drop": ["ALL"]}
    assert made["LogConfiguration"]["Options"]["awslogs-stream-prefix"] == "metrics"
    assert "EngineMetrics" not in json.dumps(container(template).get("DependsOn", []))


def test_the_task_definition_stays_below_ecs_limit() -> None:
    assert len(json.dumps(definition(synthesized("vllm-aws")))) < 64 * 1024


def test_a_task_may_protect_itself_in_its_cluster_and_nothing_else() -> None:
    template = synthesized()
    task_role = definition(template)["TaskRoleArn"]["Fn::GetAtt"][0]
    of_the_role = {"Properties": {"Roles": [{"Ref": task_role}]}}
    (policy,) = template.find_resources("AWS::IAM::Policy", of_the_role).values()
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]

    assert statement["Action"] == ["ecs:GetTaskProtection", "ecs:UpdateTaskProtection"]
    assert json.dumps(statement["Resource"]).endswith(':task/slipway-llm-inference/*"]]}')


def test_a_task_that_never_comes_and_goes_is_not_protected() -> None:
    template = synthesized(protects_busy_tasks=False)
    made = container(template, "EngineMetrics")

    assert {"Name": "SLIPWAY_PROTECT_BUSY_TASK", "Value": "false"} in made["Environment"]
    assert "TaskProtection" not in json.dumps(template.to_json())


def test_a_batch_that_is_not_known_is_not_guessed() -> None:
    made = container(synthesized(batch_size=None), "EngineMetrics")

    assert "SLIPWAY_BATCH_SIZE" not in {each["Name"] for each in made["Environment"]}


def test_the_packs_accept_it(tmp_path: Path) -> None:
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path))
    scaled_stack(app, "tgi")

    findings = pack_findings(app, tmp_path)

    assert [finding for finding in findings if finding[1].startswith(("Test/Task/", "Test/Metrics/"))] == []
