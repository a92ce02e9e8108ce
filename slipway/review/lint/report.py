"""Reports of the linter: text for people, SARIF for the tools that show findings in a pull request."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from slipway import facts
from slipway.config.problems import listed
from slipway.review.lint.files import FileReport, Problem
from slipway.review.lint.registry import RULES
from slipway.review.lint.rules.capacity import Demand
from slipway.review.rule import Rule
from slipway.review.wiring.rules import RULES as WIRING_RULES

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def text_report(reports: Sequence[FileReport]) -> str:
    """Return the report for people: every problem on a line, then what could not be checked."""
    return "\n".join(line for report in reports for line in _lines(report))


def _lines(report: FileReport) -> Iterator[str]:
    yield from (str(problem) for problem in report.problems)
    errors, warnings = _counted(report.errors, "error"), _counted(report.warnings, "warning")
    unchecked = _counted(len({missing.rule for missing in report.not_checked}), "rule")
    yield f"{report.file}: {errors}, {warnings}, {unchecked} not checked"
    for missing in report.not_checked:
        yield f"  not checked: {missing.rule}: {missing.reason}"
    for demand in report.demands:
        yield f"  with all nodes up, without Capacity Blocks: {_demand(demand)}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _demand(demand: Demand) -> str:
    vcpus = [f"{count} vCPUs of `{facts.quota(key).name}`" for key, count in sorted(demand.vcpus.items())]
    unpriced = f" besides {listed(sorted(demand.unpriced), 'and')}, without list price" if demand.unpriced else ""
    return f"{', '.join(vcpus)}; {demand.hourly_usd:.2f} USD per hour at list price{unpriced}"


def explanation(rule: Rule[Any]) -> str:
    """Return the documentation of one rule."""
    return "\n".join(
        (
            f"{rule.id} ({rule.severity}, {rule.topic})",
            f"  rule:   {rule.statement}",
            f"  reason: {rule.reason}",
            f"  fix:    {rule.fix}",
            f"  source: {rule.source}",
        )
    )


def sarif_report(reports: Sequence[FileReport]) -> str:
    """Return the report as SARIF 2.1.0 (OASIS), which GitHub code scanning and editors read."""
    problems = [problem for report in reports for problem in report.problems]
    rules: tuple[Rule[Any], ...] = (*RULES.values(), *WIRING_RULES.values())
    driver = {"name": "slipway lint", "rules": [_sarif_rule(rule) for rule in rules]}
    run = {"tool": {"driver": driver}, "results": [_sarif_result(problem) for problem in problems]}
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _sarif_rule(rule: Rule[Any]) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.statement},
        "fullDescription": {"text": rule.reason},
        "help": {"text": f"{rule.fix} Source: {rule.source}"},
        "defaultConfiguration": {"level": rule.severity},
    }


def _sarif_result(problem: Problem) -> dict[str, Any]:
    location = {
        "artifactLocation": {"uri": problem.file},
        "region": {"startLine": problem.line, "startColumn": problem.column},
    }
    subject = f"{problem.path}: " if problem.path else ""
    return {
        "ruleId": problem.rule,
        "level": problem.severity,
        "message": {"text": f"{subject}{problem.message}. {problem.fix}"},
        "locations": [{"physicalLocation": location}],
    }
