"""One run of `slipway judge`: judge the environments, print and write the report."""

from pathlib import Path

import typer

from slipway.assembly.environment_files import WrongChoiceError, environment_names
from slipway.bundle import BUNDLE
from slipway.errors import RefusedError
from slipway.project import PROJECT
from slipway.review.judge.explanations import load_explanations, stale
from slipway.review.judge.proceedings import judge_environments
from slipway.review.judge.progress import Progress
from slipway.review.judge.report import print_report, write_report
from slipway.terminal import screen

DIRECTORY = PROJECT / ".judge"


def run(names: list[str], *, as_json: bool) -> None:
    """Judge the cluster configuration of environments.

    Args:
        names: names of environments; all when empty.
        as_json: print the report as JSON, and nothing else on the standard output.

    Raises:
        RefusedError: a name is unknown or impossible; nothing was judged.
        typer.Exit: an environment fails.
    """
    try:
        known = environment_names()
    except WrongChoiceError as error:
        raise RefusedError(str(error)) from error
    if unknown := sorted(set(names) - set(known)):
        raise RefusedError(f"no environment {', '.join(map(repr, unknown))}; there are: {', '.join(known)}")
    explanations = load_explanations()
    verdicts = judge_environments(names or known, explanations, DIRECTORY, Progress(screen(errors=True)))
    found = [finding for verdict in verdicts for finding, _ in verdict.findings]
    # Only all of Slipway's own environments together can show that an explanation has become stale.
    all_of_ours = PROJECT == BUNDLE and not names
    complete = all_of_ours and all(verdict.answer or verdict.without_cluster for verdict in verdicts)
    left_over = stale(explanations, found) if complete else []
    report = DIRECTORY / "report.json"
    write_report(verdicts, left_over, report)
    if as_json:
        print(report.read_text(encoding="utf-8"), end="")
    else:
        print_report(verdicts, left_over, screen())
        print(f"\nReport: {report.relative_to(Path.cwd()) if report.is_relative_to(Path.cwd()) else report}")
    if left_over or not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(1)
