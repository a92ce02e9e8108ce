"""One run of `slipway roll-out`: look, check, say, ask, update, follow."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial

import typer
from botocore.exceptions import BotoCoreError, ClientError

from slipway.aws.refusals import explained
from slipway.console import confirm
from slipway.errors import RefusedError
from slipway.operate.roll_out.compatibility import notices, problems, share_notices
from slipway.operate.roll_out.endpoint import Endpoint, open_endpoint
from slipway.operate.roll_out.environment import Place, find_place
from slipway.operate.roll_out.published import ModelBucket
from slipway.operate.roll_out.report import Report
from slipway.operate.roll_out.request import Request, chosen_model
from slipway.operate.roll_out.service import ServiceDescription
from slipway.operate.roll_out.state import Step
from slipway.terminal import screen


def run(environment: str, request: Request, *, yes: bool, timeout_seconds: float) -> None:
    """Carry a request out, or say what is served.

    Args:
        environment: a name in environments/, or a file that ends in .yaml.
        request: what is asked for.
        yes: ask nothing.
        timeout_seconds: how long each update is followed.

    Raises:
        RefusedError: nothing was changed.
        FailedError: an update did not end as it should.
    """
    place = find_place(environment)
    try:
        endpoint = open_endpoint(place)
        if request.changes_nothing:
            if request.model not in place.fixed and request.model is not None:
                chosen_model(request, endpoint.stack, place.fixed)
            Report(endpoint.stack, endpoint.bucket, place.fixed, endpoint.tasks).print(request.model, screen())
            return
        model = chosen_model(request, endpoint.stack, place.fixed)
        state = endpoint.stack.state(model)
        steps = request.steps(state, partial(_pin, endpoint, model))
        if not steps:
            typer.echo(f"{state} already")
            return
        if endpoint.is_paused(model):
            # The update would set the count of tasks, and so start what was stopped.
            raise RefusedError(
                f"{model} is stopped, by the budget or `slipway pause`: "
                f"`slipway resume -e {shlex.quote(environment)}` first. Nothing was changed"
            )
        _check(endpoint, model, steps)
        _confirm(endpoint, place, model, steps, yes=yes)
    except ClientError as error:
        raise RefusedError(f"{explained(error)}. Nothing was changed") from error
    except BotoCoreError as error:
        raise RefusedError(f"no AWS account: {error}. Log in, or set AWS_PROFILE; nothing was changed") from error
    endpoint.carry_out(model, steps, timeout_seconds, typer.echo)
    typer.echo(f"{steps[-1].after}{_what_next(environment, model, steps)}")


def _pin(endpoint: Endpoint, model: str, version: str) -> str:
    """Return a version with the SHA-256 of its manifest.

    Raises:
        RefusedError: the deployed hosts cannot insist on it, or the version is not published.
    """
    if not endpoint.stack.services[model].has_pins:
        raise RefusedError(
            f"{endpoint.stack.name} was deployed before roll-outs pinned manifests: deploy it first. "
            "Nothing was changed"
        )
    return endpoint.bucket.pin(version)


def _check(endpoint: Endpoint, model: str, steps: Sequence[Step]) -> None:
    """Find out whether the stack can be updated, and whether the version to start is whole and fits.

    Raises:
        RefusedError: it is not, or does not; every reason.
    """
    stack, service = endpoint.stack, endpoint.stack.services[model]
    if not stack.status.endswith(("_COMPLETE", "_COMPLETE_CLEANUP_IN_PROGRESS")):
        raise RefusedError(f"{stack.name} is {stack.status}: wait for it, or fix it, first. Nothing was changed")
    for version in filter(None, (step.starts for step in steps)):
        _check_version(endpoint.bucket, service, version, stack.region)
    percent = steps[-1].after.percent
    if percent > steps[0].before.percent:
        for notice in share_notices(percent, service):
            typer.echo(f"note: {notice}")
    if problem := endpoint.candidate_problem(model, steps[0]):
        raise RefusedError(f"{problem}. Nothing was changed")


def _check_version(bucket: ModelBucket, service: ServiceDescription, version: str, region: str) -> None:
    published = bucket.read(version)
    prefix = published.prefix
    architectures = bucket.architectures(published)
    found = [*problems(published, architectures, service), *bucket.faults(published, typer.echo)]
    if found:
        lines = "\n".join(f"- {problem}" for problem in found)
        raise RefusedError(f"{prefix} cannot be served:\n{lines}\nNothing was changed")
    typer.echo(f"{prefix}: {published.summary()}")
    for notice in notices(published, architectures, service, region):
        typer.echo(f"note: {notice}")


def _confirm(endpoint: Endpoint, place: Place, model: str, steps: Sequence[Step], *, yes: bool) -> None:
    typer.echo(f"environment {place.environment}, account {endpoint.account}, {place.region}, model {model}:")
    for number, step in enumerate(steps, 1):
        typer.echo(f"{number}. {step.doing}")
    if any(step.before.candidate is None and step.after.candidate for step in steps):
        host = endpoint.stack.services[model].instance_type
        typer.echo(f"note: the candidate takes one more host, {host}, until --promote or --abort")
    confirm("Do it?", yes=yes)


def _what_next(environment: str, model: str, steps: Sequence[Step]) -> str:
    command = f"slipway roll-out -e {shlex.quote(environment)} {model}"
    before, after = steps[0].before, steps[-1].after
    if after.candidate:
        return f"; then: {command} --canary PERCENT, --promote or --abort"
    if before.served and after.served != before.served:
        return f"; back again: {command} --back"
    return ""
