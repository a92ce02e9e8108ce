"""Which file a user means by an environment: a name in environments/, or a path that ends in .yaml."""

import re
from pathlib import Path

from slipway.project import PROJECT

ENVIRONMENTS = PROJECT / "environments"
"""Where environment files are looked for by name."""

_ENDING = ".yaml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""A file's name that is safe in a path, in a shell and in a makefile."""

_WANTED = "write the name of a file in environments/ without its ending, or a path that ends in .yaml"


class WrongChoiceError(ValueError):
    """What exists for an environment cannot be one; the message says what to write."""


def environment_file(choice: str) -> Path:
    """Return the file that a user means. It need not exist.

    Args:
        choice: a name in environments/, or a path that ends in .yaml.

    Raises:
        WrongChoiceError: the choice is empty or blank, is neither a name nor a path, or names a folder, a pipe or a
            device.
    """
    if not choice.strip():
        raise WrongChoiceError(f"the name of the environment is empty: {_WANTED}")
    if not choice.endswith(_ENDING):
        if not _NAME.fullmatch(choice):
            raise WrongChoiceError(f"{_shown(choice)} is not the name of an environment: {_WANTED}")
        return ENVIRONMENTS / f"{choice}{_ENDING}"
    file = Path(choice)
    if not choice.isprintable() or not file.name.removesuffix(_ENDING).strip(". "):
        raise WrongChoiceError(f"{_shown(choice)} is not the path of an environment file: {_WANTED}")
    try:
        # Opening a pipe would wait for somebody who writes into it.
        special = file.exists() and not file.is_file()
    except OSError as error:
        raise WrongChoiceError(f"{_shown(choice)}: {error.strerror}") from error
    if special:
        raise WrongChoiceError(f"{choice} is not a regular file")
    return file


def folder_name(choice: str | Path) -> str:
    """Return the name of the folder in which a command works on an environment.

    Args:
        choice: name or file of an environment, or the folder of its cloud assembly.
    """
    # Resolved: of `..` the folder would be one that other commands are in.
    return Path(choice).resolve().name.removesuffix(_ENDING)


def environment_names(folder: Path = ENVIRONMENTS) -> list[str]:
    """Return the names of all environment files in a folder, sorted.

    Raises:
        WrongChoiceError: a file there has a name that no command takes.
    """
    names = sorted(file.name.removesuffix(_ENDING) for file in folder.glob(f"*{_ENDING}"))
    if wrong := [name for name in names if not _NAME.fullmatch(name)]:
        raise WrongChoiceError(
            f"{_shown(f'{folder.name}/{wrong[0]}{_ENDING}')} is not a name for an environment file: rename it to at "
            "most 64 letters, digits, '.', '_' and '-'"
        )
    return names


def completed_names(incomplete: str) -> list[str]:
    """Return the names of environments that begin with what a user has typed. A shell completes them."""
    try:
        return [name for name in environment_names() if name.startswith(incomplete)]
    except WrongChoiceError:
        # A message would land in the middle of the line that the user types; the command itself gives it.
        return []


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
