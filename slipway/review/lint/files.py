"""Lints files: finds the clusters in them and reports everything that is wrong, in the order of the lines."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from slipway.assembly.cluster import Cluster
from slipway.assembly.context import Context
from slipway.assembly.sections import Section, UnknownValue, with_open_texts
from slipway.assembly.stacks import NoAssemblyError
from slipway.assembly.templates import Templates
from slipway.config.document import Document
from slipway.config.problems import Finding, dotted
from slipway.config.problems import Path as YamlPath
from slipway.config.unreadable import Flaw, UnreadableDocument
from slipway.facts import UnknownFact
from slipway.review.lint.assembly import lint_assembly
from slipway.review.lint.document import read_document
from slipway.review.lint.registry import NotChecked
from slipway.review.lint.rules import RULES, run_rules
from slipway.review.lint.rules.capacity import Demand, demand
from slipway.review.rule import Severity
from slipway.review.wiring.resources import read_assembly
from slipway.review.wiring.rules import RULES as WIRING_RULES
from slipway.review.wiring.rules import run_rules as run_wiring_rules

LARGEST_FILE_BYTES = 1_000_000
"""Largest file: CloudFormation's limit for a template."""

STANDARD_INPUT = "-"


class UnreadableFileError(Exception):
    """A file cannot be read; the message says which and why."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, where it stands and what to write instead."""

    file: str
    line: int
    """From 1."""

    column: int
    """From 1."""

    path: str
    """The place in the configuration as a dotted path; empty for the whole."""

    severity: Severity
    rule: str
    """Id of the rule; or `file`, `yaml`."""

    message: str
    fix: str

    def __str__(self) -> str:
        subject = f"{self.path}: " if self.path else ""
        place = f"{self.file}:{self.line}:{self.column}"
        return f"{place}: {self.severity}: {subject}{self.message}. {self.fix} [{self.rule}]"


@dataclass(frozen=True)
class FileReport:
    """What is to be said about one file."""

    file: str
    problems: tuple[Problem, ...]
    """Sorted by line."""

    not_checked: tuple[NotChecked, ...] = ()
    demands: tuple[Demand, ...] = ()
    """What each cluster asks of EC2 with all nodes up, where that is known."""

    @property
    def errors(self) -> int:
        """How many problems are errors."""
        return sum(problem.severity == "error" for problem in self.problems)

    @property
    def warnings(self) -> int:
        """How many problems are warnings."""
        return len(self.problems) - self.errors


