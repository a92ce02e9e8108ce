"""`python -m slipway_jobs.importing --run RUN_JSON`: the fetch stage of a run.

Exit codes: 0 the model or the data set is in its folder (now or before), 1 it is not; running it again fetches what is
missing.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from slipway_jobs.importing.data_folder import fetch_data
from slipway_jobs.importing.data_set import DataRefused
from slipway_jobs.importing.hub import HubError, download, look_up
from slipway_jobs.importing.model_files import describe
from slipway_jobs.importing.s3_objects import S3Refused
from slipway_jobs.ownership import NotOwn, own_folder
from slipway_jobs.publishing.refusal import PublishRefused
from slipway_jobs.run import DataRun, ImportRun, read_run


def main() -> int:
    """Fetch the model or the data set of the run that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m slipway_jobs.importing", description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="the run's file, run.json")
    run = read_run(parser.parse_args().run)
    try:
        if isinstance(run, DataRun):
            fetch_data(run, _tell)
        elif isinstance(run, ImportRun) and run.model.repository:
            _fetch(run)
        else:
            return _fail(f"the run {run.name} fetches nothing")
    except (DataRefused, HubError, PublishRefused, S3Refused, NotOwn, OSError) as error:
        return _fail(str(error))
    return 0


def _fetch(run: ImportRun) -> None:
    folder = run.model_directory
    done = folder / "done"
    if done.is_file():
        _tell(f"{folder} is complete: nothing to fetch")
        return
    assert run.model.hub
    assert run.model.repository
    repository = look_up(run.model.hub, run.model.repository, run.model.commit)
    _, names = describe(repository)
    folder.parent.mkdir(parents=True, exist_ok=True)
    own_folder(folder, folder.parents[1])
    download(repository, names, folder, _tell)
    done.touch()
    _tell(f"fetched: {folder}")


def _tell(line: str) -> None:
    print(f"{time.strftime('%FT%TZ', time.gmtime())} fetch: {line}", flush=True)


def _fail(message: str) -> int:
    print(f"not fetched: {message}", file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
