"""`python -m slipway_jobs.publishing --run RUN_JSON`: the publish stage of a run.

Exit codes: 0 the version is published (now or before), 1 it is not; the output says why, and running it again goes on.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

import boto3
from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from slipway_jobs.environment import read_environment
from slipway_jobs.publishing.refusal import PublishRefused
from slipway_jobs.publishing.stage import Publication
from slipway_jobs.run import read_run

_RETRIES = Config(retries={"mode": "standard", "total_max_attempts": 8})


def main() -> int:
    """Publish the model of the run that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m slipway_jobs.publishing", description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="the run's file, run.json")
    # A job that is cancelled ends through `finally`, so that no compiler is left behind.
    signal.signal(signal.SIGTERM, _stop)
    try:
        _publish(parser.parse_args().run)
    except PublishRefused as refused:
        return _fail(f"not published:\n{refused}")
    except (ClientError, BotoCoreError, Boto3Error) as error:
        return _fail(f"not published, AWS refuses or does not answer: {error}\nRunning the stage again goes on")
    except (OSError, ValueError) as error:
        return _fail(f"not published: {error}")
    return 0


def _publish(run_file: Path) -> None:
    run = read_run(run_file)
    if run.recipe.publish is None:
        raise PublishRefused([f"recipe {run.recipe.name} has no publish section"])
    environment = read_environment(Path(run.environment_file))
    s3 = boto3.client("s3", region_name=run.region, config=_RETRIES)
    Publication(run, run.recipe.publish, environment, s3, _tell).carry_out()


def _stop(number: int, _frame: object) -> None:
    sys.exit(128 + number)


def _tell(line: str) -> None:
    print(f"{time.strftime('%FT%TZ', time.gmtime())} publish: {line}", flush=True)


def _fail(message: str) -> int:
    print(message, file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
