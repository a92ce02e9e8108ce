"""Writes the architecture of a cloud assembly as an SVG file: `python -m slipway.review.report.picture FOLDER`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from slipway.assembly.stacks import NoAssemblyError, read_stacks
from slipway.console import run
from slipway.review.report.architecture import read_architecture
from slipway.review.report.picture.svg import stand_alone


def main(folder: Annotated[Path, typer.Argument(help="Cloud assembly, for example cdk.out.")]) -> None:
    """Print the picture of an environment's architecture."""
    try:
        stacks = read_stacks(folder)
    except NoAssemblyError as problem:
        print(problem, file=sys.stderr)
        raise typer.Exit(2) from problem
    sys.stdout.write(stand_alone(read_architecture(stacks)))


if __name__ == "__main__":
    run(main)
