"""The judge's report: tables for the terminal, JSON for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from slipway.review.judge.explanations import Explanation
from slipway.review.judge.inside_parallelcluster.answer import Outcome
from slipway.review.judge.verdict import Verdict
from slipway.terminal import Fitted


def print_report(verdicts: Sequence[Verdict], stale: Sequence[Explanation], console: Console) -> None:
    """Print stages and images of every environment, every finding, what was bridged, which explanations are stale."""
    console.print(Fitted(_stages(verdicts)))
    images = [image for verdict in verdicts if verdict.answer for image in verdict.answer.outcome.node_images]
    if images:
        console.print(f"Node images whose build it accepts too: {', '.join(images)}")
    for verdict in verdicts:
        _print_open_findings(verdict, console)
    _print_explained_findings(verdicts, console)
    deviations = {deviation for verdict in verdicts if verdict.answer for deviation in verdict.answer.deviations}
    if deviations:
        console.print("[bold]Bridged between moto and AWS[/] (ParallelCluster's own logic is all on):")
    for deviation in sorted(deviations, key=lambda deviation: deviation.name):
        console.print(f"  {deviation.name}: [dim]{escape(deviation.why)}[/]")
    for explanation in stale:
        console.print(
            f"[red]stale[/]: no environment needs the explanation of {explanation.validator} "
            f"({escape(explanation.pattern)}); remove it from slipway/review/judge/explanations.yaml"
        )


def _stages(verdicts: Sequence[Verdict]) -> Table:
    release = next((verdict.answer.parallelcluster for verdict in verdicts if verdict.answer), "")
    table = Table(
        title=f"Judged by aws-parallelcluster {release}", title_justify="left", box=None, padding=(0, 2, 0, 0)
    )
    for heading in ("environment", "schema", "validators", "resources", "bytes", "open", "explained", "verdict"):
        table.add_column(heading)
    for verdict in verdicts:
        cells = _outcome_cells(verdict, verdict.answer.outcome) if verdict.answer else ["-"] * 6
        table.add_row(verdict.environment, *cells, _word(verdict))
    return table


def _word(verdict: Verdict) -> str:
    if verdict.without_cluster:
        return "no Slurm cluster"
    return "[green]passed[/]" if verdict.passed else "[red]failed[/]"


def _outcome_cells(verdict: Verdict, outcome: Outcome) -> list[str]:
    unexplained = sum(explanation is None for _, explanation in verdict.findings)
    return [
        "passed" if outcome.schema_passed else "failed",
        f"{outcome.validations} {'passed' if outcome.validators_passed else 'ran'}" if outcome.validations else "-",
        str(outcome.template_resources or "-"),
        f"{outcome.template_bytes:,}" if outcome.template_bytes else "-",
        str(unexplained),
        str(len(verdict.findings) - unexplained),
    ]


def _print_open_findings(verdict: Verdict, console: Console) -> None:
    if verdict.problem:
        console.print(f"[red]{verdict.environment} was not judged[/]: {escape(verdict.problem)}")
    for finding, explanation in verdict.findings:
        if explanation is None:
            message = escape(finding.message)
            console.print(f"[red]{verdict.environment}[/]: {finding.level} [bold]{finding.source}[/]: {message}")


def _print_explained_findings(verdicts: Sequence[Verdict], console: Console) -> None:
    environments: dict[Explanation, list[str]] = {}
    for verdict in verdicts:
        for explanation in dict.fromkeys(explanation for _, explanation in verdict.findings):
            if explanation is not None:
                environments.setdefault(explanation, []).append(verdict.environment)
    if environments:
        console.print("[bold]Explained findings[/]:")
    for explanation, names in environments.items():
        console.print(f"  {explanation.validator} ({', '.join(names)}): [dim]{escape(explanation.reason)}[/]")


def write_report(verdicts: Sequence[Verdict], stale: Sequence[Explanation], path: Path) -> None:
    """Write the report as JSON."""
    content = {
        "passed": all(verdict.passed for verdict in verdicts) and not stale,
        "environments": [_as_data(verdict) for verdict in verdicts],
        "stale_explanations": [asdict(explanation) for explanation in stale],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def _as_data(verdict: Verdict) -> dict[str, object]:
    answer = asdict(verdict.answer) if verdict.answer else {}
    if answer:
        answer["outcome"]["findings"] = [
            {**asdict(finding), "explanation": explanation.reason if explanation else None}
            for finding, explanation in verdict.findings
        ]
    return {"name": verdict.environment, "passed": verdict.passed, "problem": verdict.problem, **answer}
