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
import botocore.session
from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
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
    if run.publish is None:
        raise PublishRefused([f"the run {run.name} publishes nothing"])
    environment = read_environment(Path(run.environment_file))
    session = (
        _publisher(environment.publisher_role_arn, run.name) if environment.publisher_role_arn else boto3.Session()
    )
    s3 = session.client("s3", region_name=run.region, config=_RETRIES)
    Publication(run, run.publish, environment, s3, _tell).carry_out()


def _publisher(role_arn: str, run: str) -> boto3.Session:
    """Return a session of the role that may publish, under the run's name. It is renewed: an upload may take hours."""
    own, session = botocore.session.get_session(), botocore.session.get_session()
    fetcher = AssumeRoleCredentialFetcher(
        own.create_client, own.get_credentials(), role_arn, extra_args={"RoleSessionName": run[:64]}
    )
    credentials = DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role")
    session._credentials = credentials  # type: ignore[attr-defined]
    return boto3.Session(botocore_session=session)


def _stop(number: int, _frame: object) -> None:
    sys.exit(128 + number)


def _tell(line: str) -> None:
    print(f"{time.strftime('%FT%TZ', time.gmtime())} publish: {line}", flush=True)


def _fail(message: str) -> int:
    print(message, file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
