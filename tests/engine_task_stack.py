"""A stack with nothing but the task definition of an engine."""

from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk.assertions import Template

from neuron_constructs.inference.engine_proxy import EngineProxy, EngineProxyProps
from neuron_constructs.inference.engine_task import EngineTask, EngineTaskProps
from neuron_constructs.inference.model import LocalCopy, Model, MountedBucket
from slipway import facts
from tests.assembly import PROJECT, cdk_context

COMPILED = facts.CompiledShape(batch_size=4, sequence_length=4096, tensor_parallel_size=2)
SECRET_ARN = "arn:aws:secretsmanager:us-west-2:111122223333:secret:engine-key-AbCdEf"
ENGINES = tuple(facts.inference_engines())


def synthesized(
    engine: str = "tgi",
    instance_type: str = "inf2.xlarge",
    *,
    source: MountedBucket | LocalCopy | None = None,
    limits: Mapping[str, int] | None = None,
    compiled: facts.CompiledShape | None = COMPILED,
    with_key: bool = False,
) -> Template:
    """Return the template of a stack with one task definition."""
    return Template.from_stack(
        engine_task_stack(
            cdk.App(context=cdk_context()),
            engine,
            instance_type,
            source=source,
            limits=limits,
            compiled=compiled,
            with_key=with_key,
        )
    )


def engine_task_stack(
    app: cdk.App,
    engine: str,
    instance_type: str,
    *,
    source: MountedBucket | LocalCopy | None = None,
    limits: Mapping[str, int] | None = None,
    compiled: facts.CompiledShape | None = COMPILED,
    with_key: bool = False,
) -> cdk.Stack:
    """Return a stack with one task definition."""
    stack = cdk.Stack(app, "Test")
    row = facts.inference_engine(engine)
    task = EngineTask(
        stack,
        "Task",
        EngineTaskProps(
            engine=row,
            image=ecs.ContainerImage.from_registry(row.image),
            image_needs_log_in=False,
            model=Model(
                bucket=s3.Bucket.from_bucket_name(stack, "Bucket", "models"),
                reader_policy=iam.ManagedPolicy.from_managed_policy_name(stack, "Reader", "reader"),
                prefix="tanuki-8b/v1",
                name="tanuki-8b",
                source=source or MountedBucket(),
            ),
            instance_type=instance_type,
            compiled=compiled,
            limits=limits or {},
            idle_timeout_seconds=900,
            log_retention=logs.RetentionDays.ONE_WEEK,
        ),
    )
    if with_key:
        EngineProxy(
            stack,
            "Proxy",
            EngineProxyProps(
                task=task,
                engine=row,
                image=ecs.ContainerImage.from_registry(facts.cluster_image("engine-proxy").image),
                api_key=secretsmanager.Secret.from_secret_complete_arn(stack, "Key", SECRET_ARN),
                idle_timeout_seconds=900,
                script=PROJECT / "assets" / "inference" / "engine_proxy.sh",
            ),
        )
    return stack


def definition(template: Template) -> dict[str, Any]:
    """Return the properties of the only task definition."""
    (resource,) = template.find_resources("AWS::ECS::TaskDefinition").values()
    properties: dict[str, Any] = resource["Properties"]
    return properties


def container(template: Template, name: str = "Engine") -> dict[str, Any]:
    """Return one container of the only task definition."""
    (found,) = (each for each in definition(template)["ContainerDefinitions"] if each["Name"] == name)
    return dict(found)


def environment(template: Template) -> dict[str, Any]:
    """Return the engine's variables."""
    return {each["Name"]: each["Value"] for each in container(template)["Environment"]}
