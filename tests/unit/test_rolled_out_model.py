"""A model that is rolled out: its versions are parameters of the inference stack, and nothing else changes with it."""

import json
import re
from typing import Any

import pytest

from slipway import facts
from slipway.operate.roll_out.service import METADATA, ServiceDescription
from slipway_stacks.served_model import NO_MODEL_CHOSEN
from tests.assembly import Assembly
from tests.conftest import AssemblyFactory
from tests.unit.test_job_kit_upload import kit_environment

VERSIONS = ("Tanuki8bServed", "Tanuki8bPrevious", "Tanuki8bCandidate")
WEIGHTS = {"Tanuki8bServedWeight": 100, "Tanuki8bCandidateWeight": 0}


@pytest.fixture
def rolledout(assemblies: AssemblyFactory) -> Assembly:
    """The variant whose model is rolled out, with a canary."""
    return assemblies("rolledout")


def parameters(assembly: Assembly) -> dict[str, Any]:
    found: dict[str, Any] = assembly.template("inference")["Parameters"]
    return {name: item for name, item in found.items() if name in (*VERSIONS, *WEIGHTS)}


def changed_with(assembly: Assembly, parameter: str) -> set[str]:
    """Types of the resources that hold a parameter."""
    return {
        resource["Type"]
        for resource in assembly.template("inference")["Resources"].values()
        if f'{{"Ref": "{parameter}"}}' in json.dumps(resource)
    }


def test_a_fixed_prefix_needs_no_parameter_and_a_model_without_canary_no_weights(public: Assembly) -> None:
    template = public.template("inference")
    assert parameters(public) == {}
    assert set(template["Metadata"][METADATA]) == {"tanuki-70b"}
    assert {name for name in template["Parameters"] if name.startswith("Tanuki")} == {
        "Tanuki70bServed",
        "Tanuki70bPrevious",
        "Tanuki70bServedManifest",
        "Tanuki70bPreviousManifest",
    }


def test_nothing_is_served_before_the_first_roll_out(rolledout: Assembly) -> None:
    defaults = {name: item["Default"] for name, item in parameters(rolledout).items()}
    assert defaults == {**dict.fromkeys(VERSIONS, NO_MODEL_CHOSEN), **WEIGHTS}
    services = {
        service["Properties"]["ServiceName"]: service["Properties"].get("DesiredCount")
        for service in rolledout.resources("inference", "AWS::ECS::Service").values()
        if service["Properties"].get("SchedulingStrategy") != "DAEMON"
    }
    assert services == {
        "tanuki-8b": {"Fn::If": ["Tanuki8bIsRolledOut", {"Ref": "Tanuki8bTaskCount"}, 0]},
        "tanuki-8b-candidate": {"Fn::If": ["Tanuki8bHasCandidate", 1, 0]},
    }
    conditions = rolledout.template("inference")["Conditions"]
    for name, parameter in (("Tanuki8bIsRolledOut", "Tanuki8bServed"), ("Tanuki8bHasCandidate", "Tanuki8bCandidate")):
        assert conditions[name] == {"Fn::Not": [{"Fn::Equals": [{"Ref": parameter}, NO_MODEL_CHOSEN]}]}


@pytest.mark.parametrize("parameter", ["Tanuki8bServed", "Tanuki8bCandidate"])
def test_another_version_changes_hosts_tasks_and_what_is_watched_together(rolledout: Assembly, parameter: str) -> None:
    assert changed_with(rolledout, parameter) == {
        "AWS::EC2::LaunchTemplate",
        "AWS::ECS::TaskDefinition",
        "AWS::Events::Rule",
    }


def test_another_share_changes_the_load_balancers_rules_only(rolledout: Assembly) -> None:
    for parameter in WEIGHTS:
        assert changed_with(rolledout, parameter) == {"AWS::ElasticLoadBalancingV2::ListenerRule"}


def test_what_was_served_before_changes_nothing(rolledout: Assembly) -> None:
    assert changed_with(rolledout, "Tanuki8bPrevious") == set()


