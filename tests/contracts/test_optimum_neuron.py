"""optimum-neuron as it is published, against what the publish stage, its stand-in and the engines' rows say of it.

Nothing of it is imported: it needs PyTorch and the Neuron compiler. Its sources are read, and the functions that need
neither are run.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slipway import facts
from slipway_jobs.exporters import Exporter, exporters
from slipway_jobs.publishing.export import DONE, ModelExport, differences
from slipway_jobs.recipe.model import Export
from tests.contracts.real_packages import unpacked
from tests.jobs.publishing_case import SERVICE, PublishCase, recipe

pytestmark = [
    pytest.mark.contract,
    pytest.mark.parametrize("exporter", exporters().values(), ids=lambda exporter: exporter.version),
]

EXPORT = Export(batch_size=4, sequence_length=1024, tensor_parallel_size=2)
INFERENCE = "optimum/neuron/models/inference"
CLI = "optimum/commands/export/neuronx.py"
MODEL = f"{INFERENCE}/backend/pretrained_model.py"
CONFIGURATION = "optimum/neuron/configuration_utils.py"


@cache
def source(version: str, file: str) -> ast.Module:
    """A module of the package."""
    return ast.parse((unpacked("optimum-neuron", version) / file).read_text(encoding="utf-8"))


def named(tree: ast.AST, name: str) -> Any:
    """The one function or class of a name in a module or a class."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    [found] = [node for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name]
    return found


def constants(tree: Any) -> dict[str, Any]:
    """The constants that a module or a class assigns."""
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def run(function: ast.FunctionDef, **known: Any) -> Any:
    """Define a function of the package in a namespace that holds what it needs; return it."""
    exec(compile(ast.Module([function], type_ignores=[]), function.name, "exec"), known)
    return known[function.name]


def compiled_files(version: str, cores: int) -> list[str]:
    """The files that optimum-neuron saves for a model that it compiled from a folder, without the tokenizer's."""
    tree = source(version, MODEL)
    names = constants(named(tree, "NxDPreTrainedModel"))
    shards = run(named(tree, "get_shards_path"), os=os)(names["CHECKPOINT_DIR"])
    shard = run(named(tree, "get_shard_name"), os=os, shards_path=shards)
    configuration = constants(source(version, CONFIGURATION))["NEURON_CONFIG_NAME"]
    return ["config.json", configuration, names["COMPILED_MODEL_FILE_NAME"], *map(shard, range(cores))]


def configuration_keys(version: str) -> set[str]:
    """The keys of neuron_config.json: attributes of the configuration, and what `to_dict` adds."""
    tree = source(version, f"{INFERENCE}/backend/config.py")
    attributes = {
        node.attr
        for node in ast.walk(named(tree, "__init__"))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    added = {
        node.slice.value
        for node in ast.walk(named(source(version, CONFIGURATION), "to_dict"))
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.slice, ast.Constant)
    }
    return {*attributes, *map(str, added)}


def requirements(version: str) -> dict[str, str]:
    """What the package pins for a Neuron device: package and version, `2.7.0.*` shortened to `2.7.0`."""
    [metadata] = unpacked("optimum-neuron", version).glob("*.dist-info/METADATA")
    pin = re.compile(r'^Requires-Dist: ([\w-]+)(?:==|~=)([^;*]+?)(?:\.\*|\.0)?(?:; extra == "neuronx")?$')
    found = map(pin.match, metadata.read_text(encoding="utf-8").splitlines())
    return {match[1].replace("-", "_"): match[2] for match in found if match}


def parser(version: str) -> argparse.ArgumentParser:
    """The parser of `optimum-cli export neuron`."""
    known: dict[str, Any] = {
        "ArgumentParser": argparse.ArgumentParser,
        "SUPPRESS": argparse.SUPPRESS,
        "Path": Path,
        "TasksManager": SimpleNamespace(_TRANSFORMERS_TASKS_TO_MODEL_LOADERS={}, _DIFFUSERS_TASKS_TO_MODEL_LOADERS={}),
        # What it returns on a host without a Neuron device.
        "get_neuron_major": lambda: -1,
        "SUPPORTED_INSTANCE_TYPES": list(targets(version)),
    }
    made = argparse.ArgumentParser(exit_on_error=False)
    run(named(source(version, CLI), "parse_args_neuronx"), **known)(made)
    return made


def targets(version: str) -> Mapping[str, str]:
    """The compiler's target by instance family; nothing in a version that names no target."""
    file = "optimum/neuron/utils/instance.py"
    if not (unpacked("optimum-neuron", version) / file).exists():
        return {}
    [table] = [
        node.value
        for node in source(version, file).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "INSTANCE_VALUE_MAP"
    ]
    found: dict[str, str] = ast.literal_eval(table)
    return found


def engines(exporter: Exporter) -> Iterator[facts.InferenceEngine]:
    """The engines that load what an exporter makes."""
    found = [engine for engine in facts.inference_engines().values() if engine.neuron_release == exporter.release]
    assert found
    yield from found


