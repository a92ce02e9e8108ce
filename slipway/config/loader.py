"""Loads an environment file and reports everything that is wrong with it at once."""

import pathlib

from pydantic import ValidationError

from slipway.config.credentials import credential_findings
from slipway.config.document import Document, read_document
from slipway.config.environment import Environment
from slipway.config.look_alikes import look_alike_hint
from slipway.config.problems import (
    Finding,
    InvalidEnvironment,
    Problem,
    dotted,
    listed,
    near_names,
    shown,
    sorted_by_place,
)
from slipway.config.rules import NOTICES, RULES, findings_of
from slipway.config.schema_findings import schema_findings
from slipway.config.unreadable import Flaw, UnreadableDocument
from slipway.config.valid_parts import valid_parts

LARGEST_FILE_BYTES = 100_000
"""Largest environment file. A cluster with all 50 queues needs a fifth of it, and any text up to it takes a second."""


def load_environment(path: pathlib.Path) -> Environment:
    """Load one environment file.

    Args:
        path: The YAML file.

    Returns:
        The environment; every rule holds for it.

    Raises:
        InvalidEnvironment: The file cannot be read or something in it is wrong; `problems` has all of it.
    """
    return load_with_notices(path)[0]


def load_with_notices(path: pathlib.Path) -> tuple[Environment, list[Problem]]:
    """Load one environment file, and say what a person should know before deploying it.

    Args:
        path: The YAML file.

    Returns:
        The environment, for which every rule holds, and the notices about it, sorted by line.

    Raises:
        InvalidEnvironment: The file cannot be read or something in it is wrong; `problems` has all of it.
    """
    try:
        document = read_document(_text_of(path))
    except UnreadableDocument as unreadable:
        raise InvalidEnvironment([_flaw_problem(path, unreadable.flaw)]) from None
    flaws = [_flaw_problem(path, flaw) for flaw in document.flaws]
    if not isinstance(document.value, dict):
        raise InvalidEnvironment(flaws or [_not_a_mapping(path, document)])
    environment, findings = _checked(document)
    if flaws or findings:
        raise InvalidEnvironment([*flaws, *(_problem(path, finding, document) for finding in findings)])
    notices = findings_of(NOTICES, environment)
    return environment, sorted_by_place(_problem(path, notice, document) for notice in notices)


def located(path: pathlib.Path, finding: Finding) -> Problem:
    """Return the place of a finding in an environment file that was loaded before, for what is found only later.

    Args:
        path: The YAML file.
        finding: What was found, with the name of its rule.
    """
    return _problem(path, finding, read_document(_text_of(path)))


def _checked(document: Document) -> tuple[Environment, list[Finding]]:
    """Validate a document and run the rules on what is valid; the environment is whole when there are no findings."""
    findings = list(credential_findings(document.value))
    invalid = {finding.path for finding in findings} | {flaw.path for flaw in document.flaws}
    environment: Environment | None = None
    try:
        environment = Environment.model_validate(document.value)
    except ValidationError as error:
        schema = [finding for finding in schema_findings(error, document) if finding.path not in invalid]
        findings += schema
        invalid |= {finding.path for finding in schema}
    if environment is None or invalid:
        environment = valid_parts(document.value, invalid)
    return environment, [*findings, *findings_of(RULES, environment)]


def _text_of(path: pathlib.Path) -> str:
    """Read the file, or say why it cannot be read."""
    try:
        if not path.is_file():
            raise InvalidEnvironment([_not_there(path)])
        content = path.open("rb").read(LARGEST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidEnvironment):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InvalidEnvironment([_about_file(path, f"cannot be read ({reason})", "Name a readable file.")]) from None
    if len(content) > LARGEST_FILE_BYTES:
        message = f"is larger than {LARGEST_FILE_BYTES} bytes"
        raise InvalidEnvironment(
            [_about_file(path, message, "An environment file is much smaller: is it another file?")]
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        message = f"the byte 0x{content[error.start]:02X} is not UTF-8"
        raise InvalidEnvironment(
            [Problem(str(path), line, column, "", message, "Save the file as UTF-8.", "yaml")]
        ) from None


def _not_there(path: pathlib.Path) -> Problem:
    if path.exists():
        return _about_file(path, "is not a file", "Name one environment file.")
    # A name in environments/ that was given its ending, and a path there that was not.
    for meant in (path.parent / "environments" / path.name, path.parent.parent / path.name):
        if meant.is_file():
            return _about_file(path, "there is no such file", f"Did you mean {meant}?")
    names = sorted(file.stem for file in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
    there = f"Environments in {path.parent}: {listed(names, 'and')}." if names else f"{path.parent} has no *.yaml file."
    return _about_file(path, "there is no such file", f"{near_names(path.stem, names)} {there}".strip())


def _not_a_mapping(path: pathlib.Path, document: Document) -> Problem:
    if document.value is None:
        return Problem(
            str(path), 1, 1, "", "the file is empty", "Copy environments/default.yaml and change it.", "yaml"
        )
    place = document.position(())
    message = f"must be a mapping of keys (got {shown(document.value)})"
    fix = "Begin with `name: ...`, as environments/default.yaml."
    return Problem(str(path), place.line, place.column, "", message, fix, "schema")


def _about_file(path: pathlib.Path, message: str, fix: str) -> Problem:
    return Problem(str(path), None, None, "", message, fix, "file")


def _flaw_problem(path: pathlib.Path, flaw: Flaw) -> Problem:
    line, column = flaw.position.line, flaw.position.column
    return Problem(str(path), line, column, dotted(flaw.path), flaw.message, flaw.fix, "yaml")


def _problem(path: pathlib.Path, finding: Finding, document: Document) -> Problem:
    place = document.position(finding.path, of_key=finding.at_key)
    written = finding.path[-1] if finding.at_key else document.value_at(finding.path)
    hint = look_alike_hint(written) if isinstance(written, str) else ""
    fix = f"{hint} {finding.fix}".strip()
    return Problem(str(path), place.line, place.column, dotted(finding.path), finding.message, fix, finding.rule)