def test_only_a_candidate_with_a_version_can_get_requests(rolledout: Assembly) -> None:
    rule = rolledout.template("inference")["Rules"]["Tanuki8bCandidateHasVersion"]
    assert rule["RuleCondition"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "Tanuki8bCandidateWeight"}, "0"]}]}
    [assertion] = rule["Assertions"]
    assert assertion["Assert"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "Tanuki8bCandidate"}, NO_MODEL_CHOSEN]}]}


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        (NO_MODEL_CHOSEN, True),
        ("tanuki-8b/v1", True),
        ("tanuki-8b/2026-11-21.step-1000", True),
        ("other/v1", False),
        ("tanuki-8b/v1/x", False),
        ("tanuki-8b/$(reboot)", False),
        ("tanuki-8b/v1'", False),
        ("tanuki-8b/../x", False),
    ],
)
def test_only_a_version_of_this_model_can_be_served(rolledout: Assembly, value: str, allowed: bool) -> None:
    for name in VERSIONS:
        assert bool(re.fullmatch(parameters(rolledout)[name]["AllowedPattern"], value)) is allowed


def test_the_template_says_what_a_version_must_fit(rolledout: Assembly) -> None:
    described = rolledout.template("inference")["Metadata"][METADATA]
    service = ServiceDescription.model_validate_json(json.dumps(described["tanuki-8b"]))
    engine = facts.inference_engine("tgi")

    assert list(described) == ["tanuki-8b"]
    assert service.parameters.served == "Tanuki8bServed"
    assert service.has_canary
    assert service.none_chosen == NO_MODEL_CHOSEN
    assert (service.service_name, service.candidate_name) == ("tanuki-8b", "tanuki-8b-candidate")
    assert (service.engine, service.neuron_release) == ("tgi", engine.neuron_release)
    assert service.architectures == tuple(engine.architectures)
    assert (service.instance_type, service.logical_neuron_cores) == ("inf2.8xlarge", 2)
    assert (service.neuron_memory_gib, service.memory_gib, service.desired_count) == (32, 128, 2)
    assert (service.compiled, service.volume_gib, service.limits) == (None, None, {})


def test_the_outputs_say_what_is_served(rolledout: Assembly) -> None:
    outputs = rolledout.template("inference")["Outputs"]
    assert {name: outputs[f"Tanuki8b{name}"]["Value"] for name in ("ServedVersion", "VersionBefore")} == {
        "ServedVersion": {"Ref": "Tanuki8bServed"},
        "VersionBefore": {"Ref": "Tanuki8bPrevious"},
    }
    assert outputs["Tanuki8bCandidateVersion"]["Value"] == {"Ref": "Tanuki8bCandidate"}
    assert outputs["Tanuki8bCandidatePercent"]["Value"] == {"Ref": "Tanuki8bCandidateWeight"}


def test_the_job_kit_is_told_what_it_compiles_for(rolledout: Assembly, apikey: Assembly) -> None:
    told = [service for assembly in (rolledout, apikey) for service in kit_environment(assembly).inference]
    assert [(service.model, service.engine, service.engine_release) for service in told] == [
        ("tanuki-8b", "tgi", "2.24.0"),
        ("imported", "vllm-hf", "2.26.1"),
    ]


@pytest.mark.parametrize(
    ("image", "release"),
    [
        (None, "2.24.0"),
        ("111122223333.dkr.ecr.us-west-2.amazonaws.com/tgi:3.3.5-neuron", "2.24.0"),
        ("111122223333.dkr.ecr.us-west-2.amazonaws.com/tgi:3.3.6-neuron", None),
        ("ghcr.io/huggingface/text-generation-inference@sha256:" + "0" * 64, None),
    ],
)
def test_a_copy_of_the_engines_image_has_its_release(image: str | None, release: str | None) -> None:
    engine = facts.inference_engine("tgi")
    assert engine.release_in(image) == release
    assert engine.runtime_in(image) == (release and engine.neuron_runtime)