def lint_file(file: str, context: Context) -> FileReport:
    """Lint one file.

    Args:
        file: its path, the folder of a cloud assembly, or `-` for the standard input.
        context: what is known besides the file.

    Raises:
        UnreadableFileError: there is nothing to lint: no such file, another folder, an empty standard input.
    """
    name = "<stdin>" if file == STANDARD_INPUT else file
    try:
        if file != STANDARD_INPUT and Path(file).is_dir():
            return _lint_folder(Path(file), context)
        content = _standard_input() if file == STANDARD_INPUT else Path(file).read_bytes()
    except OSError as error:
        raise UnreadableFileError(f"{name} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise UnreadableFileError(f"{name!r} cannot be read (not a path)") from error
    if len(content) > LARGEST_FILE_BYTES:
        return _about_file(name, f"is larger than {LARGEST_FILE_BYTES} bytes", "No cluster configuration is.")
    try:
        return lint_text(content.decode("utf-8-sig"), name, context)
    except UnicodeDecodeError:
        return _about_file(name, "is not UTF-8", "Save it as UTF-8.")


def _lint_folder(folder: Path, context: Context) -> FileReport:
    """Lint a cloud assembly: its clusters, and how its parts fit together."""
    try:
        findings = run_wiring_rules(read_assembly(folder))
        clusters = lint_assembly(folder, context)
    except NoAssemblyError as error:
        raise UnreadableFileError(f"{folder} cannot be read (no cloud assembly: {error})") from error
    problems = []
    for one in findings:
        rule = WIRING_RULES[one.rule]
        subject = f"{one.logical_id}.{one.path}".rstrip(".")
        place = _place(folder, one.stack, one.logical_id)
        problems.append(Problem(*place, subject, rule.severity, rule.id, one.message, rule.fix))
    for cluster in clusters:
        place = _place(folder, cluster.found.stack, cluster.found.logical_id)
        for finding in cluster.result.findings:
            severity = RULES[finding.rule].severity
            subject = dotted(finding.path)
            problems.append(Problem(*place, subject, severity, finding.rule, finding.message, finding.fix))
    not_checked = dict.fromkeys(missing for cluster in clusters for missing in cluster.result.not_checked)
    return FileReport(str(folder), tuple(problems), tuple(not_checked))


def _place(folder: Path, stack: str, logical_id: str) -> tuple[str, int, int]:
    """Return file, line and column where a resource begins; the CDK indents by one space."""
    file = folder / f"{stack}.template.json"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    begins = f'  "{logical_id}": {{'
    return str(file), next((number for number, text in enumerate(lines, 1) if text == begins), 1), 1


def _standard_input() -> bytes:
    # There is none when a program was started with it closed.
    content = sys.stdin.buffer.read() if sys.stdin else b""
    if not content:
        raise UnreadableFileError("the standard input is empty: pipe a file into it, or name a file")
    return content


def lint_text(text: str, file: str, context: Context) -> FileReport:
    """Lint the text of a file.

    Args:
        text: a cluster configuration, or a CloudFormation template with clusters.
        file: what the report calls it.
        context: what is known besides the text.
    """
    try:
        document = read_document(text)
    except UnreadableDocument as unreadable:
        return FileReport(file, (_flaw(file, unreadable.flaw),))
    clusters = _clusters(document, context)
    if not clusters:
        return _about_file(file, *_what_it_is(document))
    problems = [_flaw(file, flaw) for flaw in document.flaws]
    not_checked: dict[NotChecked, None] = {}
    demands = []
    for path, cluster in clusters.items():
        result = run_rules(cluster)
        problems += [_problem(file, path, finding, document) for finding in result.findings]
        not_checked |= dict.fromkeys(result.not_checked)
        try:
            demands.append(demand(cluster))
        except (UnknownValue, UnknownFact):
            continue
    problems.sort(key=lambda problem: (problem.line, problem.column, problem.rule, problem.path))
    return FileReport(file, tuple(problems), tuple(not_checked), tuple(demands))


def _clusters(document: Document, context: Context) -> dict[YamlPath, Cluster]:
    """Return the clusters of a document by the place of their configuration."""
    value = document.value
    if not isinstance(value, dict):
        return {}
    if isinstance(value.get("Resources"), dict):
        found = Templates({"template": value}, context.region).clusters()
        return {item.path: replace(item.cluster, context=item.cluster.context.of_account(context)) for item in found}
    if "HeadNode" in value or "Scheduling" in value:
        return {(): Cluster(Section((), with_open_texts(value, {})), context)}
    return {}


def _what_it_is(document: Document) -> tuple[str, str]:
    """Say why there is nothing to lint, and what to do."""
    value = document.value
    want = "Name a ParallelCluster configuration, or a CloudFormation template with a Custom::PclusterCluster."
    if value is None:
        return "is empty", want
    if not isinstance(value, dict):
        return "is not a cluster configuration: it holds no mapping", want
    if "Build" in value:
        return "is the configuration of a machine image (it has Build), not of a cluster", want
    if "Resources" in value:
        return "is a CloudFormation template without a Custom::PclusterCluster", want
    if {"network", "training"} & value.keys():
        return "is a Slipway environment file", "Run `cdk synth`: it checks the cluster that it makes of it."
    return "is not a cluster configuration: it has neither HeadNode nor Scheduling", want


def _about_file(file: str, message: str, fix: str) -> FileReport:
    return FileReport(file, (Problem(file, 1, 1, "", "error", "file", message, fix),))


def _flaw(file: str, flaw: Flaw) -> Problem:
    place = flaw.position
    return Problem(file, place.line, place.column, dotted(flaw.path), "error", "yaml", flaw.message, flaw.fix)


def _problem(file: str, root: YamlPath, finding: Finding, document: Document) -> Problem:
    there = (*root, *finding.path)
    place = document.position(there, of_key=_has_parts(document.value, there))
    severity = RULES[finding.rule].severity
    path = dotted(finding.path)
    return Problem(file, place.line, place.column, path, severity, finding.rule, finding.message, finding.fix)


def _has_parts(value: Any, path: YamlPath) -> bool:
    """Whether a mapping or list stands at a path: its key is then the better place, often a line before it."""
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return False
    return isinstance(value, dict | list)
