"""The folder of a fetched data set: what is in it, and the job that fills it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from slipway_jobs.importing.data_set import DONE, DataRefused, DataSet, open_data_set
from slipway_jobs.importing.hub import HUBS_OWN, SIDE_BY_SIDE
from slipway_jobs.importing.remote_file import RemoteFile
from slipway_jobs.ownership import own_folder
from slipway_jobs.recipe.section import Section
from slipway_jobs.recipe.source_files import FETCHED
from slipway_jobs.run import DataRun, FetchedData

_COPY_BYTES = 8 * 2**20


class DataFile(Section):
    """A file of a data set."""

    size: int
    """Bytes."""

    checksum: str
    """What its content was compared with: algorithm and value, or `none`."""


class DataManifest(Section):
    """What was fetched into a folder: the file `slipway-data.json` there."""

    run: str
    """The run that fetched it."""

    data: FetchedData
    """Where it comes from."""

    files: dict[str, DataFile]
    """Its files by name."""


def state_of(data: FetchedData) -> Literal["new", "unfinished", "complete"]:
    """Tell what is in a data set's folder.

    Raises:
        DataRefused: it holds something else, or says that it is complete and is not.
        OSError: it cannot be read.
    """
    folder = Path(data.directory)
    if not folder.exists():
        return "new"
    if not folder.is_dir():
        raise DataRefused(f"{folder} is a file: write the name of a new folder")
    manifest = _manifest(folder)
    if manifest is None:
        if first := next(folder.iterdir(), None):
            raise DataRefused(f"{folder} holds other files, for example {first.name}: write the name of a new folder")
        return "new"
    if manifest.data.origin != data.origin:
        raise DataRefused(
            f"{folder} holds {manifest.data.origin}, not {data.origin}. Write the name of a new folder, or take the "
            "same --revision and --include"
        )
    if not (folder / DONE).exists():
        return "unfinished"
    if wrong := [name for name, file in manifest.files.items() if _size(folder / name) != file.size]:
        raise DataRefused(
            f"{folder} says that it is complete, but {wrong[0]} is missing or has another size, and {len(wrong) - 1} "
            f"more. Remove {folder / DONE}, then fetch it again"
        )
    return "complete"


def missing_bytes(data: FetchedData, sizes: dict[str, int]) -> int:
    """Return how much room a fetch needs: for what is missing, and for the files that are compared at once."""
    folder = Path(data.directory)
    missing = sorted((size for name, size in sizes.items() if _size(folder / name) != size), reverse=True)
    return sum(missing) + sum(missing[:SIDE_BY_SIDE])


def fetch_data(run: DataRun, tell: Callable[[str], None]) -> None:
    """Fill the folder of a run's data set. What is there with the right content is not fetched again.

    A file arrives in the work folder and is copied when its content is right. FSx exports each new file of the data
    set's folder (FSx API reference, AutoExportPolicy): no part of one and no temporary file reaches the bucket, and
    whether FSx takes a file that is moved there for a new one is not documented.

    Raises:
        DataRefused: the folder holds something else, another run fills it, or the data set has changed since the
            submission.
        HubError, S3Refused: a file is not given, or with another content.
        NotOwn: somebody else can write to the folder.
        OSError: a file cannot be written.
    """
    work = Path(run.data.work_directory)
    own_folder(work.parent, work.parents[1])
    with _alone(run):
        _fill_folder(run, tell)


@contextmanager
def _alone(run: DataRun) -> Iterator[None]:
    """Hold the lock of a data set's folder, which names the run that fills it.

    It ends with the process, on whichever node: /fsx is mounted with `flock` everywhere. It lies beside the work
    folder, because FSx would export it from the data set's. Folders of other users are refused before.

    Raises:
        DataRefused: another run holds it.
    """
    folder = run.data.directory
    name = f"fetch-{hashlib.sha256(folder.encode()).hexdigest()[:16]}.lock"
    with Path(run.data.work_directory).with_name(name).open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            other = lock.read()
            raise DataRefused(
                f"the run {other} fills {folder} at this moment: wait for its end (slipway-job status {other}), or "
                f"cancel it (slipway-job cancel {other})"
            ) from None
        lock.truncate(0)
        lock.write(run.name)
        lock.flush()
        yield


def _fill_folder(run: DataRun, tell: Callable[[str], None]) -> None:
    data, folder, work = run.data, Path(run.data.directory), Path(run.data.work_directory)
    if state_of(data) == "complete":
        tell(f"{folder} is complete: nothing to fetch")
        return
    found = open_data_set(
        data.source, data.revision if data.hub else None, data.include, hub=data.hub or "", region=run.region
    )
    if found.revision != data.revision:
        raise DataRefused(f"{data.source} has changed since the fetch was submitted: submit it again")
    own_folder(folder, Path(data.shared_directory))
    own_folder(work, work.parents[1])
    # huggingface_hub begins a file anew that a killed job has left half-done.
    shutil.rmtree(work / HUBS_OWN, ignore_errors=True)
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        files = {file.name: file for file in pool.map(found.described, sorted(found.sizes))}
        _write_manifest(folder, run, files.values())
        total, there = sum(found.sizes.values()), 0
        for file, fetched in zip(
            files.values(), pool.map(lambda one: _fill(found, one, folder, work, tell), files.values()), strict=True
        ):
            there += file.size
            compared = "size right" if file.checksum.algorithm == "none" else f"{file.checksum.algorithm} right"
            how = "is there" if fetched else "was there"
            tell(f"{file.name} {how}, {compared}; {there / 2**30:.2f} of {total / 2**30:.2f} GiB")
    shutil.rmtree(work, ignore_errors=True)
    (folder / DONE).touch()


def _fill(found: DataSet, file: RemoteFile, folder: Path, work: Path, tell: Callable[[str], None]) -> bool:
    """Bring one file to its place; return False if it was there."""
    place = folder / file.name
    if file.is_at(place):
        return False
    found.bring(file, work, tell)
    place.parent.mkdir(parents=True, exist_ok=True)
    with (work / file.name).open("rb") as source, place.open("wb") as target:
        shutil.copyfileobj(source, target, _COPY_BYTES)
        target.flush()
        os.fsync(target.fileno())
    if not file.is_at(place):
        raise DataRefused(f"{place} has another content than {work / file.name}, of which it is a copy")
    (work / file.name).unlink()
    return True


def _write_manifest(folder: Path, run: DataRun, files: Iterable[RemoteFile]) -> None:
    listed = {file.name: DataFile(size=file.size, checksum=str(file.checksum)) for file in files}
    manifest = DataManifest(run=run.name, data=run.data, files=listed)
    # Not by a rename, as elsewhere: what is written beside it would reach the bucket, too.
    (folder / FETCHED).write_text(manifest.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _manifest(folder: Path) -> DataManifest | None:
    try:
        return DataManifest.model_validate_json((folder / FETCHED).read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        fix = "If no fetch fills the folder, remove this file and what is beside it"
        raise DataRefused(f"{folder / FETCHED} cannot be read by this version of the kit. {fix}: {error}") from None


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None
