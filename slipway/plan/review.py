"""Plans an environment, writes what was asked for, and says what stops a pipeline."""

import fcntl
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from slipway.plan.errors import NotPlannedError
from slipway.plan.fail_on import FailOn
from slipway.plan.outputs import Outputs
from slipway.plan.sides import Question, synthesized
from slipway.synthesis import PROJECT

PLANS = PROJECT / ".plan" / "plans"
"""Where assemblies, questions and logs of the last plan of each environment are."""


def review(question: Question, outputs: Outputs, fail_on: str) -> tuple[str, ...]:
    """Make a plan and write it.

    Args:
        question: what is planned and what it is compared with.
        outputs: where the plan goes.
        fail_on: conditions of `slipway.plan.fail_on`, with commas between them.

    Returns:
        What stops a pipeline, a line each.

    Raises:
        NotPlannedError: the question makes no sense, or an environment does not synthesize.
    """
    conditions = FailOn(fail_on)
    directory = PLANS / Path(question.environment).stem
    _check(question, conditions, outputs, directory)
    with _alone(directory), _ended_by_sigterm(), synthesized(question, directory) as wait:
        # While the synths run: these take most of a second.
        from slipway.plan.run import plan_of  # noqa: PLC0415

        outputs.prepare()
        sides = wait()
        plan = plan_of(sides, directory)
    outputs.write(plan, sides)
    refused = [
        f"{finding.stack}/{finding.resource}: {finding.tool}, {finding.rule}: {finding.message}"
        for finding in plan.security.findings
        if finding.severity == "error"
    ]
    return (*(f"cdk synth fails: {line}" for line in refused), *conditions.found(plan))


def _check(question: Question, conditions: FailOn, outputs: Outputs, directory: Path) -> None:
    problems = [*outputs.problems()]
    if not question.environment:
        problems.append("--environment is empty: name one, or leave it out to plan the default environment")
    if question.base == "":
        problems.append("--base is empty: name a revision, or leave it out to plan without a comparison")
    if question.base and question.against:
        problems.append("--base and --against are two things to compare with: give one")
    if conditions.needs_comparison and not (question.base or question.against):
        problems.append("--fail-on is about a change: give --base or --against (only `unpriced` needs none)")
    problems += [
        f"{option} {folder} is no folder"
        for option, folder in (("--assembly", question.assembly), ("--against", question.against))
        if folder and not folder.is_dir()
    ]
    if question.against and not question.assembly and question.against.resolve() == (directory / "head").resolve():
        problems.append(f"--against {question.against} is where this plan is written: move it elsewhere first")
    if problems:
        raise NotPlannedError("\n".join(problems))


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Keep another plan of the same environment from writing into the same folder.

    Raises:
        NotPlannedError: one runs already.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    with directory.with_name(f"{directory.name}.lock").open("w", encoding="utf-8") as lock:
        try:
            # The system lets go of it when this process ends, however it ends.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as taken:
            raise NotPlannedError(f"another plan of {directory.name} is being made in {directory}") from taken
        yield


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Have a cancelled pipeline clean up as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
