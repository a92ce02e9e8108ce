"""One run of `slipway roll-out`: look, check, say, ask, update, follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import boto3
import typer
from botocore.exceptions import BotoCoreError, ClientError

from slipway.roll_out.compatibility import notices, problems
from slipway.roll_out.environment import Place, find_place
from slipway.roll_out.errors import FailedError, RefusedError
from slipway.roll_out.published import ModelBucket, PublishedModel
from slipway.roll_out.service import Service, find_service
from slipway.roll_out.update import Update

_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "403"})


@dataclass(frozen=True)
class Wish:
    """What the command line asks for.

    Attributes:
        version: `<model>/<version>`; none asks what is served.
        back: the version that was served before, instead.
        yes: ask nothing.
        timeout_seconds: how long the update is followed.
    """

    version: str | None
    back: bool
    yes: bool
    timeout_seconds: float


def run(environment: str, wish: Wish) -> None:
    """Roll a version out, or say what is served.

    Raises:
        RefusedError: nothing was changed.
        FailedError: the update did not end with the version.
    """
    place = find_place(environment)
    if wish.version and wish.back:
        raise RefusedError("say either a version or --back")
    try:
        account, cloudformation, s3 = _open(place)
        service = find_service(cloudformation, place.stack)
        bucket = ModelBucket(s3, service.bucket)
        if wish.version is None and not wish.back:
            _show(service, bucket)
            return
        prefix = _prefix(service, wish)
        if prefix == service.served:
            typer.echo(f"{prefix} is served already")
            return
        _check(service, bucket, prefix)
        _confirm(service, prefix, f"environment {place.environment}, account {account}, {place.region}", yes=wish.yes)
    except (BotoCoreError, ClientError) as error:
        raise RefusedError(f"{_explained(error)}. Nothing was changed") from error
    _update(service, prefix, wish.timeout_seconds)
    typer.echo(f"{prefix} is served; back again: slipway roll-out -e {environment} --back")


def _open(place: Place) -> tuple[str, Any, Any]:
    session = boto3.Session(region_name=place.region)
    account: str = session.client("sts").get_caller_identity()["Account"]
    return account, session.client("cloudformation"), session.client("s3")


def _prefix(service: Service, wish: Wish) -> str:
    if wish.version:
        prefix = wish.version.strip("/")
        if prefix.count("/") != 1:
            raise RefusedError(f"{wish.version!r} is no version: write MODEL/VERSION, for example tanuki-8b/v1")
        return prefix
    if service.previous is None:
        raise RefusedError("no version was served before this one: there is nothing to go back to")
    return service.previous


def _show(service: Service, bucket: ModelBucket) -> None:
    """Say what is served, what was before, and what could be."""
    typer.echo(f"{service.stack} ({service.status}), {service.description.desired_count} tasks")
    typer.echo(f"served: {service.served or 'nothing yet'}")
    typer.echo(f"before: {service.previous or 'nothing'}")
    versions = sorted(bucket.versions(service.description.model))
    typer.echo(f"published versions of {service.description.model}: {len(versions)}")
    for prefix in versions:
        mark = "*" if prefix == service.served else " "
        typer.echo(f"{mark} {prefix}: {_described(bucket, prefix)}")


def _described(bucket: ModelBucket, prefix: str) -> str:
    try:
        return bucket.read(prefix).summary()
    except RefusedError as damaged:
        return str(damaged)


def _check(service: Service, bucket: ModelBucket, prefix: str) -> None:
    """Find out whether the version is whole and fits.

    Raises:
        RefusedError: it is not, or does not; every reason.
    """
    if not service.status.endswith("_COMPLETE"):
        raise RefusedError(f"{service.stack} is {service.status}: wait for it, or mend it, first")
    published: PublishedModel = bucket.read(prefix)
    found = [*problems(published, service.description), *bucket.faults(published, typer.echo)]
    if found:
        lines = "\n".join(f"- {problem}" for problem in found)
        raise RefusedError(f"{prefix} cannot be served:\n{lines}\nNothing was changed")
    typer.echo(f"{prefix}: {published.summary()}")
    for notice in notices(published, service.description):
        typer.echo(f"note: {notice}")


def _confirm(service: Service, prefix: str, where: str, *, yes: bool) -> None:
    typer.echo(f"{where}: serve {prefix} instead of {service.served or 'nothing'}. Hosts and tasks are replaced.")
    if yes:
        return
    try:
        agreed = typer.confirm("Roll it out?")
    except typer.Abort as error:
        raise RefusedError("no answer; --yes asks nothing. Nothing was changed") from error
    if not agreed:
        raise RefusedError("not confirmed. Nothing was changed")


def _update(service: Service, prefix: str, timeout_seconds: float) -> None:
    update = Update(service, timeout_seconds, typer.echo)
    try:
        update.carry_out(prefix)
    except ClientError as error:
        if error.operation_name == "UpdateStack":
            raise RefusedError(f"{_explained(error)}. Nothing was changed") from error
        raise FailedError(f"the update began, and following it failed: {_explained(error)}") from error
    except BotoCoreError as error:
        raise FailedError(f"AWS does not answer ({error}); `slipway roll-out` tells what is served") from error


def _explained(error: Exception) -> str:
    if isinstance(error, ClientError) and error.response["Error"]["Code"] in _DENIED:
        message = error.response["Error"].get("Message", "")
        return f"these credentials may not call {error.operation_name}: {message}"
    return f"AWS: {error}"
