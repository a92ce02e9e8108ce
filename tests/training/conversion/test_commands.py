"""The commands: a run's latest checkpoint, one from elsewhere, a model to go on from; exit codes and messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from slipway_conversion.__main__ import main
from slipway_conversion.commands import of_run
from slipway_jobs.run import TrainingRun
from slipway_training.checkpoints.layout import CheckpointFile, read_checkpoint_file
from slipway_training.models.transformers_configuration import transformers_configuration
from tests.training.conversion.sharder import Heads, Layout, save_checkpoint
from tests.training.conversion.tiny import checkpoint, llama, weights
from tests.training.tiny_runs import LLAMA, make_run

LAYOUT = Layout(2, 2, 1)


@pytest.fixture
def run(tmp_path: Path) -> TrainingRun:
    llama_from = str(tmp_path / "given")
    parallelism = {"strategy": "tensor_parallel", "tensor_parallel_size": 2, "pipeline_parallel_size": 2}
    return make_run(tmp_path, LLAMA, initial_weights=llama_from, parallelism=parallelism, precision="bfloat16")


def _model(run: TrainingRun) -> LlamaForCausalLM:
    torch.manual_seed(1)
    model: LlamaForCausalLM = LlamaForCausalLM(transformers_configuration(run.recipe.model)).eval()
    return model


def _save_step(run: TrainingRun, step: int) -> LlamaForCausalLM:
    model = _model(run)
    with torch.no_grad():
        model.model.norm.weight.fill_(step)
    folder = Path(run.checkpoint_directory) / f"step_{step:08d}"
    save_checkpoint(folder, weights(model), Heads(4, 2, 2), LAYOUT)
    described = CheckpointFile(
        format="nxd",
        step=step,
        run=run.name,
        model=run.recipe.model,
        tensor_parallel_size=2,
        pipeline_parallel_size=2,
    )
    (folder / "checkpoint.json").write_text(described.model_dump_json())
    return model


def _fails(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(argument) for argument in arguments]) == 1
    return capsys.readouterr().err


@pytest.mark.parametrize("precision", ["float16", "tf32", "float32"])
def test_what_the_compiler_makes_of_float32_is_converted_as_float32(run: TrainingRun, precision: str) -> None:
    _save_step(run, 2)
    recipe = run.recipe.model_copy(update={"precision": precision})
    assert of_run(run.model_copy(update={"recipe": recipe})).precision == "float32"


def test_a_run_gives_a_model_that_generates(run: TrainingRun, capsys: pytest.CaptureFixture[str]) -> None:
    _save_step(run, 2)
    _save_step(run, 10)
    assert main(["to-transformers", "--run", str(run.file)]) == 0
    output = Path(run.converted_directory)
    assert "100 % of" in capsys.readouterr().out
    assert {"config.json", "generation_config.json", "tokenizer_config.json", "done"} <= {
        path.name for path in output.iterdir()
    }
    origin = json.loads((output / "slipway.json").read_text())
    assert (origin["run"], origin["step"], origin["precision"]) == ("tiny", 10, "bfloat16")
    assert run.done_file("convert").is_file()
    model = AutoModelForCausalLM.from_pretrained(output, torch_dtype="auto")
    assert model.dtype == torch.bfloat16
    assert model.model.norm.weight[0].item() == 10
    prompt = AutoTokenizer.from_pretrained(output)("a wolf", add_special_tokens=False, return_tensors="pt")
    assert model.generate(**prompt, max_new_tokens=3, min_new_tokens=3, do_sample=False).shape == (1, 9)


def test_a_run_again_does_nothing_until_there_is_a_later_step(
    run: TrainingRun, capsys: pytest.CaptureFixture[str]
) -> None:
    _save_step(run, 2)
    assert main(["to-transformers", "--run", str(run.file)]) == 0
    capsys.readouterr()
    assert main(["to-transformers", "--run", str(run.file)]) == 0
    assert "is there already" in capsys.readouterr().out
    _save_step(run, 4)
    assert main(["to-transformers", "--run", str(run.file)]) == 0
    assert json.loads((Path(run.converted_directory) / "slipway.json").read_text())["step"] == 4


def test_a_run_without_a_checkpoint(run: TrainingRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert "holds no complete checkpoint" in _fails(capsys, "to-transformers", "--run", run.file)
    assert not run.done_file("convert").exists()


def test_initial_weights_of_a_run(run: TrainingRun, tmp_path: Path) -> None:
    model = _model(run)
    model.save_pretrained(tmp_path / "given")
    assert main(["from-transformers", "--run", str(run.file)]) == 0
    initial = Path(run.checkpoint_directory) / "initial"
    assert read_checkpoint_file(initial).step == 0
    before = sorted((initial / "model").iterdir())
    assert main(["from-transformers", "--run", str(run.file)]) == 0
    assert sorted((initial / "model").iterdir()) == before
    (initial / "checkpoint.json").write_text((initial / "checkpoint.json").read_text().replace("trn1", "trn2"))
    assert main(["from-transformers", "--run", str(run.file)]) == 0
    assert read_checkpoint_file(initial).attention_order == "trn1"
    assert main(["to-transformers", "--checkpoint", str(initial), "--output", str(tmp_path / "again")]) == 0
    again = weights(LlamaForCausalLM.from_pretrained(tmp_path / "again"))
    assert all(torch.equal(value, again[name]) for name, value in weights(model).items())


def test_initial_weights_of_another_model(run: TrainingRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = transformers_configuration(run.recipe.model)
    other.rope_theta, other.num_hidden_layers = 5.0, 1
    LlamaForCausalLM(other).save_pretrained(tmp_path / "given")
    message = _fails(capsys, "from-transformers", "--run", run.file)
    assert "rope_theta is 5.0, but the recipe's model has 10000.0" in message
    assert "num_hidden_layers is 1, but the recipe's model has 2" in message


def test_a_checkpoint_from_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = llama(2)
    source = checkpoint(tmp_path / "step", model, Layout(4, 1, 2, "grouped_fused", ep_names=True))
    model.config.save_pretrained(tmp_path / "configured")
    forth: list[Any] = ["to-transformers", "--checkpoint", source, "--output", tmp_path / "model"]
    assert "has no checkpoint.json: give the model's config.json" in _fails(capsys, *forth)
    forth += ["--configuration", tmp_path / "configured" / "config.json"]
    assert "kv_size_multiplier is 4" in _fails(capsys, *forth, "--kv-size-multiplier", 4)
    assert "holds no tokenizer" in _fails(capsys, *forth, "--tokenizer", source)
    assert main([str(argument) for argument in forth]) == 0
    assert json.loads((tmp_path / "model" / "slipway.json").read_text())["kv_size_multiplier"] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["to-transformers"],
        ["to-transformers", "--checkpoint", "a"],
        ["to-transformers", "--run", "a", "--output", "b"],
        ["from-transformers", "--model", "a", "--output", "b", "--tensor-parallel-size", "0"],
    ],
    ids=str,
)
def test_a_wrong_command_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{}", "is not a configuration of a model that is converted"),
        ('{"model_type": "gpt2"}', "is not a configuration of a model that is converted"),
        ('{"model_type": "llama", "attention_bias": true}', "the training code has no llama with attention_bias"),
        ('{"model_type": "qwen2", "use_sliding_window": true}', "has no qwen2 with use_sliding_window"),
        ("{", "is not a configuration"),
    ],
)
def test_a_configuration_that_is_not_converted(
    content: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(content)
    assert reason in _fails(capsys, "from-transformers", "--model", tmp_path, "--output", tmp_path / "out")


def test_a_missing_run_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "No such file" in _fails(capsys, "to-transformers", "--run", tmp_path / "run.json")
    (tmp_path / "run.json").write_text("{}")
    assert "is no run's file" in _fails(capsys, "to-transformers", "--run", tmp_path / "run.json")
