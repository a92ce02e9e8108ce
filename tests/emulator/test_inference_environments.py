"""Every pair of choices about inference, on the emulator: it is created, a version is rolled out, nothing is left."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from neuron_constructs.inference.rolled_out_model import METADATA
from slipway.config import load_environment
from slipway.rehearse.inventory import Inventory
from tests.assembly import PROJECT, Template, synthesize
from tests.emulator.running import RunningEmulator
from tests.inference_environments import CERTIFICATE_ARN, allowed_environments

pytestmark = pytest.mark.rehearsal

TEXTS = dict(allowed_environments())
ROLES = ("network", "storage", "inference")
"""Stacks in the order in which they are created. Nothing of inference is in another one."""

ACTIVE = frozenset({"CREATE_COMPLETE", "UPDATE_COMPLETE"})


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEmulator]:
    """One account for all environments, with the bucket and the parameter of the CDK's bootstrap stack."""
    options = ("--node-modules", str(PROJECT / "node_modules"), "--certificate", CERTIFICATE_ARN)
    running = RunningEmulator(tmp_path_factory.mktemp("emulator"), options)
    running.bootstrap()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def before(emulator: RunningEmulator) -> Inventory:
    """What the account holds before anything is deployed."""
    return emulator.inventory()


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_created_rolled_out_and_deleted_whole(
    name: str, emulator: RunningEmulator, before: Inventory, tmp_path: Path
) -> None:
    file = tmp_path / "environment.yaml"
    file.write_text(TEXTS[name], encoding="utf-8")
    assembly = synthesize(load_environment(file), tmp_path / "assembly")
    stacks = {f"slipway-{assembly.environment.name}-{role}": assembly.template(role) for role in ROLES}
    inference = list(stacks)[-1]
    models = stacks[inference].get("Metadata", {}).get(METADATA, {})

    for stack, template in stacks.items():
        emulator.deploy(assembly.directory, stack)
        assert active(emulator, stack) == wanted(template, models_are_chosen=False)
    assert {desired for service, desired in tasks(emulator, inference).items() if is_rolled_out(service, models)} <= {0}

    roll_out(emulator, inference, models)
    assert active(emulator, inference) == wanted(stacks[inference], models_are_chosen=True)
    assert 0 not in tasks(emulator, inference).values()
    assert ((90, 10) in weights(emulator)) == any(has_canary(model) for model in models.values())

    for stack in reversed(stacks):
        assert emulator.delete(stack) == "DELETE_COMPLETE", emulator.reasons(stack)
    assert emulator.undocumented(before) == []


def active(emulator: RunningEmulator, stack: str) -> set[str]:
    """The logical ids of what exists."""
    pages = emulator.cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
    found = [resource for page in pages for resource in page["StackResourceSummaries"]]
    assert {resource["ResourceStatus"] for resource in found} <= ACTIVE
    return {resource["LogicalResourceId"] for resource in found}


def wanted(template: Template, *, models_are_chosen: bool) -> set[str]:
    """The logical ids of what must stand; all conditions are about whether a model has a version."""
    return {
        logical_id
        for logical_id, resource in template["Resources"].items()
        if models_are_chosen or "Condition" not in resource
    }


def roll_out(emulator: RunningEmulator, stack: str, models: Mapping[str, Any]) -> None:
    """Serve a version of every rolled-out model, and a candidate where there is a canary."""
    values = {"served": "{}/v1", "candidate": "{}/v2", "served_weight": "90", "candidate_weight": "10"}
    chosen = {
        parameter: values[key].format(name)
        for name, model in models.items()
        for key, parameter in model["parameters"].items()
        if key in values
    }
    if chosen:
        standing = {parameter["ParameterKey"] for parameter in emulator.stack(stack)["Parameters"]}
        emulator.cloudformation.update_stack(
            StackName=stack,
            UsePreviousTemplate=True,
            Parameters=[
                *({"ParameterKey": key, "ParameterValue": value} for key, value in chosen.items()),
                *({"ParameterKey": key, "UsePreviousValue": True} for key in standing - chosen.keys()),
            ],
        )
        assert emulator.settled(stack) == "UPDATE_COMPLETE", emulator.reasons(stack)


def is_rolled_out(service: str, models: Mapping[str, Any]) -> bool:
    """Whether a service has no model before the first roll-out."""
    return service.removesuffix("-candidate") in {model["service_name"] for model in models.values()}


def has_canary(model: Mapping[str, Any]) -> bool:
    """Whether a model can have a candidate."""
    return "candidate" in model["parameters"]


def tasks(emulator: RunningEmulator, cluster: str) -> dict[str, int]:
    """How many tasks each service of a model wants."""
    ecs = emulator.client("ecs")
    arns = [arn for page in ecs.get_paginator("list_services").paginate(cluster=cluster) for arn in page["serviceArns"]]
    services = [ecs.describe_services(cluster=cluster, services=[arn])["services"][0] for arn in arns]
    return {
        service["serviceName"]: service["desiredCount"]
        for service in services
        # Deleted services stay visible for a while; a daemon service has no number of its own.
        if service["status"] == "ACTIVE" and service["schedulingStrategy"] == "REPLICA"
    }


def weights(emulator: RunningEmulator) -> set[tuple[int, ...]]:
    """The weights of the target groups in the rules of the only load balancer."""
    elb = emulator.client("elbv2")
    [balancer] = elb.describe_load_balancers()["LoadBalancers"]
    listeners = elb.describe_listeners(LoadBalancerArn=balancer["LoadBalancerArn"])["Listeners"]
    rules = [rule for row in listeners for rule in elb.describe_rules(ListenerArn=row["ListenerArn"])["Rules"]]
    forwards = [action["ForwardConfig"] for rule in rules for action in rule["Actions"] if "ForwardConfig" in action]
    return {tuple(int(group["Weight"]) for group in forward["TargetGroups"]) for forward in forwards}
