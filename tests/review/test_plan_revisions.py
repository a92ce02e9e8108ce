"""Revisions of a project in Git: names, files, and a copy that leaves nothing behind."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from slipway.review import revisions
from slipway.review.errors import NotPlannedError


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    return subprocess.run(
        ["git", "-C", folder, *identity, *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository whose project is in a folder of it, as when it is part of something larger."""
    project = tmp_path / "repository" / "platform"
    project.mkdir(parents=True)
    git(project.parent, "init", "--quiet", "--initial-branch=main")
    (project / "app.py").write_text("first\n")
    (project / "run.sh").write_text("#!/bin/sh\n")
    (project / "run.sh").chmod(0o755)
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "first")
    return project


def test_a_clean_work_tree_is_its_commit(project: Path) -> None:
    assert revisions.work_tree_name(project) == git(project, "rev-parse", "--short", "HEAD")


@pytest.mark.parametrize("name", ["app.py", "new.py"])
def test_uncommitted_changes_are_said(project: Path, name: str) -> None:
    (project / name).write_text("second\n")

    assert revisions.work_tree_name(project).endswith(" with uncommitted changes")


def test_changes_outside_the_project_are_not_its(project: Path) -> None:
    (project.parent / "README").write_text("other\n")

    assert "uncommitted" not in revisions.work_tree_name(project)


def test_a_folder_without_git_is_the_work_tree(tmp_path: Path) -> None:
    assert revisions.work_tree_name(tmp_path) == "the work tree"
    with pytest.raises(NotPlannedError, match="is not a readable Git repository: compare with --against"):
        revisions.commit_of(tmp_path, "main")


def test_branches_and_tags_are_commits(project: Path) -> None:
    git(project, "tag", "-a", "v1", "-m", "annotated")

    assert revisions.commit_of(project, "v1") == revisions.commit_of(project, "main")


@pytest.mark.parametrize("revision", ["origin/main", "--output=/tmp/x", "0" * 40])
def test_an_unknown_revision_is_refused_with_what_to_do(project: Path, revision: str) -> None:
    with pytest.raises(NotPlannedError, match=f"unknown revision {revision}: fetch it"):
        revisions.commit_of(project, revision)


@pytest.mark.parametrize("revision", ["origin/main", "v1"])
def test_what_to_do_works_in_the_clone_of_a_ci_system(project: Path, tmp_path: Path, revision: str) -> None:
    """Shallow, of one branch, without tags: the command that the message names makes the revision known."""
    git(project, "tag", "v1")
    git(project, "checkout", "--quiet", "-b", "topic")
    git(project, "commit", "--quiet", "--allow-empty", "-m", "second")
    clone = tmp_path / "clone"
    address = f"file://{project.parent}"
    git(tmp_path, "clone", "--quiet", "--depth=1", "--no-tags", "--single-branch", "--branch=topic", address, "clone")
    with pytest.raises(NotPlannedError) as problem:
        revisions.commit_of(clone, revision)

    _, command, _ = str(problem.value).split("`")
    git(clone, *command.split()[1:])

    assert revisions.commit_of(clone, revision) == git(project, "rev-parse", "--short", "main")


def test_the_copy_is_what_was_committed_and_goes(project: Path) -> None:
    commit = revisions.commit_of(project, "HEAD")
    (project / "app.py").write_text("second\n")
    (project / ".venv").mkdir()
    umask = os.umask(0o077)
    try:
        with revisions.files_of(project, commit) as copy:
            assert not copy.is_relative_to(project.parent)
            assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
            assert (copy / "app.py").read_text() == "first\n"
            assert stat.S_IMODE((copy / "run.sh").stat().st_mode) == 0o755
            assert (copy / ".venv").resolve() == project / ".venv"
    finally:
        os.umask(umask)

    assert not copy.parent.exists()
    assert (project / ".venv").is_dir()
    assert git(project, "worktree", "list").count("\n") == 0


def test_the_copy_goes_when_the_work_is_interrupted(project: Path) -> None:
    commit = revisions.commit_of(project, "HEAD")
    with pytest.raises(KeyboardInterrupt), revisions.files_of(project, commit) as copy:
        raise KeyboardInterrupt

    assert not copy.exists()


def test_a_file_at_a_revision(project: Path) -> None:
    commit = revisions.commit_of(project, "HEAD")
    (project / "app.py").write_text("second\n")

    assert revisions.file_at(project, commit, "app.py") == b"first\n"
    assert revisions.file_at(project, commit, "new.py") is None
