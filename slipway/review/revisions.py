"""Git revisions of the project: what the work tree is called, and the files of another revision."""

import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from slipway.review.errors import NotPlannedError


def work_tree_name(project: Path) -> str:
    """Return what is in a work tree, as `<short commit>`, with `with uncommitted changes` behind it if there are any.

    A project without Git is `the work tree`.
    """
    commit = _git(project, "rev-parse", "--short", "HEAD")
    if commit.returncode:
        return "the work tree"
    name = commit.stdout.decode().strip()
    return f"{name} with uncommitted changes" if _git(project, "status", "--porcelain", "--", ".").stdout else name


def commit_of(project: Path, revision: str) -> str:
    """Return the short commit of a revision: a branch, a tag, `HEAD~1`.

    Raises:
        NotPlannedError: the project is not a Git repository, or it does not know the revision.
    """
    # What begins with a hyphen would be an option of Git.
    found = _git(project, "rev-parse", "--short", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not found.returncode:
        return found.stdout.decode().strip()
    shallow = _git(project, "rev-parse", "--is-shallow-repository")
    if shallow.returncode:
        # Git says which: no repository, or one of another user, as CI systems mount them into containers.
        raise NotPlannedError(
            f"{project} is not a readable Git repository: compare with --against FOLDER, or fix it. Git says: "
            f"{shallow.stderr.decode(errors='replace').strip()}"
        )
    history = "--unshallow " if shallow.stdout.strip() == b"true" else ""
    raise NotPlannedError(f"unknown revision {revision}: fetch it, `git fetch {history}origin {_wanted(revision)}`")


def _wanted(revision: str) -> str:
    """Return what to tell `git fetch`, also in a clone that follows one branch alone, as CI systems make them."""
    remote, _, branch = revision.partition("/")
    return f"+refs/heads/{branch}:refs/remotes/{revision}" if remote == "origin" and branch else "--tags"


def file_at(project: Path, commit: str, path: str) -> bytes | None:
    """Return the content of a file of the project at a commit; none if it is not there."""
    found = _git(project, "show", f"{commit}:./{path}")
    return None if found.returncode else found.stdout


def changed_files(project: Path, commit: str) -> frozenset[str]:
    """Return the project's files that are not as they are at a commit, those that Git does not track among them."""
    questions = (
        ("diff", "--name-only", "--relative", "-z", commit, "--", "."),
        ("ls-files", "--others", "--exclude-standard", "-z"),
    )
    answers = (_git(project, *question) for question in questions)
    return frozenset(name for answer in answers for name in answer.stdout.decode().split("\0") if name)


@contextmanager
def files_of(project: Path, commit: str) -> Iterator[Path]:
    """Lay out the project as it was at a commit, outside the project, and remove it in the end.

    `git archive` leaves nothing behind in the repository, as a work tree would that a killed program had made. The
    project's virtual environment is linked into the copy, because the app is started with it. The folder above the copy
    is removed with it: what the code of the copy writes has room there.

    Args:
        project: folder of the project; it need not be the top of the repository.
        commit: the commit.

    Raises:
        NotPlannedError: Git cannot write the files.
    """
    # Not the user's umask, which would give the copy other file modes than a checkout has.
    archive = _git(project, "-c", "tar.umask=0022", "archive", "--format=tar", commit)
    if archive.returncode:
        raise NotPlannedError(f"git archive {commit} failed: {archive.stderr.decode(errors='replace').strip()}")
    with tempfile.TemporaryDirectory(prefix="slipway-base-", ignore_cleanup_errors=True) as name:
        copy = Path(name).resolve() / "project"
        copy.mkdir()
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as tar:
            # As Python's documentation has it: the first releases of 3.11, which distributions ship, have no filters.
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
            tar.extractall(copy)
        (copy / ".venv").symlink_to(project / ".venv")
        yield copy


def _git(project: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        # Without optional locks: another command of Git that runs meanwhile must not fail because of a question.
        command = ["git", "--no-optional-locks", "-C", str(project), *arguments]
        return subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError as missing:
        raise NotPlannedError("git is not installed: compare with --against FOLDER, or install it") from missing
