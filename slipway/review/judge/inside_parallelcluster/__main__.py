"""Judge one cloud assembly: `python -m slipway.review.judge.inside_parallelcluster REQUEST.json ANSWER.json`.

`slipway.review.judge.proceedings` writes the request and starts this in ParallelCluster's virtual environment.
"""

import json
import sys
from pathlib import Path

from slipway.review.judge.inside_parallelcluster.judgement import judge

if __name__ == "__main__":
    request, answer = (Path(argument) for argument in sys.argv[1:3])
    answer.write_text(judge(json.loads(request.read_text("utf-8"))).to_json(), "utf-8")
