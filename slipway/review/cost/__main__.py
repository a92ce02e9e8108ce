"""`python -m slipway.review.cost FOLDER`: what the environment in a cloud assembly costs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from slipway.assembly.stacks import NoAssemblyError, read_stacks
from slipway.console import run
from slipway.review.cost.estimate import estimate
from slipway.review.cost.table import print_cost


def main(assembly: Annotated[Path, typer.Argument(help="Folder of a cloud assembly, for example cdk.out.")]) -> None:
    """Print what an environment costs by list prices, while it is idle and at most."""
    try:
        stacks = read_stacks(assembly)
    except NoAssemblyError as error:
        raise typer.BadParameter(str(error)) from error
    print_cost(estimate(stacks), Console(), datetime.now(tz=UTC).date())


if __name__ == "__main__":
    run(main)
