"""A model that is rolled out: the version is a parameter of the inference stack, and nothing else changes with it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from slipway import facts
from stacks.inference import NO_MODEL_CHOSEN
from tests.assembly import Assembly, synthesize
from tests.conftest import AssemblyFactory
from tests.unit.test_job_kit_upload import kit_environment


@pytest.fixture
def rolledout(assemblies: AssemblyFactory) -> Assembly:
    """The variant whose model is rolled out."""
    return assemblies("rolledout")


def parameters(assembly: Assembly) -> dict[str, Any]:
    found: dict[str, Any] = assembly.template("inference")["Parameters"]
    return {name: found[name] for name in ("ServedModel", "PreviousModel") if name in found}


def test_a_fixed_prefix_needs_no_parameter(public: Assembly) -> None:
    assert parameters(public) == {}
    assert "Conditions" not in public.template("inference")


def test_nothing_is_served_before_the_first_roll_out(rolledout: Assembly) -> None:
    assert {name: item["Default"] for name, item in parameters(rolledout).items()} == {
        "ServedModel": NO_MODEL_CHOSEN,
        "PreviousModel": NO_MODEL_CHOSEN,
    }
    service = rolledout.resource("inference", "AWS::ECS::Service")
    assert service["DesiredCount"] == {"Fn::If": ["ModelIsRolledOut", 2, 0]}
    assert rolledout.template("inference")["Conditions"] == {
        "ModelIsRolledOut": {"Fn::Not": [{"Fn::Equals": [{"Ref": "ServedModel"}, NO_MODEL_CHOSEN]}]}
    }


def test_another_version_changes_hosts_and_tasks_together(rolledout: Assembly) -> None:
    changed = {
        resource["Type"]
        for resource in rolledout.template("inference")["Resources"].values()
        if '"ServedModel"' in json.dumps(resource)
    }
    assert changed == {"AWS::EC2::LaunchTemplate", "AWS::ECS::TaskDefinition"}
    user_data = json.dumps(rolledout.resource("inference", "AWS::EC2::LaunchTemplate")["LaunchTemplateData"])
    assert 'SLIPWAY_MODEL_PREFIX=\'", {"Ref": "ServedModel"}' in user_data


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
    for parameter in parameters(rolledout).values():
        assert bool(re.fullmatch(parameter["AllowedPattern"], value)) is allowed


def test_clients_keep_the_models_name_where_the_engine_can_be_told_one(rolledout: Assembly, tmp_path: Path) -> None:
    def environment(assembly: Assembly) -> dict[str, Any]:
        [container] = assembly.resource("inference", "AWS::ECS::TaskDefinition")["ContainerDefinitions"]
        return {item["Name"]: item["Value"] for item in container["Environment"]}

    inference = rolledout.environment.inference
    assert inference is not None
    with_vllm = rolledout.environment.model_copy(update={"inference": inference.model_copy(update={"engine": "vllm"})})

    assert environment(rolledout)["MODEL_ID"] == {"Fn::Join": ["", ["/models/", {"Ref": "ServedModel"}]]}
    assert environment(synthesize(with_vllm, tmp_path))["SM_ON_SERVED_MODEL_NAME"] == "tanuki-8b"


def test_the_template_says_what_a_version_must_fit(rolledout: Assembly) -> None:
    assert rolledout.template("inference")["Metadata"]["Slipway::Service"] == {
        "model": "tanuki-8b",
        "engine": "tgi",
        "neuron_release": facts.inference_engine("tgi").neuron_release,
        "instance_type": "inf2.8xlarge",
        "logical_neuron_cores": 2,
        "neuron_memory_gib": 32,
        "memory_gib": 128,
        "desired_count": 2,
    }


def test_the_job_kit_is_told_what_it_compiles_for(rolledout: Assembly, apikey: Assembly) -> None:
    told = [kit_environment(assembly).inference for assembly in (rolledout, apikey)]
    assert [(item.engine, item.engine_release, item.served_model) for item in told if item] == [
        ("tgi", "2.24.0", "tanuki-8b"),
        ("vllm", "2.26.1", None),
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
    assert facts.inference_engine("tgi").release_in(image) == release
