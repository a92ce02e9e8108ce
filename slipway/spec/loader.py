"""Loads an environment file and tells everything that is wrong with it at once."""

import pathlib

from pydantic import ValidationError

from slipway.spec.document import Document, Flaw, UnreadableDocument, read_document
from slipway.spec.environment import Environment
from slipway.spec.problems import InvalidEnvironment, Problem, dotted, listed, near_names, shown
from slipway.spec.schema_findings import schema_findings

LARGEST_FILE_BYTES = 200_000
"""Largest environment file. A cluster with all 50 queues needs a tenth of it."""


def load_environment(path: pathlib.Path) -> Environment:
    """Load one environment file.

    Args:
        path: The YAML file.

    Returns:
        The environment; every rule holds for it.

    Raises:
        InvalidEnvironment: The file cannot be read or something in it is wrong; `problems` has all of it.
    """
    file = str(path)
    try:
        document = read_document(_text_of(path))
    except UnreadableDocument as unreadable:
        raise InvalidEnvironment([_problem(path, unreadable.flaw)]) from None
    problems = [_problem(path, flaw) for flaw in document.flaws]
    if not isinstance(document.value, dict):
        raise InvalidEnvironment(problems or [_not_a_mapping(path, document)])
    try:
        environment = Environment.model_validate(document.value)
    except ValidationError as error:
        for finding in schema_findings(error, document):
            place = document.position(finding.path, of_key=finding.at_key)
            problems.append(Problem(file, place.line, place.column, dotted(finding.path), finding.message, finding.fix))
    if problems:
        raise InvalidEnvironment(problems)
    return environment


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
        raise InvalidEnvironment([Problem(str(path), line, column, "", message, "Save the file as UTF-8.")]) from None


def _not_there(path: pathlib.Path) -> Problem:
    if path.exists():
        return _about_file(path, "is not a file", "Name one environment file.")
    names = sorted(file.stem for file in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
    there = f"Environments in {path.parent}: {listed(names, 'and')}." if names else f"{path.parent} has no *.yaml file."
    return _about_file(path, "there is no such file", f"{near_names(path.stem, names)} {there}".strip())


def _not_a_mapping(path: pathlib.Path, document: Document) -> Problem:
    if document.value is None:
        return _about_file(path, "the file is empty", "Copy environments/default.yaml and change it.")
    place = document.position(())
    message = f"must be a mapping of keys (got {shown(document.value)})"
    return Problem(
        str(path), place.line, place.column, "", message, "Begin with `name: ...`, as environments/default.yaml."
    )


def _about_file(path: pathlib.Path, message: str, fix: str) -> Problem:
    return Problem(str(path), None, None, "", message, fix)


def _problem(path: pathlib.Path, flaw: Flaw) -> Problem:
    return Problem(str(path), flaw.position.line, flaw.position.column, dotted(flaw.path), flaw.message, flaw.fix)
