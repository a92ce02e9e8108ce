"""`slipway lint`."""

import sys
from enum import StrEnum
from typing import Annotated, Any, NoReturn

import typer


class Format(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    SARIF = "sarif"


def lint(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Cluster configurations, CloudFormation templates with a Custom::PclusterCluster, or the folder that "
            "`cdk synth` writes; - is stdin.",
        ),
    ] = None,
    *,
    output: Annotated[
        Format, typer.Option("--format", help="Text for people, or SARIF for code scanning and editors.")
    ] = Format.TEXT,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 on warnings too.")] = False,
    explain: Annotated[str | None, typer.Option(metavar="RULE", help="Print what a rule is about, and end.")] = None,
    quota: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VCPUS", help="vCPU quota of the account, for example on_demand_trn=512; repeatable."),
    ] = None,
    hourly_ceiling: Annotated[
        float | None, typer.Option(metavar="USD", min=0, help="What all nodes together may cost per hour.")
    ] = None,
) -> None:
    """Check AWS ParallelCluster configurations for what ParallelCluster lets through, or finds only inside AWS.

    Of a folder that `cdk synth` wrote it checks also how the parts fit together: alarms and the metrics that are sent.

    Exit codes: 0 no errors; 1 errors; 2 wrong use, or a file cannot be read. Rules: `slipway docs cluster-rules` and
    `slipway docs wiring-rules`.
    """
    if explain is not None:
        _explain(explain)
        return
    if not files:
        _refuse("name a file, or - for the standard input")
    # Imported here: `slipway --help` and the other commands need no facts.
    from slipway.assembly.context import Context  # noqa: PLC0415
    from slipway.review.lint.files import UnreadableFileError, lint_file  # noqa: PLC0415
    from slipway.review.lint.report import sarif_report, text_report  # noqa: PLC0415

    context = Context(vcpu_quotas=_quotas(quota or []), hourly_ceiling_usd=hourly_ceiling)
    try:
        reports = [lint_file(file, context) for file in files or []]
    except UnreadableFileError as error:
        _refuse(str(error))
    print(text_report(reports) if output is Format.TEXT else sarif_report(reports))
    if any(report.errors or (strict and report.warnings) for report in reports):
        raise typer.Exit(1)


def _explain(name: str) -> None:
    from slipway.config.problems import near_names  # noqa: PLC0415
    from slipway.review.lint.report import explanation  # noqa: PLC0415
    from slipway.review.lint.rules import RULES as CLUSTER_RULES  # noqa: PLC0415
    from slipway.review.rule import Rule  # noqa: PLC0415
    from slipway.review.wiring.rules import RULES as WIRING_RULES  # noqa: PLC0415

    rules: dict[str, Rule[Any]] = {**CLUSTER_RULES, **WIRING_RULES}
    if name not in rules:
        _refuse(f"there is no rule {name}. {near_names(name, rules)}".strip())
    print(explanation(rules[name]))


def _quotas(settings: list[str]) -> dict[str, int]:
    from slipway import facts  # noqa: PLC0415

    known = [key for key, row in facts.quotas().items() if row.unit == "vCPU"]
    quotas = {}
    for setting in settings:
        key, _, vcpus = setting.partition("=")
        if key not in known or not vcpus.isdecimal():
            _refuse(f"--quota {setting}: write KEY=VCPUS with a key of {', '.join(known)}")
        quotas[key] = int(vcpus)
    return quotas


def _refuse(message: str) -> NoReturn:
    print(f"slipway lint: {message}", file=sys.stderr)
    raise typer.Exit(2)
