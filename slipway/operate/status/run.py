"""One run of `slipway status`."""

import typer

from slipway.operate.deployed_environment import find_environment
from slipway.operate.status.look import look
from slipway.operate.status.screen import print_status
from slipway.terminal import screen

NEEDS_ATTENTION, UNKNOWN = 1, 2
"""Exit codes."""


def run(choice: str, *, as_json: bool) -> None:
    """Show an environment.

    Args:
        choice: name or file of an environment.
        as_json: print it as JSON.

    Raises:
        RefusedError: nobody knows what is deployed.
        typer.Exit: something needs attention, or is unknown.
    """
    environment = find_environment(choice)
    status = look(environment)
    if as_json:
        typer.echo(status.model_dump_json(indent=2))
    elif not status.stacks:
        typer.echo(
            f"environment {status.environment} is not deployed in account {status.account}, {status.region}: "
            f"{environment.command('deploy')} deploys it"
        )
    else:
        print_status(status, environment.account.clock(), screen())
    if status.needs_attention:
        raise typer.Exit(NEEDS_ATTENTION)
    if status.unknown:
        raise typer.Exit(UNKNOWN)
