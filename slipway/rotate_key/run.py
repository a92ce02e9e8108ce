"""One run of `slipway rotate-key`: read the keys, ask, write them, have the tasks take them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from slipway.endpoint.deployed import DeployedEndpoint, find_deployed
from slipway.endpoint.errors import RefusedError
from slipway.endpoint.keys import Keys

POLL_SECONDS = 15.0
"""How often Amazon ECS is asked about a deployment."""

_KEY_BYTES = 36


class FailedError(Exception):
    """The keys were written, and not every task has taken them."""


@dataclass(frozen=True)
class _Tasks:
    """The tasks of the endpoint's models."""

    ecs: Any
    cluster: str
    timeout_seconds: float

    def services(self) -> Sequence[str]:
        pages = self.ecs.get_paginator("list_services").paginate(cluster=self.cluster)
        return sorted(arn.rpartition("/")[2] for page in pages for arn in page["serviceArns"])

    def replace(self) -> None:
        """Have new tasks read the secret, and wait for them.

        Raises:
            FailedError: they do not become healthy, or not in time.
        """
        begun = {service: self._begin(service) for service in self.services()}
        ends = time.monotonic() + self.timeout_seconds
        for service, deployment in begun.items():
            typer.echo(f"{service}: its tasks are replaced")
            while not self._is_done(service, deployment):
                if time.monotonic() > ends:
                    raise FailedError(f"{service} still replaces its tasks")
                time.sleep(POLL_SECONDS)
            typer.echo(f"{service}: done")

    def _begin(self, service: str) -> str:
        updated = self.ecs.update_service(cluster=self.cluster, service=service, forceNewDeployment=True)
        return _primary(updated["service"])["id"]  # type: ignore[no-any-return]

    def _is_done(self, service: str, deployment: str) -> bool:
        [found] = self.ecs.describe_services(cluster=self.cluster, services=[service])["services"]
        if found["desiredCount"] == 0:
            return True
        primary = _primary(found)
        if primary["id"] != deployment or primary.get("rolloutState") == "FAILED":
            raise FailedError(f"{service} has gone back to its tasks of before: its new ones do not become healthy")
        return primary.get("rolloutState") == "COMPLETED"  # type: ignore[no-any-return]


def _primary(service: Mapping[str, Any]) -> Any:
    return next(each for each in service["deployments"] if each["status"] == "PRIMARY")


@dataclass(frozen=True)
class _Secret:
    client: Any
    arn: str

    def read(self) -> Keys:
        return Keys.of(self.client.get_secret_value(SecretId=self.arn)["SecretString"])

    def write(self, keys: Keys) -> None:
        self.client.put_secret_value(SecretId=self.arn, SecretString=keys.text)


def run(environment: str, *, finish: bool, yes: bool, timeout_seconds: float) -> None:
    """Make a new key valid beside the current one, or end the previous one's validity.

    Args:
        environment: a name in environments/, or a file that ends in .yaml.
        finish: end the previous key's validity.
        yes: ask nothing.
        timeout_seconds: how long each replacement of the tasks is followed.

    Raises:
        RefusedError: nothing was changed.
        FailedError: not every task has taken the keys.
    """
    endpoint = find_deployed(environment)
    try:
        secret = _Secret(endpoint.session.client("secretsmanager"), endpoint.api_key_secret())
        tasks = _Tasks(endpoint.session.client("ecs"), endpoint.stack, timeout_seconds)
        keys = secret.read()
        _check(keys, environment, finish=finish)
        _confirm(endpoint, tasks.services(), finish=finish, yes=yes)
    except ClientError as error:
        raise RefusedError(f"AWS refuses {error.operation_name}. Nothing was changed") from error
    try:
        if finish:
            _finish(secret, tasks, keys)
        else:
            _rotate(secret, tasks, keys, environment)
    except (ClientError, BotoCoreError) as error:
        raise FailedError(f"AWS: {error}") from error


def _rotate(secret: _Secret, tasks: _Tasks, keys: Keys, environment: str) -> None:
    """Tasks learn the new key before any client can read it as the current one."""
    if keys.coming is None:
        keys = Keys(keys.current, coming=secrets.token_urlsafe(_KEY_BYTES))
        secret.write(keys)
    tasks.replace()
    assert keys.coming is not None
    secret.write(Keys(keys.coming, previous=keys.current))
    typer.echo(
        "the new key is the current one, and the previous one is valid as well. Give it to every client "
        f"(ApiKeyCommand of the stack), then: slipway rotate-key -e {environment} --finish"
    )


def _finish(secret: _Secret, tasks: _Tasks, keys: Keys) -> None:
    secret.write(Keys(keys.current))
    tasks.replace()
    typer.echo("the current key is the only valid one")


def _check(keys: Keys, environment: str, *, finish: bool) -> None:
    if finish and keys.coming:
        raise RefusedError(
            f"a new key is not in use yet: `slipway rotate-key -e {environment}` goes on. Nothing was changed"
        )
    if not finish and keys.previous:
        raise RefusedError(
            f"two keys are valid: end the previous one with `slipway rotate-key -e {environment} --finish` first. "
            "Nothing was changed"
        )


def _confirm(endpoint: DeployedEndpoint, services: Sequence[str], *, finish: bool, yes: bool) -> None:
    doing = "the previous key becomes invalid" if finish else "a new key becomes valid beside the current one"
    typer.echo(f"{endpoint.stack}: {doing}. All tasks of {', '.join(services)} are replaced as by a roll-out")
    if yes:
        return
    try:
        agreed = typer.confirm("Do it?")
    except typer.Abort as error:
        raise RefusedError("no answer; --yes asks nothing. Nothing was changed") from error
    if not agreed:
        raise RefusedError("not confirmed. Nothing was changed")
