"""No command takes an empty, blank or missing name for an environment, and none that is not a name."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from slipway.assembly import environment_files
from slipway.assembly.environment_files import WrongChoiceError, environment_file, environment_names, folder_name
from slipway.cli import app
from tests.assembly import PROJECT

NOT_NAMES = ("", " ", "\t", "\n", ".", "..", "a b", "../default", "$(touch made)", "-x", "x" * 300, ".yaml", " .yaml")


def _commands(group: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command below a group with its words."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, *path, name)
        else:
            yield (*path, name), command


ALL = dict(_commands(typer.main.get_command(app)))
WITHOUT = {("lint",), ("judge",), ("init",), ("setup",), ("docs",)}
OF_ENVIRONMENTS = {words: command for words, command in ALL.items() if words not in WITHOUT}
every_command = pytest.mark.parametrize("words", OF_ENVIRONMENTS, ids=" ".join)


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that synthesizes has accepted the name."""

    def start(*arguments: object, **_: object) -> None:
        raise AssertionError(f"started {arguments}")

    monkeypatch.setattr("slipway.assembly.process_groups.subprocess.Popen", start)


def _run(words: tuple[str, ...], *options: str) -> Result:
    """Run a command with what it requires besides the environment."""
    required = [parameter for parameter in ALL[words].params if parameter.required and parameter.name != "environment"]
    others = [text for parameter in required for text in (parameter.opts[0], "111122223333")]
    return CliRunner().invoke(app, [*words, *others, *options])


def _refused(result: Result) -> bool:
    return result.exit_code == 2 and isinstance(result.exception, SystemExit) and bool(result.stderr.strip())


@pytest.mark.parametrize("words", [words for words in OF_ENVIRONMENTS if words != ("doctor",)], ids=" ".join)
def test_no_command_has_a_default_environment(words: tuple[str, ...]) -> None:
    """`doctor` without a name looks at the machine, and at no environment."""
    (environment,) = [parameter for parameter in OF_ENVIRONMENTS[words].params if parameter.name == "environment"]

    assert environment.default is None
    assert _refused(_run(words))


@every_command
@pytest.mark.parametrize("name", NOT_NAMES, ids=lambda name: repr(name[:20]))
def test_what_is_no_name_is_refused(words: tuple[str, ...], name: str) -> None:
    result = _run(words, "--environment", name)

    assert _refused(result), result.output
    assert "'--environment' / '-e'" in result.stderr


@every_command
def test_an_empty_assembly_is_not_the_folder_that_the_user_is_in(words: tuple[str, ...]) -> None:
    if "--assembly" not in [option for parameter in ALL[words].params for option in parameter.opts]:
        pytest.skip("takes no assembly")
    result = _run(words, "--assembly", "")

    assert _refused(result), result.output
    assert "the name of the folder is empty" in result.stderr


@pytest.mark.parametrize("name", ["", " ", "*", "a?", "Default", "x" * 21])
def test_leftovers_are_looked_for_by_one_name(name: str) -> None:
    result = CliRunner().invoke(app, ["leftovers", "--name", name, "--region", "us-west-2"])

    assert _refused(result), result.output


@pytest.mark.parametrize("name", ["", " ", "$(touch made)"])
def test_the_judge_refuses_it_too(name: str) -> None:
    """It takes names as arguments, because it takes several."""
    assert _refused(CliRunner().invoke(app, ["judge", name]))


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)

    result = _run(("az",), "-e", str(pipe))

    assert _refused(result)
    assert "is not a regular file" in " ".join(result.stderr.replace("│", " ").split())


def test_a_path_may_be_anything_that_ends_in_yaml(tmp_path: Path) -> None:
    assert environment_file(f"{tmp_path}/a b/$(x).yaml") == tmp_path / "a b" / "$(x).yaml"
    with pytest.raises(WrongChoiceError, match="File name too long"):
        environment_file(f"{'x' * 300}.yaml")


def test_environments_work_in_folders_of_their_own() -> None:
    assert [folder_name(choice) for choice in ("team", "team.v2", "mine/team.v3.yaml", Path("cdk.out"))] == [
        "team",
        "team.v2",
        "team.v3",
        "cdk.out",
    ]


def test_a_file_whose_name_no_command_takes_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "default.yaml").touch()
    assert environment_names(tmp_path) == ["default"]
    (tmp_path / "$(touch made).yaml").touch()

    with pytest.raises(WrongChoiceError, match="rename it"):
        environment_names(tmp_path)
    monkeypatch.setattr(environment_files.environment_names, "__defaults__", (tmp_path,))
    assert _refused(CliRunner().invoke(app, ["judge"]))


@pytest.mark.parametrize("context", [{"environment": ""}, {"environment": " "}, {"environment": "a b"}])
def test_the_app_refuses_an_empty_name(
    context: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    run = subprocess.run(
        [sys.executable, "app.py"],
        cwd=PROJECT,
        env={**os.environ, "CDK_CONTEXT_JSON": json.dumps(context), "CDK_OUTDIR": str(tmp_path / "out")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 2
    assert run.stderr.startswith(f"-c environment={context['environment']}: ")
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "out" / "manifest.json").exists()
