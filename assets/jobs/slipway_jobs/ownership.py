"""Who may write what a job runs or loads: only its own user, and root.

/fsx/runs, /fsx/checkpoints, /fsx/prepared and /fsx/data belong to root and have mode 1777: everybody makes folders
there, so a name that a job expects may be taken by somebody else. A folder that passes `require_own` stays what it
was: nobody else can write below it, and the sticky bit keeps others from putting another one in its place.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from pathlib import Path

from slipway_jobs.run import DataRun, Run, ScriptRun, TrainingRun, WorkerRun

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class NotOwn(Exception):  # noqa: N818 (somebody's mistake or attack, not an error of the program)
    """Another user wrote something, or can; the message names it, its owner and mode, and says what to do."""


def require_own(path: Path, shared: Path) -> None:
    """Raise `NotOwn` unless only this user and root can have written a file or folder, if it is there.

    Args:
        path: below `shared`; it need not exist.
        shared: the folder that users share.

    Raises:
        NotOwn: the shared folder or a part of the path below it is somebody else's or open to others, or a link.
        OSError: a part of the path cannot be looked at.
    """
    names = path.relative_to(shared).parts
    part = shared.resolve()
    with contextlib.suppress(FileNotFoundError):
        _require(part, sticky=True)
        for number, name in enumerate(names, start=1):
            part /= name
            _require(part, sticky=number < len(names))


def own_folder(path: Path, shared: Path, mode: int = 0o755) -> Path:
    """Make a folder of this user's below a shared one, if it is not there, and return it.

    Args:
        path: the folder; one above it that is missing is made too.
        shared: the folder that users share.
        mode: permissions of a new folder.

    Raises:
        NotOwn: as `require_own`.
        OSError: it cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=mode)
    require_own(path, shared)
    return path


def user_folder(runs: Path) -> Path:
    """Return this user's own folder beside the runs, closed to others: what all runs of the user share.

    Args:
        runs: folder of the runs.

    Raises:
        NotOwn, OSError: as `own_folder`.
    """
    return own_folder(user_path(runs), runs, mode=0o700)


def user_path(runs: Path) -> Path:
    """Return the path of `user_folder`, whether it is there or not."""
    return runs / f".user-{os.getuid()}"


def require_own_run(run: Run) -> None:
    """Check everything that the jobs of a run execute or load, as far as it is there.

    Raises:
        NotOwn, OSError: as `require_own`.
    """
    directory = Path(run.directory)
    scripts = directory / "scripts"
    for path in (directory, run.file, run.chain_file, directory / "stages", scripts, *scripts.glob("*")):
        require_own(path, directory.parent)
    if isinstance(run, WorkerRun):
        require_own(Path(run.checkpoint_directory), Path(run.checkpoint_directory).parent)
    if isinstance(run, ScriptRun):
        require_own(Path(run.program), Path(run.program).parent)
    elif isinstance(run, TrainingRun):
        require_own(Path(run.converted_directory), Path(run.checkpoint_directory).parent)
        for made in filter(None, (run.prepared_directory, run.validation_directory)):
            require_own(Path(made), Path(made).parents[1])
    elif isinstance(run, DataRun):
        require_own(Path(run.data.directory), Path(run.data.shared_directory))
        require_own(Path(run.data.work_directory), Path(run.data.work_directory).parents[1])
    elif product := run.product("fetch"):
        require_own(product, product.parents[1])


def make_own_folders(run: Run) -> None:
    """Make the folders that a run's jobs write to, so that nobody else can, and check what is there.

    Raises:
        NotOwn, OSError: as `own_folder`.
    """
    if not isinstance(run, WorkerRun):
        require_own_run(run)
        return
    if isinstance(run, TrainingRun):
        Path(run.prepared_directory).parent.mkdir(parents=True, exist_ok=True)
    own_folder(Path(run.checkpoint_directory), Path(run.checkpoint_directory).parent)
    require_own_run(run)
    own_folder(Path(run.compile_cache), user_folder(Path(run.directory).parent))


def close_to_others() -> None:
    """Let others write to nothing that this process makes; who may read stays the user's choice."""
    os.umask(os.umask(_OTHERS_WRITE) | _OTHERS_WRITE)


def _require(path: Path, *, sticky: bool) -> None:
    """Raise `NotOwn` for one file or folder; `sticky` says whether others may write to one with the sticky bit."""
    status = _status(path)
    mode, link = stat.S_IMODE(status.st_mode), stat.S_ISLNK(status.st_mode)
    shown = f"{path} ({'a link' if link else f'mode {mode:04o}'} of {_user(status.st_uid)})"
    if status.st_uid not in (0, os.getuid()):
        raise NotOwn(
            f"{shown} is somebody else's, and your jobs would use what is in it. Choose another name, or have its "
            "owner or an administrator remove it"
        )
    if link:
        raise NotOwn(f"{shown} stands where your jobs expect a folder or file of their own. Remove it")
    if mode & _OTHERS_WRITE and not (sticky and mode & stat.S_ISVTX):
        raise NotOwn(
            f"others can write to {shown}, and your jobs would use what is in it. If all of it is yours: "
            f"chmod -R go-w {path}"
        )


def _status(path: Path) -> os.stat_result:
    return path.lstat()


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
