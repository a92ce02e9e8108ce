"""One run of `slipway connect`: find the command that the stacks have as an output, say it, run it."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import typer

from slipway.errors import RefusedError
from slipway.operate.connect.place import Place
from slipway.operate.deployed_environment import DeployedEnvironment, find_environment
from slipway.programs import require

_SESSIONS = ("aws", "session-manager-plugin")


@dataclass(frozen=True)
class Door:
    """A way in.

    Attributes:
        output: the stack's output that has the command.
        programs: what the command runs.
        missing: what the environment lacks if no stack has that output, for the error message.
    """

    output: str
    programs: tuple[str, ...]
    missing: str


DOORS = {
    Place.HEAD_NODE: Door("HeadNodeSession", _SESSIONS, "no Slurm cluster"),
    Place.LOGIN: Door("LoginNodeSession", _SESSIONS, "no login nodes"),
    Place.USER: Door("UserSession", _SESSIONS, "no `training.users`"),
    Place.SHELL: Door("Shell", ("kubectl",), "no Kubernetes cluster"),
    Place.ENDPOINT: Door(
        "EndpointTunnel",
        _SESSIONS,
        "no endpoint that the head node may ask (`slipway docs endpoint-clients#from-a-laptop`)",
    ),
    Place.CLUSTER: Door("Tunnel", _SESSIONS, "no Kubernetes API without a public address"),
}


def run(choice: str, place: Place | None, *, print_only: bool) -> None:
    """Connect.

    Args:
        choice: name or file of an environment.
        place: where to; None is the head node, or the shell of an environment without a Slurm cluster.
        print_only: show the command, run nothing.

    Raises:
        RefusedError: the environment is not deployed or has no such place, or a program is missing.
        typer.Exit: with the command's exit code.
    """
    environment = find_environment(choice)
    place = place or home_of(environment)
    command = door_command(environment, place)
    if print_only:
        typer.echo(command)
        return
    require(DOORS[place].programs)
    typer.echo(f"$ {command}", err=True)
    code = run_in_terminal(["/bin/sh", "-c", command])
    if code and place is Place.SHELL:
        typer.echo(
            f"If kubectl does not know the cluster, run once: {environment.outputs['Kubeconfig']}\n"
            f"If its API has no public address, open a tunnel: {environment.command('connect', 'cluster')} "
            "(`slipway docs kubernetes`)",
            err=True,
        )
    raise typer.Exit(code)


def home_of(environment: DeployedEnvironment) -> Place:
    """Return where people work: the head node, or the shell of an environment without a Slurm cluster."""
    return Place.HEAD_NODE if environment.settings.training is not None else Place.SHELL


def door_command(environment: DeployedEnvironment, place: Place) -> str:
    """Return the command that connects to a place.

    Raises:
        RefusedError: the environment is not deployed, or has no such place.
    """
    outputs, door = environment.outputs, DOORS[place]
    if not environment.stacks:
        raise RefusedError(
            f"environment {environment.name} is not deployed in account {environment.account.id}, "
            f"{environment.account.region}: {environment.command('deploy')} deploys it"
        )
    if door.output not in outputs:
        others = [name for name, other in DOORS.items() if other.output in outputs]
        raise RefusedError(
            f"environment {environment.name} has {door.missing}; it has: {', '.join(others) or 'no place'}"
        )
    if place is Place.SHELL:
        return outputs[door.output].replace("kubectl ", f"kubectl --context {_context(environment)} ", 1)
    return outputs[door.output]


def _context(environment: DeployedEnvironment) -> str:
    """Return kubectl's name of the cluster: its ARN, which `aws eks update-kubeconfig` writes.

    Without a name kubectl takes the cluster that was used last, which may be another one.
    """
    stack = next(stack for stack in environment.stacks.values() if "Kubeconfig" in stack.outputs)
    _, partition, _, region, account, *_ = stack.id.split(":")
    return f"arn:{partition}:eks:{region}:{account}:cluster/{stack.outputs['ClusterName']}"


def run_in_terminal(command: list[str]) -> int:
    """Run a program that owns the terminal until it ends: Ctrl-C is for it alone. Return its exit code."""
    with without_interrupts():
        return subprocess.run(command, check=False).returncode


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Leave Ctrl-C to the program that runs in the terminal."""
    # A handler, not SIG_IGN, which the program would inherit.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
