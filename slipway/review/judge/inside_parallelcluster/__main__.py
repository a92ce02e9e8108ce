"""Judge one cloud assembly: `python -m slipway.review.judge.inside_parallelcluster REQUEST.json ANSWER.json`.

`slipway.review.judge.proceedings` writes the request and starts this in ParallelCluster's virtual environment.
"""

import gc
import json
import sys
from functools import cache
from pathlib import Path

import botocore.session
import yaml

# The same in C saves one of eleven CPU seconds; before ParallelCluster takes the name.
if yaml.__with_libyaml__:
    yaml.SafeLoader = yaml.CSafeLoader  # type: ignore[misc, assignment]  # a drop-in one
from slipway.review.judge.inside_parallelcluster.judgement import judge

# ParallelCluster makes a boto3 session for each call and keeps many objects: both lines save 4 of 13 CPU seconds.
botocore.session.create_loader = cache(botocore.session.create_loader)
gc.set_threshold(100_000, 20, 100)


def answer_request(request: Path, answer: Path) -> None:
    """Judge the assembly of one file and write what comes out to another; both are JSON."""
    answer.write_text(judge(json.loads(request.read_text("utf-8"))).to_json(), "utf-8")


if __name__ == "__main__":
    answer_request(*(Path(argument) for argument in sys.argv[1:3]))
