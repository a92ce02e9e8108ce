"""Judges environments: synthesizes each and hands its assembly to ParallelCluster's own virtual environment."""

import os
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from slipway import facts
from slipway.assembly.folder_lock import FolderTakenError, lock
from slipway.assembly.process_groups import end_all
from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.assembly.synthesis import SynthFailedError, synthesize
from slipway.review.judge.assembly import read_assembly
from slipway.review.judge.explanations import Explanation
from slipway.review.judge.inside_parallelcluster.answer import Answer
from slipway.review.judge.node_images import images_of_account
from slipway.review.judge.parallelcluster_process import JudgeFailedError, run_in_parallelcluster, unpack_packages
from slipway.review.judge.progress import Progress
from slipway.review.judge.verdict import Verdict
from slipway.review.report.wording import count
from slipway_emulator.capacity_reservations import CapacityReservation, capacity_reservations

_THREADS = "judge"
_TICK_SECONDS = 0.2


def judge_environments(
    environments: Sequence[str], explanations: Sequence[Explanation], directory: Path, progress: Progress
) -> list[Verdict]:
    """Judge several environments side by side, one per processor.

    Args:
        environments: names of files in environments/, without their ending.
        explanations: the accepted warnings.
        directory: where each environment gets a folder for its assembly, request, answer and log.
        progress: shows what runs.

    Raises:
        KeyboardInterrupt: somebody stopped it; every program that ran has ended.
    """
    with progress.shown(), ThreadPoolExecutor(os.cpu_count(), thread_name_prefix=_THREADS) as pool:
        try:
            verdicts = [
                pool.submit(judge_environment, name, explanations, directory / name, progress) for name in environments
            ]
            while wait(verdicts, _TICK_SECONDS).not_done:
                progress.tick()
            return [verdict.result() for verdict in verdicts]
        except KeyboardInterrupt:
            progress.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            # More than once: a thread may have started another program meanwhile. The threads, not the futures: an
            # interrupt during `submit` leaves a thread that works on a future nobody holds.
            while any(thread.name.startswith(_THREADS) for thread in threading.enumerate()):
                end_all()
                time.sleep(0.1)
            raise


def judge_environment(
    environment: str, explanations: Sequence[Explanation], directory: Path, progress: Progress
) -> Verdict:
    """Judge one environment in an empty folder."""
    try:
        with lock(directory):
            return _judge(environment, explanations, directory, progress)
    except FolderTakenError as taken:
        return Verdict(environment, explanations, problem=str(taken))


def _judge(environment: str, explanations: Sequence[Explanation], directory: Path, progress: Progress) -> Verdict:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    try:
        with progress.step(environment, "cdk synth"):
            synthesize(environment, directory / "assembly", directory / "app.log")
        assembly = read_assembly(directory / "assembly")
        if not has_cluster(assembly):
            return Verdict(environment, explanations, without_cluster=True)
        images = sum(map(len, assembly["documents"].values()))
        with progress.step(environment, f"aws-parallelcluster: the cluster, {count(images, 'node image')}"):
            answer = ask_parallelcluster(assembly, directory)
    except (SynthFailedError, JudgeFailedError) as failure:
        return Verdict(environment, explanations, problem=str(failure))
    return Verdict(environment, explanations, answer)


def has_cluster(assembly: Mapping[str, Any]) -> bool:
    """Return whether an assembly, as `read_assembly` gives it, holds a Slurm cluster."""
    return any(
        resource["Type"] == CLUSTER_TYPE
        for stack in assembly["stacks"]
        for resource in stack["template"].get("Resources", {}).values()
    )


def ask_parallelcluster(
    assembly: Mapping[str, Any], directory: Path, reservations: Sequence[CapacityReservation] | None = None
) -> Answer:
    """Let the real aws-parallelcluster judge an assembly, in its own virtual environment.

    Args:
        assembly: what `read_assembly` gives.
        directory: an existing folder; request, answer, log and the process's HOME are put there.
        reservations: what the account holds; the rows of the emulator's capacity_reservations.yaml when left out.

    Raises:
        JudgeFailedError: the other side ended without an answer.
    """
    question = question_about(assembly, reservations)
    unpack_packages()
    return Answer.from_json(run_in_parallelcluster("slipway.review.judge.inside_parallelcluster", question, directory))


def question_about(
    assembly: Mapping[str, Any], reservations: Sequence[CapacityReservation] | None = None
) -> dict[str, Any]:
    """Return what the other side reads: an assembly, and what else the account holds; see `ask_parallelcluster`."""
    held = capacity_reservations() if reservations is None else reservations
    return {
        **assembly,
        "capacity_reservations": [reservation.model_dump() for reservation in held],
        "node_images": [image.model_dump() for image in images_of_account(assembly["existing"])],
        "image_builder_images": [system.image_builder_image for system in facts.operating_systems().values()],
    }
