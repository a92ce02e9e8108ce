"""Plans an environment, writes what was asked for, and says what stops a pipeline."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from slipway.assembly.environment_files import folder_name
from slipway.assembly.folder_lock import FolderTakenError, lock
from slipway.project import PROJECT
from slipway.review.base_and_head import Question, synthesized
from slipway.review.drift.model import Drift
from slipway.review.errors import NotPlannedError
from slipway.review.fail_on import FailOn
from slipway.review.outputs import Outputs

PLANS = PROJECT / ".plan" / "plans"
"""Where assemblies, questions and logs of the last plan of each environment are."""


def review(question: Question, outputs: Outputs, fail_on: str) -> tuple[str, ...]:
    """Make a plan and write it.

    Args:
        question: what is planned and what it is compared with.
        outputs: where the plan goes.
        fail_on: conditions of `slipway.review.fail_on`, with commas between them.

    Returns:
        What stops a pipeline, a line each.

    Raises:
        NotPlannedError: the question makes no sense, or an environment does not synthesize.
    """
    conditions = FailOn(fail_on)
    directory = PLANS / folder_name(question.environment or question.assembly or "")
    _check(question, conditions, outputs, directory)
    with _alone(directory), _drift(question) as drift, synthesized(question, directory) as wait:
        # While the synths run: these take most of a second.
        from slipway.review.lines.attribution import changed_lines  # noqa: PLC0415
        from slipway.review.run import plan_of  # noqa: PLC0415

        outputs.prepare()
        compared = wait()
        with changed_lines(question, compared, directory) as told:
            plan = told(plan_of(compared, directory))
        plan = plan.model_copy(update={"drift": drift()})
    outputs.write(plan, compared)
    refused = [
        f"{finding.stack}/{finding.resource}: {finding.tool}, {finding.rule}: {finding.message}"
        for finding in plan.security.findings
        if finding.severity == "error"
    ]
    return (*(f"cdk synth fails: {line}" for line in refused), *conditions.found(plan))


def _check(question: Question, conditions: FailOn, outputs: Outputs, directory: Path) -> None:
    problems = [*outputs.problems()]
    if not question.environment and not question.assembly:
        problems.append("say which environment: -e NAME, or --assembly FOLDER")
    if not question.environment and question.assembly and question.base:
        problems.append("--base needs -e NAME beside --assembly: which environment is synthesized at that revision")
    if question.base == "":
        problems.append("--base is empty: name a revision, or leave it out to plan without a comparison")
    if question.base and question.against:
        problems.append("--base and --against are two things to compare with: give one")
    if question.drift and not question.environment:
        problems.append("--drift needs -e NAME: which deployed environment is compared")
    if conditions.drift and not question.drift:
        problems.append("--fail-on drift needs --drift")
    if conditions.needs_comparison and not (question.base or question.against):
        problems.append("--fail-on is about a change: give --base or --against (only `unpriced` needs none)")
    problems += [
        f"{option} {folder} is not a folder"
        for option, folder in (("--assembly", question.assembly), ("--against", question.against))
        if folder and not folder.is_dir()
    ]
    if question.against and not question.assembly and question.against.resolve() == (directory / "head").resolve():
        problems.append(f"--against {question.against} is where this plan is written: move it elsewhere first")
    if problems:
        raise NotPlannedError("\n".join(problems))


@contextmanager
def _drift(question: Question) -> Iterator[Callable[[], Drift | None]]:
    if not question.drift or question.environment is None:
        yield lambda: None
        return
    # boto3 takes a while to import; most plans do without.
    from slipway.review.drift.detect import comparing  # noqa: PLC0415

    with comparing(question.environment) as answer:
        print("CloudFormation compares the stacks with what is there, which takes minutes", file=sys.stderr)
        yield answer


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Keep another plan of the same environment from writing into the same folder.

    Raises:
        NotPlannedError: one runs already.
    """
    try:
        taken = lock(directory)
    except FolderTakenError as error:
        raise NotPlannedError(f"another plan of {directory.name} is being made: {error}") from error
    with taken:
        yield
