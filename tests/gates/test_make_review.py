"""`make review` in a repository of its own, where programs stand in for the judge and the plan."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.assembly import PROJECT


def git(folder: Path, *arguments: str) -> None:
    name = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two environments, whose `slipway` writes down what it is asked, and fails for `team`."""
    environments, programs = tmp_path / "environments", tmp_path / ".venv" / "bin"
    environments.mkdir()
    programs.mkdir(parents=True)
    for name in ("default", "team"):
        (environments / f"{name}.yaml").write_text(f"name: {name}\n")
    (programs / "python").write_text('#!/bin/sh\necho "$@" >> asked\n')
    (programs / "slipway").write_text('#!/bin/sh\necho "$@" >> asked\n[ "$3" != team ]\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    git(tmp_path, "init", "--quiet", "--initial-branch", "trunk")
    git(tmp_path, "add", "environments")
    git(tmp_path, "commit", "--quiet", "--message", "two environments")
    return tmp_path


def review(repository: Path, *variables: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--file", str(PROJECT / "Makefile"), "--assume-old", "setup", "review", *variables]
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME"}}
    return subprocess.run(command, cwd=repository, env=kept, capture_output=True, text=True, check=False)


def test_every_environment_is_planned_although_one_fails(repository: Path) -> None:
    run = review(repository, "BASE=trunk", "FAIL_ON=remove,data-loss")

    asked = (repository / "asked").read_text().splitlines()
    assert run.returncode == 2, run.stderr
    assert asked[0] == "judge -- default team"
    assert [line.split(" --markdown")[0] for line in asked[1:]] == [
        f"plan --environment {name} --base trunk --fail-on remove,data-loss" for name in ("default", "team")
    ]
    assert not (repository / ".plan" / "review").exists()


def test_one_environment_may_be_chosen(repository: Path) -> None:
    run = review(repository, "BASE=trunk", "ENVIRONMENT=default")

    assert run.returncode == 0, run.stderr
    assert "team" not in (repository / "asked").read_text()


def test_an_environment_whose_file_is_deleted_is_named(repository: Path) -> None:
    (repository / "environments" / "team.yaml").rename(repository / "environments" / "group.yaml")

    run = review(repository, "BASE=trunk")

    said = (repository / ".plan" / "review" / "_deleted.md").read_text()
    assert said.startswith("**environments/team.yaml is deleted**: nothing plans it. Its stacks stay and cost")
    assert said in run.stderr
    assert "judge -- default group" in (repository / "asked").read_text()


def test_an_environment_that_the_base_has_got_meanwhile_is_not_deleted(repository: Path) -> None:
    git(repository, "branch", "mine")
    (repository / "environments" / "new.yaml").write_text("name: new\n")
    git(repository, "add", "environments")
    git(repository, "commit", "--quiet", "--message", "a third environment")
    git(repository, "checkout", "--quiet", "mine")

    run = review(repository, "BASE=trunk", "ENVIRONMENT=default")

    assert run.returncode == 0, run.stderr
    assert not (repository / ".plan" / "review").exists()


@pytest.mark.parametrize("branch", ["trunk", "main"])
def test_the_base_is_the_default_branch_of_the_remote(repository: Path, branch: str) -> None:
    git(repository, "branch", "--move", branch)
    git(repository, "clone", "--quiet", ".", "clone")
    (repository / ".venv").rename(repository / "clone" / ".venv")

    run = review(repository / "clone", "ENVIRONMENT=default")

    assert run.returncode == 0, run.stderr
    assert f"--base origin/{branch} " in (repository / "clone" / "asked").read_text()


def test_without_a_known_default_branch_the_base_is_main(repository: Path) -> None:
    review(repository, "ENVIRONMENT=default")

    assert "--base origin/main " in (repository / "asked").read_text()
