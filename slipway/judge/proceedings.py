"""Judges environments: synthesizes each and hands its assembly to ParallelCluster's own virtual environment."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from slipway.capacity_reservations import capacity_reservations
from slipway.judge.assembly import PROJECT, SynthFailedError, read_assembly, synthesize
from slipway.judge.explanations import Explanation
from slipway.judge.inside_parallelcluster.answer import Answer
from slipway.judge.verdict import Verdict

PARALLELCLUSTER_PYTHON = PROJECT / ".tools" / "parallelcluster" / "bin" / "python"

TIME_LIMIT_SECONDS = 300
"""For ParallelCluster's side of one environment; it takes about ten seconds."""


class JudgeFailedError(Exception):
    """ParallelCluster's side ended without an answer; the message says where its log is."""


def judge_environments(
    environments: Sequence[str], explanations: Sequence[Explanation], directory: Path
) -> list[Verdict]:
    """Judge several environments side by side, one per processor.

    Args:
        environments: names of files in environments/, without their ending.
        explanations: the accepted warnings.
        directory: where each environment gets a folder for its assembly, request, answer and log.
    """
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(lambda name: judge_environment(name, explanations, directory / name), environments))


def judge_environment(environment: str, explanations: Sequence[Explanation], directory: Path) -> Verdict:
    """Judge one environment in an empty folder."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    try:
        synthesize(environment, directory / "assembly", directory / "app.log")
        answer = ask_parallelcluster(read_assembly(directory / "assembly"), directory)
    except (SynthFailedError, JudgeFailedError) as failure:
        return Verdict(environment, explanations, problem=str(failure))
    return Verdict(environment, explanations, answer)


def ask_parallelcluster(assembly: Mapping[str, Any], directory: Path) -> Answer:
    """Let the real aws-parallelcluster judge an assembly, in its own virtual environment.

    Args:
        assembly: what `read_assembly` gives.
        directory: an existing folder; request, answer, log and the process's HOME are put there.

    Raises:
        JudgeFailedError: the other side ended without an answer.
    """
    request, answer, log = (directory / name for name in ("request.json", "answer.json", "parallelcluster.log"))
    reservations = [reservation.model_dump() for reservation in capacity_reservations()]
    request.write_text(json.dumps({**assembly, "capacity_reservations": reservations}), "utf-8")
    module = "slipway.judge.inside_parallelcluster"
    try:
        with log.open("w", encoding="utf-8") as output:
            subprocess.run(
                [PARALLELCLUSTER_PYTHON, "-m", module, request, answer],
                cwd=PROJECT,
                env=_closed_environment(directory),
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=TIME_LIMIT_SECONDS,
                check=True,
            )
    except FileNotFoundError as missing:
        raise JudgeFailedError(f"{PARALLELCLUSTER_PYTHON} is not there; `make judge` installs it") from missing
    except subprocess.SubprocessError as failure:
        raise JudgeFailedError(f"aws-parallelcluster's side failed ({failure}); its log: {log}") from failure
    return Answer.from_json(answer.read_text("utf-8"))


def _closed_environment(directory: Path) -> dict[str, str]:
    """Nothing of the user's: a HOME of its own, no profile, credentials that open nothing.

    Node.js is found beside this process's interpreter or on the PATH.
    """
    home = directory / "home"
    home.mkdir(exist_ok=True)
    return {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))),
        "HOME": str(home),
        "TMPDIR": str(home),
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PCLUSTER_CACHE_DISABLED": "1",
    }
