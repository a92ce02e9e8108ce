"""The container that looks for the model's files, by running its script."""

import subprocess
import sys
from pathlib import Path

import pytest

from neuron_constructs.inference.engine_task import MODEL_CHECK
from slipway import facts
from tests.engine_task_stack import ENGINES, container, definition, synthesized

SHELLCHECK = Path(sys.executable).with_name("shellcheck")


def check(engine: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script as the task definition does, on another folder."""
    made = container(synthesized(engine), "ModelCheck")
    command = [*made["EntryPoint"], str(folder), *made["Command"][1:]]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def fill(folder: Path, engine: str) -> None:
    """Put what the engine needs into a folder."""
    for name in facts.inference_engine(engine).model_files:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")


def test_the_script_is_clean() -> None:
    run = subprocess.run(
        [str(SHELLCHECK), "--shell=sh", "-"], input=MODEL_CHECK, capture_output=True, text=True, check=False
    )

    assert run.stdout == ""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_whole_model_passes(engine: str, tmp_path: Path) -> None:
    fill(tmp_path, engine)

    assert check(engine, tmp_path).returncode == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_each_file_is_needed(engine: str, tmp_path: Path) -> None:
    for name in facts.inference_engine(engine).model_files:
        fill(tmp_path, engine)
        (tmp_path / name).unlink()
        run = check(engine, tmp_path)

        assert run.returncode == 1
        assert f"{tmp_path / name} is missing or empty" in run.stderr


def test_an_empty_file_is_none(tmp_path: Path) -> None:
    fill(tmp_path, "tgi")
    (tmp_path / "config.json").write_text("")

    assert check("tgi", tmp_path).returncode == 1


def test_an_empty_or_missing_folder_does_not_pass(tmp_path: Path) -> None:
    assert check("tgi", tmp_path).returncode == 1
    assert check("tgi", tmp_path / "gone").returncode == 1


def test_the_engine_waits_for_it() -> None:
    template = synthesized()
    checker = container(template, "ModelCheck")

    assert container(template)["DependsOn"] == [{"Condition": "SUCCESS", "ContainerName": "ModelCheck"}]
    assert checker["Command"][0] == "/models/tanuki-8b"
    assert checker["Essential"] is False
    assert checker["ReadonlyRootFilesystem"] is True
    assert [each["Name"] for each in definition(template)["ContainerDefinitions"]] == ["Engine", "ModelCheck"]
