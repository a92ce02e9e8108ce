"""One run of `slipway pause` or `slipway resume`: synthesize, look, ask, do."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import typer
from botocore.exceptions import BotoCoreError, ClientError

from slipway.assembly.choice import NotChosenError, chosen_assembly
from slipway.assembly.stacks import ENVIRONMENT_TAG, NoAssemblyError, Stack, read_stacks
from slipway.aws.account import open_account
from slipway.console import confirm
from slipway.errors import FailedError, RefusedError
from slipway.operate.resume.bill import said_paused, said_running
from slipway.operate.resume.targets import read_targets
from slipway.review.cost.estimate import estimate
from slipway.review.cost.model import Cost
from slipway_pause.environment import Targets, parts, start, stop
from slipway_pause.part import Outcome, StateError

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Site:
    """A deployed environment.

    Attributes:
        name: its name.
        targets: what of it can be stopped.
        cost: the plan's estimate of it.
        session: boto3 session of its account and Region.
        account: the account's id.
    """

    name: str
    targets: Targets
    cost: Cost
    session: Any
    account: str

    def __str__(self) -> str:
        return f"{self.name} (account {self.account}, {self.session.region_name})"


def pause(environment: str | None, assembly: Path | None, *, yes: bool) -> None:
    """Stop what the budget would stop.

    Args:
        environment: name or file of an environment; it is synthesized.
        assembly: cloud assembly of it, instead.
        yes: ask nothing.

    Raises:
        RefusedError: nothing was changed.
        FailedError: something could not be stopped.
    """
    site = _site(environment, assembly)
    typer.echo(f"environment {site}:")
    for part in _parts(site):
        typer.echo(f"  {part.name}")
    typer.echo(
        "Jobs that run end with their nodes, and batch jobs wait in the queue to begin again; requests are refused; "
        f"{said_paused(site.cost)}."
    )
    confirm("Stop them?", yes=yes)
    outcomes = stop(site.targets, site.session)
    _tell(outcomes, nothing=f"nothing of environment {site} runs that could be stopped")
    typer.echo(f"stopped; `slipway resume -e {shlex.quote(environment or site.name)}` starts it again")


def resume(environment: str | None, assembly: Path | None, *, yes: bool) -> None:
    """Start what was stopped, as it ran before.

    Args:
        environment: name or file of an environment; it is synthesized.
        assembly: cloud assembly of it, instead.
        yes: ask nothing.

    Raises:
        RefusedError: nothing was changed.
        FailedError: something could not be started.
    """
    site = _site(environment, assembly)
    stopped = [(part.name, was) for part in _parts(site) if (was := _asked(part.remembered))]
    if not stopped:
        raise RefusedError(
            f"nothing of environment {site} was stopped by its budget or by `slipway pause`: nothing to resume"
        )
    typer.echo(f"environment {site} starts again:")
    for name, was in stopped:
        typer.echo(f"  {name}: {was}")
    typer.echo(f"From then on {said_running(site.cost)}.")
    typer.echo(
        "A budget that has stopped it stops it once a month: until the next one nothing does, however much is spent, "
        "unless you raise `monthly_budget_usd` and deploy (`slipway docs budget`)."
    )
    confirm("Start them?", yes=yes)
    _tell(start(site.targets, site.session), nothing="another person has started it meanwhile")
    typer.echo("started")


def _site(environment: str | None, assembly: Path | None) -> Site:
    stacks = _stacks(environment, assembly)
    account = open_account(stacks[0].region, stacks[0].account)
    name = stacks[0].tags[ENVIRONMENT_TAG]
    return Site(name, read_targets(stacks), estimate(stacks), account.session, account.id)


def _stacks(environment: str | None, assembly: Path | None) -> tuple[Stack, ...]:
    try:
        folder = chosen_assembly(environment, assembly, "pause", despite_findings=True)
        stacks = read_stacks(folder)
    except (NotChosenError, NoAssemblyError) as error:
        raise RefusedError(str(error)) from error
    if not all(stack.tags.get(ENVIRONMENT_TAG) for stack in stacks):
        raise RefusedError(f"the stacks in {folder} have no tag {ENVIRONMENT_TAG}: they are not an environment's")
    return stacks


def _parts(site: Site) -> list[Any]:
    found = list(parts(site.targets, site.session))
    if refused := [outcome for outcome in found if isinstance(outcome, Outcome)]:
        raise RefusedError(f"AWS does not say what runs: {refused[0]}. Nothing was changed")
    if not found:
        raise RefusedError(f"environment {site} has nothing that could be stopped")
    return found


def _asked(question: Callable[[], Answer]) -> Answer:
    try:
        return question()
    except StateError as error:
        raise RefusedError(f"{error}. Nothing was changed") from error
    except (BotoCoreError, ClientError) as error:
        said = str(error).rstrip(".")
        raise RefusedError(f"AWS does not answer, or refuses: {said}. Nothing was changed") from error


def _tell(outcomes: list[Outcome], *, nothing: str) -> None:
    """Say what became of the parts.

    Raises:
        RefusedError: there was nothing to do.
        FailedError: a part failed.
    """
    if not outcomes:
        raise RefusedError(nothing)
    for outcome in outcomes:
        typer.echo(f"{'FAILED: ' if outcome.failed else ''}{outcome}")
    if failed := sum(outcome.failed for outcome in outcomes):
        raise FailedError(f"{failed} of {len(outcomes)} parts are not as they should be. Run this again")
