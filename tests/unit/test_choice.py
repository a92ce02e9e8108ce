"""The assembly that a command works on, when an environment is synthesized for it."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slipway.assembly import choice
from slipway.assembly.choice import NotChosenError
from slipway.cli import app
from slipway.review.cluster_update import run as update

OTHER = """
import sys
from pathlib import Path
from slipway.assembly.folder_lock import lock
taken = lock(Path(sys.argv[1]))
print(flush=True)
sys.stdin.read()
"""


def _written(environment: str, directory: Path, log: Path, *, despite_findings: bool) -> None:
    directory.mkdir()
    (directory / "said").write_text(f"{environment} {log.name} {despite_findings}")


def test_another_environment_does_not_overwrite_an_assembly_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "FOLDER", tmp_path)
    monkeypatch.setattr(choice, "synthesize", _written)

    folders = [
        choice.chosen_assembly(name, None, "destroy", despite_findings=True) for name in ("team", "mine/small.yaml")
    ]

    assert [(folder / "said").read_text() for folder in folders] == [
        "team app.log True",
        "mine/small.yaml app.log True",
    ]


@pytest.mark.parametrize(("environment", "assembly"), [(None, None), ("team", Path())])
def test_one_of_two_is_chosen(environment: str | None, assembly: Path | None) -> None:
    with pytest.raises(NotChosenError, match="one of them"):
        choice.chosen_assembly(environment, assembly, "destroy")


@pytest.mark.parametrize("command", ["pause", "destroy", "cluster-update"])
def test_the_same_command_waits_for_its_turn(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process, which holds a lock as this one would, has an assembly in the folder."""
    monkeypatch.setattr(choice, "FOLDER", tmp_path)
    monkeypatch.setattr(update, "UPDATE_DIRECTORY", tmp_path / "cluster-update")
    theirs = tmp_path / command / "default" / "assembly" / "manifest.json"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    with subprocess.Popen(
        [sys.executable, "-c", OTHER, str(theirs.parents[1])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        other.stdout.readline()
        result = CliRunner().invoke(app, [command, "-e", "default"])
        other.communicate()

    assert result.exit_code == 2
    assert result.stderr == f"the same command already works in {theirs.parents[1]}: wait until it ends\n"
    assert theirs.exists()


@pytest.mark.parametrize("environment", [".", "..", "environments/.."])
def test_a_folder_taken_for_an_environment_leaves_the_assemblies_of_others(
    environment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "FOLDER", tmp_path)
    monkeypatch.setattr(choice, "synthesize", _written)
    other = choice.chosen_assembly("team", None, "destroy")

    folder = choice.chosen_assembly(environment, None, "destroy")

    assert (other / "said").exists()
    assert folder.parent.parent == tmp_path / "destroy"
