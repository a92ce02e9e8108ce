"""Engines' rows: their templates, and the replay of what a server refuses at its start."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from slipway import facts
from slipway.facts import CompiledShape, EngineSettings, SettingsProblem

from .conftest import SpoiledFacts

DOCS = Path(__file__).parents[2] / "docs"
SHAPE = CompiledShape(batch_size=4, sequence_length=4096, tensor_parallel_size=2)
ENGINES = tuple(facts.inference_engines().values())
TGI = facts.inference_engine("tgi")
EQUAL = tuple(engine for engine in ENGINES if engine is not TGI)

shapes = st.builds(
    CompiledShape,
    batch_size=st.integers(1, 64),
    sequence_length=st.integers(128, 32768),
    tensor_parallel_size=st.sampled_from([1, 2, 8, 12, 24]),
)
limit_sets = st.fixed_dictionaries(
    {},
    optional={
        "max_batch_size": st.integers(1, 128),
        "max_input_tokens": st.integers(1, 40000),
        "max_total_tokens": st.integers(1, 40000),
    },
)


def settings(compiled: CompiledShape | None = SHAPE, **limits: int) -> EngineSettings:
    return EngineSettings(
        model_directory="/models/m", model_name="m", keep_alive_seconds=960, compiled=compiled, limits=limits
    )


def fields(problems: list[SettingsProblem]) -> set[str]:
    return {".".join(problem.field) for problem in problems}


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_templates_leave_no_field_open(engine: facts.InferenceEngine) -> None:
    every = settings(max_batch_size=1, max_input_tokens=2, max_total_tokens=3)
    rendered = [
        *engine.command_for(every),
        *engine.environment_for(every).values(),
        engine.model_id_for(every),
    ]

    assert len(engine.command_for(every)) == len(engine.command)
    assert engine.environment_for(every).keys() == engine.environment.keys()
    assert not any(brace in text for text in rendered for brace in "{}")
    assert any("/models/m" in text for text in rendered)
    assert engine.model_id_for(every) in {"/models/m", "m"}


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_clients_are_told_what_the_engine_lists(engine: facts.InferenceEngine) -> None:
    text = (DOCS / "endpoint-clients.md").read_text(encoding="utf-8")
    (line,) = (line for line in text.split("* ") if line.startswith("The model's id is"))
    own = f"`/models/tanuki-8b` with the engine `{engine.name}`"

    assert (own in line) is ("{model_directory}" in engine.model_id)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_the_documentation_names_the_hosts_image_and_driver(engine: facts.InferenceEngine) -> None:
    image = facts.machine_image(engine.machine_image)
    name = image.ssm_parameter.split("/")[-2].partition("-kernel")[0]
    row = f"| `{engine.name}` | {engine.neuron_runtime} | `{name}` | {image.neuron_driver} |"

    assert row in (DOCS / "endpoint.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_a_template_without_its_value_is_left_out(engine: facts.InferenceEngine) -> None:
    known, unknown = settings(), settings(compiled=None)

    assert set(engine.command_for(unknown)) <= set(engine.command_for(known))
    assert engine.environment_for(unknown).items() <= engine.environment_for(known).items()
    assert not any("4096" in text for text in (*engine.command_for(unknown), *engine.environment_for(unknown).values()))


def test_an_unknown_field_is_refused(spoiled_facts: SpoiledFacts) -> None:
    spoiled_facts.replace("inference_engines.yaml", "--port={port}", "--port={prot}")
    with pytest.raises(ValidationError, match=r"unknown fields \['prot'\]"):
        facts.inference_engines()


def test_a_limit_compares_with_a_compiled_value(spoiled_facts: SpoiledFacts) -> None:
    spoiled_facts.replace("inference_engines.yaml", "comparison: at most", "comparison: about")
    with pytest.raises(ValidationError, match="'at most', 'equal to' or 'below'"):
        facts.inference_engines()


@pytest.mark.parametrize(
    ("engine", "limits", "expected"),
    [
        ("tgi", {}, set()),
        ("tgi", {"max_batch_size": 4, "max_total_tokens": 4096, "max_input_tokens": 4095}, set()),
        ("tgi", {"max_batch_size": 5}, {"limits.max_batch_size"}),
        ("tgi", {"max_total_tokens": 4097}, {"limits.max_total_tokens"}),
        ("tgi", {"max_input_tokens": 4096}, {"limits.max_input_tokens"}),
        ("tgi", {"max_input_tokens": 2048, "max_total_tokens": 2048}, {"limits.max_input_tokens"}),
        # Left out, the longest prompt is half of 4096.
        ("tgi", {"max_total_tokens": 2048}, {"limits.max_input_tokens"}),
        ("tgi", {"max_total_tokens": 2049}, set()),
        ("vllm-hf", {"max_batch_size": 4, "max_total_tokens": 4096}, set()),
        ("vllm-hf", {"max_batch_size": 3}, {"limits.max_batch_size"}),
        ("vllm-hf", {"max_input_tokens": 100}, {"limits.max_input_tokens"}),
        (
            "vllm-aws",
            {"max_batch_size": 5, "max_total_tokens": 1},
            {"limits.max_batch_size", "limits.max_total_tokens"},
        ),
    ],
)
def test_limits_against_the_compiled_values(engine: str, limits: Mapping[str, int], expected: set[str]) -> None:
    assert fields(facts.inference_engine(engine).settings_problems(SHAPE, limits, 2)) == expected


def test_a_problem_says_the_numbers_and_what_to_write() -> None:
    (problem,) = TGI.settings_problems(SHAPE, {"max_batch_size": 5}, 2)

    assert problem.message == "must be at most the compiled batch_size (got 5, compiled is 4)"
    assert problem.fix == "Write 4 or less, or leave it out."


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_the_model_must_fit_the_hosts_cores(engine: facts.InferenceEngine) -> None:
    assert engine.settings_problems(SHAPE, {}, 2) == []
    assert fields(engine.settings_problems(SHAPE, {}, 1)) == {"compiled.tensor_parallel_size"}


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_only_an_engine_that_must_be_told_asks_for_the_compiled_values(engine: facts.InferenceEngine) -> None:
    asked = fields(engine.settings_problems(None, {}, 2))

    assert asked == ({"compiled"} if engine.name in {"vllm-aws", "vllm-neuron"} else set())


def tgi_starts(compiled: CompiledShape, limits: Mapping[str, int], cores: int) -> bool:
    """What tgi_env.py's compatibility check, and after it the launcher's, let pass (v3.3.5), in their order."""
    if compiled.tensor_parallel_size > cores:
        return False
    if compiled.batch_size < limits.get("max_batch_size", 0):
        return False
    if compiled.sequence_length < limits.get("max_total_tokens", 0):
        return False
    if limits.get("max_input_tokens", 0) >= compiled.sequence_length:
        return False
    longest = limits.get("max_input_tokens") or compiled.sequence_length // 2
    total = limits.get("max_total_tokens") or compiled.sequence_length
    return longest < total


@given(compiled=shapes, limits=limit_sets, cores=st.sampled_from([2, 12, 24]))
def test_tgi_is_refused_what_its_entry_point_refuses(
    compiled: CompiledShape, limits: Mapping[str, int], cores: int
) -> None:
    assert (TGI.settings_problems(compiled, limits, cores) == []) is tgi_starts(compiled, limits, cores)


@given(compiled=shapes, share=st.floats(0, 1))
def test_tgi_takes_every_smaller_batch_and_longer_answer(compiled: CompiledShape, share: float) -> None:
    limits = {"max_batch_size": max(1, int(compiled.batch_size * share)), "max_input_tokens": 1}

    assert TGI.settings_problems(compiled, limits, 24) == []


@given(compiled=shapes, limits=limit_sets, engine=st.sampled_from(EQUAL))
def test_vllm_takes_equal_values_alone(
    compiled: CompiledShape, limits: Mapping[str, int], engine: facts.InferenceEngine
) -> None:
    equal = {"max_batch_size": compiled.batch_size, "max_total_tokens": compiled.sequence_length}
    wrong = {f"limits.{name}" for name, value in limits.items() if equal.get(name) != value}

    assert fields(engine.settings_problems(compiled, limits, 24)) == wrong