def test_versions_and_pins_are_the_packages_own(exporter: Exporter) -> None:
    told = constants(source(exporter.version, "optimum/neuron/version.py"))
    assert (told["__version__"], told["__sdk_version__"]) == (exporter.version, exporter.release)
    pinned = requirements(exporter.version)
    packages = {name.replace("-", "_"): version for name, version in exporter.packages.items()}
    assert packages.pop("optimum_neuron") == exporter.version
    for name, version in packages.items():
        assert version == pinned[name] or version.startswith(f"{pinned[name]}."), name


def test_it_compiles_the_models_that_the_row_names(exporter: Exporter) -> None:
    registered = [
        ast.literal_eval(decorator.args[0])
        for node in ast.walk(source(exporter.version, f"{INFERENCE}/auto_models.py"))
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call) and ast.literal_eval(decorator.args[1]) == "text-generation"
    ]
    assert sorted(registered) == exporter.model_types


def test_its_command_line_takes_our_options(exporter: Exporter, tmp_path: Path) -> None:
    command = ModelExport(tmp_path / "model", EXPORT, exporter, tmp_path, print).command(tmp_path / "out")
    assert command[1:3] == ["export", "neuron"]
    assert "CommandInfo(name='neuron'" in ast.unparse(named(source(exporter.version, CLI), "NeuronxExportCommand"))
    given = parser(exporter.version).parse_args(command[3:])

    assert (given.model, given.output, given.task) == (str(tmp_path / "model"), tmp_path / "out", "text-generation")
    assert (given.batch_size, given.sequence_length) == (EXPORT.batch_size, EXPORT.sequence_length)
    assert getattr(given, cores_argument(exporter.version)) == EXPORT.tensor_parallel_size


def cores_argument(version: str) -> str:
    """The argument that reaches the configuration of a model that generates text as its number of cores."""
    function = named(source(version, "optimum/exporters/neuron/__main__.py"), "maybe_export_from_neuron_model_class")
    dropped = "kwargs.pop('tensor_parallel_size'" in ast.unparse(function)
    return "num_cores" if dropped else "tensor_parallel_size"


def test_what_it_writes_is_accepted_and_nothing_less(exporter: Exporter, tmp_path: Path) -> None:
    files = compiled_files(exporter.version, EXPORT.tensor_parallel_size)
    written = configuration(exporter)
    for name in (*files, "tokenizer_config.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(written))
    assert list(differences(tmp_path, EXPORT, exporter)) == []

    for name in files:
        (tmp_path / name).rename(tmp_path / "away")
        assert name in " ".join(differences(tmp_path, EXPORT, exporter))
        (tmp_path / "away").rename(tmp_path / name)


def configuration(exporter: Exporter) -> dict[str, Any]:
    """neuron_config.json of a right export, with the package's own keys; what Slipway does not look at is none."""
    right = {
        "batch_size": EXPORT.batch_size,
        "sequence_length": EXPORT.sequence_length,
        "tp_degree": EXPORT.tensor_parallel_size,
        "torch_dtype": "bfloat16",
        "optimum_neuron_version": exporter.version,
        "neuronxcc_version": exporter.compiler,
        "target": targets(exporter.version).get("inf2"),
    }
    return {key: right.get(key) for key in configuration_keys(exporter.version)}


def test_the_stand_in_writes_what_it_writes(exporter: Exporter, tmp_path: Path) -> None:
    case = PublishCase(tmp_path, recipe(), service={**SERVICE, "engine_release": exporter.release})
    case.convert()
    environment = case.install_exporter()
    made = ModelExport(case.converted, EXPORT, exporter, environment, print).into(tmp_path / "made")

    names = {str(file.relative_to(made)) for file in made.rglob("*") if file.is_file()} - {DONE}
    assert names == {*compiled_files(exporter.version, EXPORT.tensor_parallel_size), "tokenizer_config.json"}
    told = json.loads((made / "neuron_config.json").read_text(encoding="utf-8"))
    assert set(told) <= configuration_keys(exporter.version)


def test_the_target_in_its_configuration_is_the_one_we_expect(exporter: Exporter) -> None:
    llama = named(source(exporter.version, f"{INFERENCE}/llama/modeling_llama.py"), "_get_neuron_config")
    [call] = [node for node in ast.walk(llama) if isinstance(node, ast.Call)]
    names_target = "target" in {keyword.arg for keyword in call.keywords}
    assert exporter.target == (targets(exporter.version)["inf2"] if names_target else None)


def test_the_engines_ask_for_its_files_and_know_its_architectures(exporter: Exporter) -> None:
    needed = set(compiled_files(exporter.version, cores=0))
    models = source(exporter.version, f"{INFERENCE}/auto_models.py")
    architectures = {
        # Its own classes; 0.3.0 spells one of them LLama.
        re.sub("(Neuron)?ModelFor", "For", node.name).lower()
        for node in ast.walk(models)
        if isinstance(node, ast.ClassDef) and "'text-generation')" in ast.unparse(node.decorator_list[0])
    }
    for engine in engines(exporter):
        assert set(engine.model_files) == needed
        assert {name.lower() for name in engine.architectures} == architectures
