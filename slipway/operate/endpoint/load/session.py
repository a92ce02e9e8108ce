"""One run of `slipway endpoint load`: find whom to ask, ask the user, measure, report."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from enum import Enum, auto

import typer

from slipway.errors import RefusedError
from slipway.operate.endpoint.addressing import Address
from slipway.operate.endpoint.load import report
from slipway.operate.endpoint.load.plan import Plan
from slipway.operate.endpoint.load.run import LoadTest
from slipway.operate.endpoint.target import Target
from slipway.terminal import screen

UNASKED_REQUESTS = 50
"""Requests to a deployed environment for which nobody is asked."""


class Form(Enum):
    """How the numbers are printed."""

    TABLE = auto()
    JSON = auto()
    CSV = auto()


def choose_form(*, as_json: bool, as_csv: bool) -> Form:
    """Return the form that the command line asks for.

    Raises:
        RefusedError: it asks for two.
    """
    if as_json and as_csv:
        raise RefusedError("say either --json or --csv")
    return Form.JSON if as_json else Form.CSV if as_csv else Form.TABLE


@dataclass(frozen=True)
class LoadOptions:
    """What the command line asks for.

    Attributes:
        form: how the numbers are printed.
        asks: whether the user is asked before others' endpoint is loaded.
    """

    form: Form
    asks: bool


def run(address: Address, plan: Plan, options: LoadOptions) -> bool:
    """Measure an endpoint and print the numbers.

    Returns:
        Whether errors ended it.

    Raises:
        RefusedError: nothing was measured.
        KeyboardInterrupt: the user ended it; what there was is printed.
    """
    target = _only_target(address)
    if options.asks:
        _confirm(target, plan)
    bars = report.BarsOfLevels(screen(errors=True))
    test = LoadTest(target, plan, bars)
    try:
        with bars:
            asyncio.run(test.run())
    except KeyboardInterrupt:
        test.stopped = "interrupted; the last level is not whole"
        raise
    finally:
        if test.levels:
            _print(test, options.form)
    return test.stopped is not None


def _only_target(address: Address) -> Target:
    targets = address.targets()
    if len(targets) > 1:
        names = ", ".join(target.name for target in targets)
        raise RefusedError(f"the endpoint has several models: say --model with one of {names}")
    return targets[0]


def _confirm(target: Target, plan: Plan) -> None:
    """Say what the test does to the endpoint's users, and ask.

    Raises:
        RefusedError: the answer is no.
    """
    requests = plan.all_requests
    if requests is not None and requests <= UNASKED_REQUESTS:
        return
    many = (
        f"{requests} requests" if requests is not None else f"{len(plan.levels)} times {plan.seconds:g} s of requests"
    )
    typer.echo(
        f"{many}, up to {plan.levels[-1]} at a time, go to {target.name} ({target.base_url}). Who uses it now waits "
        "behind them. They cost nothing by themselves; scaling may start hosts for them, up to the model's max_count.",
        err=True,
    )
    try:
        agreed = typer.confirm("Load it?", err=True)
    except typer.Abort as error:
        raise RefusedError("no answer; --yes asks nothing. Nothing was measured") from error
    if not agreed:
        raise RefusedError("not confirmed. Nothing was measured")


def _print(test: LoadTest, form: Form) -> None:
    match form:
        case Form.TABLE:
            report.tell(screen(), test)
        case Form.JSON:
            typer.echo(json.dumps(report.document(test), indent=2))
        case Form.CSV:
            typer.echo(report.comma_separated(test), nl=False)
