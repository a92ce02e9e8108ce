"""The cloud assembly that a command works on: one that is there already, or an environment synthesized for it."""

import shutil
from pathlib import Path
from typing import IO, Annotated

import typer

from slipway.assembly.environment_files import WrongChoiceError, completed_names, environment_file, folder_name
from slipway.assembly.folder_lock import FolderTakenError, lock
from slipway.assembly.synthesis import SynthFailedError, synthesize
from slipway.project import PROJECT


def _checked(choice: str) -> str:
    """Refuse at the command line what cannot be an environment, before a command does anything."""
    try:
        environment_file(choice)
    except WrongChoiceError as error:
        raise typer.BadParameter(str(error)) from error
    return choice


def _checked_folder(folder: str) -> Path:
    if not folder.strip():
        raise typer.BadParameter("the name of the folder is empty: write the folder of a cloud assembly")
    return Path(folder)


_ENVIRONMENT = typer.Option(
    "--environment",
    "-e",
    parser=_checked,
    autocompletion=completed_names,
    metavar="NAME",
    help="A name in environments/, or a file that ends in .yaml.",
)

RequiredEnvironment = Annotated[str, _ENVIRONMENT]
"""`-e` of a command that works on an environment's file. It has no default."""

EnvironmentOption = Annotated[str | None, _ENVIRONMENT]
"""`-e` of a command that takes something else instead, for example `--assembly`."""

AssemblyOption = Annotated[
    Path | None,
    typer.Option(
        parser=_checked_folder,
        metavar="FOLDER",
        help="Cloud assembly of the environment that is there already, instead.",
    ),
]
"""`--assembly`: a folder that `cdk synth` wrote."""


FOLDER = PROJECT / ".plan"
"""Where environments are synthesized."""

_LOCKS: dict[Path, IO[str]] = {}
"""The locks of this process, by folder. It keeps them until it ends: commands read an assembly to their end."""


class NotChosenError(Exception):
    """There is no assembly to work on; the message is for the user."""


def refuse_unclear_choice(environment: str | None, assembly: Path | None) -> None:
    """Refuse a choice that names nothing, or two things.

    Raises:
        NotChosenError: not exactly one of the two is given.
    """
    if (environment is None) == (assembly is None):
        raise NotChosenError("say which environment: -e NAME, or --assembly FOLDER; one of them")


def own_folder(directory: Path) -> Path:
    """Return a folder, empty, that no other command uses while this process runs.

    Raises:
        FolderTakenError: another command uses it.
    """
    if directory not in _LOCKS:
        _LOCKS[directory] = lock(directory)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    return directory


def chosen_assembly(
    environment: str | None, assembly: Path | None, purpose: str, *, despite_findings: bool = False
) -> Path:
    """Return the folder of the assembly that is meant.

    Each environment is synthesized in a folder of its own: a command may read the assembly for as long as nodes end,
    while somebody runs the same command for another environment.

    Args:
        environment: name or file of an environment.
        assembly: folder of an assembly, instead.
        purpose: the command's name: the folder below `.plan` that has a folder for each environment, written again each
            time.
        despite_findings: whether an assembly is good enough that a scanner, or the price ceiling, refuses.

    Raises:
        NotChosenError: not exactly one of the two is given, the environment does not synthesize, or the same command
            works on it already.
    """
    refuse_unclear_choice(environment, assembly)
    if assembly is not None:
        return assembly.resolve()
    try:
        directory = own_folder(FOLDER / purpose / folder_name(str(environment)))
        synthesize(str(environment), directory / "assembly", directory / "app.log", despite_findings=despite_findings)
    except (FolderTakenError, SynthFailedError) as error:
        raise NotChosenError(str(error)) from error
    return directory / "assembly"
