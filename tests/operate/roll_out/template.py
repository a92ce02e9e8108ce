"""A stack with the real parameters of two rolled-out models, and with resources that stand for hosts and tasks."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_s3 as s3

from neuron_constructs.inference.rolled_out_model import RolledOutModel, RolledOutModelProps

NONE = "no-model-chosen"
SERVICE: Mapping[str, Any] = {
    "service_name": "tanuki-8b",
    "engine": "tgi",
    "neuron_release": "2.24.0",
    "neuron_runtime": "2.26.42.0",
    "neuron_driver": "2.28.0.0",
    "architectures": ["LlamaForCausalLM"],
    "instance_type": "inf2.8xlarge",
    "logical_neuron_cores": 2,
    "neuron_memory_gib": 32,
    "memory_gib": 128,
    "desired_count": 2,
    "limits": {},
}
"""What the services of the tests are: `service=` of the construct."""


SERVICES = {"Tanuki8b": "tanuki-8b", "Tanuki8bCandidate": "tanuki-8b-candidate", "Kitsune": "kitsune"}
"""Names of the ECS services by the first part of their logical ids."""


def inference_template(name: str, bucket: str, **changes: Any) -> str:
    """Return the template of an inference stack: `tanuki-8b` with a canary, `kitsune` without.

    The version `broken` makes an update fail, as an unhealthy task does.

    Args:
        name: the environment's name.
        bucket: its model bucket.
        changes: what is different in the services' description.
    """
    return _inference_template(name, bucket, json.dumps(changes))


@cache
def _inference_template(name: str, bucket: str, changes: str) -> str:
    app = cdk.App()
    synthesizer = cdk.DefaultStackSynthesizer(generate_bootstrap_version_rule=False)
    stack = cdk.Stack(app, f"slipway-{name}-inference", synthesizer=synthesizer)
    service = {**SERVICE, **json.loads(changes)}
    cdk.CfnParameter(stack, "Other", default=f"other-{name}")
    cluster = ecs.CfnCluster(stack, "Cluster", cluster_name=stack.stack_name)
    for slug, canary in (("Tanuki8b", True), ("Kitsune", False)):
        model = SERVICES[slug]
        described = {**service, "service_name": model}
        props = RolledOutModelProps(
            name=model,
            slug=slug,
            none_chosen=NONE,
            service=described,
            canary=canary,
            # The one with a canary scales.
            task_count=service["desired_count"] if canary else None,
        )
        served = RolledOutModel(stack, props)
        count = service["desired_count"] if served.task_count is None else served.task_count
        _service(cluster, slug, served.prefix, served.is_chosen, count)
        if served.candidate_prefix and served.candidate_is_chosen and served.weights:
            _service(cluster, f"{slug}Candidate", served.candidate_prefix, served.candidate_is_chosen, 1)
            # What exists for the load balancer's rule.
            cdk.CfnOutput(stack, "Weights", value=cdk.Fn.join("/", [str(weight) for weight in served.weights]))
    cdk.CfnOutput(stack, "ModelBucket", value=bucket)
    return json.dumps(app.synth().get_stack_by_name(stack.stack_name).template)


def _service(cluster: ecs.CfnCluster, slug: str, prefix: str, is_chosen: cdk.CfnCondition, count: int) -> None:
    """Add a service, and hosts: a bucket whose name ends with the version, and which cannot be made for `broken`."""
    stack = cluster.stack
    name = SERVICES[slug]
    model = name.removesuffix("-candidate")
    is_broken = cdk.CfnCondition(
        stack, f"{slug}IsBroken", expression=cdk.Fn.condition_equals(prefix, f"{model}/broken")
    )
    version = cdk.Fn.join("-", cdk.Fn.split("/", prefix))
    hosts = cdk.Fn.join("-", [stack.stack_name.removeprefix("slipway-"), slug.lower(), version])
    s3.CfnBucket(
        stack,
        f"{slug}Hosts",
        bucket_name=cdk.Token.as_string(cdk.Fn.condition_if(is_broken.logical_id, "Not A Bucket", hosts)),
    )
    task = ecs.CfnTaskDefinition(
        stack,
        f"{slug}Task",
        family=f"{stack.stack_name}-{name}",
        container_definitions=[
            ecs.CfnTaskDefinition.ContainerDefinitionProperty(name="engine", image="engine:1", memory=128)
        ],
    )
    ecs.CfnService(
        stack,
        f"{slug}Service",
        cluster=cluster.ref,
        service_name=name,
        task_definition=task.ref,
        desired_count=cdk.Token.as_number(cdk.Fn.condition_if(is_chosen.logical_id, count, 0)),
    )
