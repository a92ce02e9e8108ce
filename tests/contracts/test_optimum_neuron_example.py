"""assets/jobs/examples/finetune_lora.py against the packages that it uses, as they are published.

It runs on a Neuron device alone, so its text is read: what it imports exists, and each argument has a parameter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.assembly import PROJECT
from tests.contracts.real_packages import unpacked

pytestmark = pytest.mark.contract

EXAMPLE = PROJECT / "assets" / "jobs" / "examples" / "finetune_lora.py"
CALLS = (
    *("NeuronSFTConfig", "NeuronModelForCausalLM.from_pretrained", "NeuronSFTTrainer", "LoraConfig"),
    "trainer.train",
)


def optimum(*names: str) -> Path:
    """A file or folder of the published package; `make test` collects these tests and has no package."""
    return unpacked("optimum-neuron", "0.4.5").joinpath("optimum", "neuron", *names)


def trainers(file: str) -> Path:
    return optimum("trainers", file)


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def named(tree: ast.AST, name: str) -> Any:
    """The first class or function of a name."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    return next(node for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name)


def fields(file: Path, name: str) -> set[str]:
    """The fields of a data class."""
    found = (node.target for node in named(parsed(file), name).body if isinstance(node, ast.AnnAssign))
    return {target.id for target in found if isinstance(target, ast.Name)}


def parameters(file: Path, owner: str, function: str) -> set[str]:
    """The parameters of a method, and what it takes out of its `kwargs`."""
    method = named(named(parsed(file), owner), function)
    named_ones = {argument.arg for argument in (*method.args.args, *method.args.kwonlyargs)}
    taken = {
        node.args[0].value
        for node in ast.walk(method)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "kwargs.pop"
        and isinstance(node.args[0], ast.Constant)
    }
    return named_ones | {str(name) for name in taken}


def accepted() -> dict[str, set[str]]:
    """What each call of the example may name."""
    peft, trl = unpacked("peft"), unpacked("trl")
    arguments = fields(trainers("training_args.py"), "NeuronTrainingArguments")
    return {
        "NeuronSFTConfig": arguments | fields(trl / "trl" / "trainer" / "sft_config.py", "SFTConfig"),
        "NeuronModelForCausalLM.from_pretrained": parameters(
            optimum("models", "training", "modeling_utils.py"), "NeuronModelMixin", "from_pretrained"
        ),
        "NeuronSFTTrainer": parameters(trainers("sft_trainer.py"), "NeuronSFTTrainer", "__init__"),
        "LoraConfig": fields(peft / "peft" / "tuners" / "lora" / "config.py", "LoraConfig")
        | fields(peft / "peft" / "config.py", "PeftConfig"),
        "trainer.train": parameters(trainers("sft_trainer.py"), "NeuronSFTTrainer", "train"),
    }


def calls() -> Iterator[tuple[str, set[str | None]]]:
    for node in ast.walk(parsed(EXAMPLE)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {keyword.arg for keyword in node.keywords}


@pytest.mark.parametrize("call", CALLS)
def test_each_argument_has_a_parameter(call: str) -> None:
    assert set(accepted()) == set(CALLS)
    [given] = [keywords for name, keywords in calls() if name == call]
    assert given <= accepted()[call]


def test_what_it_imports_is_there() -> None:
    imported = {
        node.module: {name.name for name in node.names}
        for node in ast.walk(parsed(EXAMPLE))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    lazily = ast.literal_eval(
        next(
            node.value
            for node in parsed(optimum("__init__.py")).body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_import_structure"
        )
    )
    assert imported["optimum.neuron"] <= set(lazily["trainers"])
    assert "NeuronModelForCausalLM" in optimum("models", "training", "__init__.py").read_text(encoding="utf-8")
    assert "trn_config" in ast.unparse(named(parsed(trainers("training_args.py")), "__post_init__"))


def test_it_still_resumes_nothing() -> None:
    """When this fails, the example can resume, and what it and docs/own-code.md say of it is to be changed."""
    trainer = ast.unparse(named(named(parsed(trainers("transformers.py")), "NeuronTrainer"), "_train"))
    assert "`resume_from_checkpoint` is not supported by the NeuronTrainer." in trainer


def test_it_still_saves_after_a_step_alone() -> None:
    """When this fails, `save_strategy="epoch"` saves, which the example warns of."""
    training = named(named(parsed(trainers("transformers.py")), "NeuronTrainer"), "_train")
    lines = {
        ast.unparse(node.func).rpartition(".")[2]: node.lineno
        for node in ast.walk(training)
        if isinstance(node, ast.Call)
    }
    assert lines["maybe_save_checkpoint"] < lines["on_epoch_end"]


def test_it_names_the_versions_that_are_compared() -> None:
    [metadata] = optimum().parents[1].glob("*.dist-info/METADATA")
    pins = metadata.read_text(encoding="utf-8")
    for name in ("peft", "trl"):
        version = unpacked(name).name.removeprefix(f"{name}-")
        assert f'Requires-Dist: {name}=={version}; extra == "training"' in pins
    assert "optimum-neuron 0.4.5" in EXAMPLE.read_text(encoding="utf-8")
