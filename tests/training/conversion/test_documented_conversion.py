"""The example that docs/endpoint.md names for a model that is not bfloat16: what it makes is importable."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer, ByT5Tokenizer, LlamaForCausalLM

from slipway_jobs.publishing.model_folder import read_model_folder
from slipway_training.models.transformers_configuration import transformers_configuration
from tests.jobs.hub_server import HubServer, hub_server
from tests.training.tiny_runs import KIT, LLAMA, make_run


def convert(model: Path | str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    script = KIT / "examples" / "to_bfloat16.py"
    words: list[str | Path] = [sys.executable, script, model, folder]
    return subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True, check=False)


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A model in float16, in several files."""
    model = LlamaForCausalLM(transformers_configuration(make_run(tmp_path / "run", LLAMA).recipe.model))
    model.to(torch.float16).save_pretrained(tmp_path / "given", max_shard_size="8KB")
    ByT5Tokenizer().save_pretrained(tmp_path / "given")
    (tmp_path / "given" / "pytorch_model.bin").write_bytes(b"code that would run")
    assert read_model_folder(tmp_path / "given").model.configuration.precision == "float16"
    return tmp_path / "given"


def test_a_model_in_float16_becomes_one_that_can_be_imported(given: Path, tmp_path: Path) -> None:
    made = tmp_path / "models" / "made"

    done = convert(given, made)

    assert done.returncode == 0, done.stderr
    assert read_model_folder(made).model.configuration.precision == "bfloat16"
    assert not (made / "pytorch_model.bin").exists()
    assert len(AutoTokenizer.from_pretrained(made)) == len(ByT5Tokenizer())
    # As the transformers library converts it.
    wanted = AutoModelForCausalLM.from_pretrained(given, torch_dtype=torch.bfloat16).state_dict()
    found = {name: weight for file in made.glob("*.safetensors") for name, weight in load_file(file).items()}
    assert found.keys() == wanted.keys()
    assert all(found[name].dtype == torch.bfloat16 and found[name].equal(wanted[name]) for name in wanted)


def test_what_a_killed_job_left_is_made_again_and_what_is_complete_stays(given: Path, tmp_path: Path) -> None:
    made = tmp_path / "made"
    half = tmp_path / ".made.unfinished"
    half.mkdir()
    (half / "old.json").touch()
    assert convert(given, made, RANK="1").returncode == 0
    assert not made.exists(), "the work of another worker"

    assert convert(given, made).returncode == 0
    again = convert(given, made)

    assert not (made / "old.json").exists()
    assert (again.returncode, "is there already" in again.stderr) == (1, True)


def test_of_a_repository_of_the_hub_it_fetches_what_it_needs(given: Path, tmp_path: Path) -> None:
    files = {file.name: file.read_bytes() for file in given.iterdir()}
    with hub_server(HubServer(files={**files, "onnx/model.safetensors": b"for others"})) as hub:
        done = convert("owner/model", tmp_path / "made", HF_ENDPOINT=hub.url, HF_HOME=str(tmp_path / "cache"))

    assert done.returncode == 0, done.stderr
    assert read_model_folder(tmp_path / "made").model.configuration.precision == "bfloat16"
    assert (hub.given("pytorch_model.bin"), hub.given("onnx/model.safetensors")) == (0, 0)
