"""The cloud assembly that a command works on: one that is there already, or an environment synthesized for it."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from slipway.synthesis import PROJECT, SynthFailedError, synthesize

EnvironmentOption = Annotated[
    str | None, typer.Option("--environment", "-e", help="A name in environments/, or a file that ends in .yaml.")
]
"""`-e`: the environment that is synthesized."""

AssemblyOption = Annotated[
    Path | None, typer.Option(help="Cloud assembly of the environment that is there already, instead.")
]
"""`--assembly`: a folder that `cdk synth` wrote."""


FOLDER = PROJECT / ".plan"
"""Where environments are synthesized."""


class NotChosenError(Exception):
    """There is no assembly to work on; the message is for the user."""


def refuse_unclear_choice(environment: str | None, assembly: Path | None) -> None:
    """Refuse a choice that names nothing, or two things.

    Raises:
        NotChosenError: not exactly one of the two is given.
    """
    if (environment is None) == (assembly is None):
        raise NotChosenError("say which environment: -e NAME, or --assembly FOLDER; one of them")


def chosen_assembly(
    environment: str | None, assembly: Path | None, purpose: str, *, despite_findings: bool = False
) -> Path:
    """Return the folder of the assembly that is meant.

    Each environment is synthesized in a folder of its own: a command may read the assembly for as long as nodes end,
    while somebody runs the same command for another environment.

    Args:
        environment: name or file of an environment.
        assembly: folder of an assembly, instead.
        purpose: the command's name: the folder below `.plan` that has a folder for each environment, written anew each
            time.
        despite_findings: whether an assembly is good enough that a scanner, or the price ceiling, refuses.

    Raises:
        NotChosenError: not exactly one of the two is given, or the environment does not synthesize.
    """
    refuse_unclear_choice(environment, assembly)
    if assembly is not None:
        return assembly.resolve()
    # Resolved: of `..` the folder would be one that other commands are in.
    directory = FOLDER / purpose / Path(str(environment)).resolve().stem
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    try:
        synthesize(str(environment), directory / "assembly", directory / "app.log", despite_findings=despite_findings)
    except SynthFailedError as error:
        raise NotChosenError(str(error)) from error
    return directory / "assembly"
