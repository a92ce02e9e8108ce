"""The assembly that a command works on, when an environment is synthesized for it."""

from pathlib import Path

import pytest

from slipway import chosen_assembly
from slipway.chosen_assembly import NotChosenError


def _written(environment: str, directory: Path, log: Path, *, despite_findings: bool) -> None:
    directory.mkdir()
    (directory / "said").write_text(f"{environment} {log.name} {despite_findings}")


def test_another_environment_does_not_overwrite_an_assembly_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen_assembly, "FOLDER", tmp_path)
    monkeypatch.setattr(chosen_assembly, "synthesize", _written)

    folders = [
        chosen_assembly.chosen_assembly(name, None, "destroy", despite_findings=True)
        for name in ("team", "mine/small.yaml")
    ]

    assert [(folder / "said").read_text() for folder in folders] == [
        "team app.log True",
        "mine/small.yaml app.log True",
    ]


@pytest.mark.parametrize(("environment", "assembly"), [(None, None), ("team", Path())])
def test_one_of_two_is_chosen(environment: str | None, assembly: Path | None) -> None:
    with pytest.raises(NotChosenError, match="one of them"):
        chosen_assembly.chosen_assembly(environment, assembly, "destroy")


@pytest.mark.parametrize("environment", [".", "..", "environments/.."])
def test_a_folder_taken_for_an_environment_leaves_the_assemblies_of_others(
    environment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen_assembly, "FOLDER", tmp_path)
    monkeypatch.setattr(chosen_assembly, "synthesize", _written)
    other = chosen_assembly.chosen_assembly("team", None, "destroy")

    folder = chosen_assembly.chosen_assembly(environment, None, "destroy")

    assert (other / "said").exists()
    assert folder.parent.parent == tmp_path / "destroy"
