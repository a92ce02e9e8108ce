"""One run of `slipway rotate-key`: read the keys, ask, write them, have the tasks take them."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from slipway.aws.refusals import explained
from slipway.console import confirm
from slipway.errors import FailedError, RefusedError
from slipway.operate.endpoint.deployed import DeployedEndpoint, find_deployed
from slipway.operate.endpoint.keys import Keys
from slipway.operate.rotate_key.tasks import AGAIN, Tasks

_KEY_BYTES = 36


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
        tasks = Tasks(endpoint.session.client("ecs"), endpoint.stack, timeout_seconds)
        keys = secret.read()
        _check(keys, environment, finish=finish)
        _confirm(endpoint, tasks.services(), finish=finish, yes=yes)
    except (ClientError, BotoCoreError) as error:
        raise RefusedError(f"{explained(error)}. Nothing was changed") from error
    try:
        valid = _write_valid(secret, keys, finish=finish)
        tasks.replace(typer.echo)
        if valid.coming:
            secret.write(Keys(valid.coming, previous=valid.current))
    except (ClientError, BotoCoreError) as error:
        raise FailedError(f"{explained(error)}. {AGAIN}") from error
    typer.echo(
        "the new key is the current one, and the previous one is valid as well. Give it to every client "
        f"(ApiKeyCommand of the stack), then: {_command(environment)} --finish"
        if valid.coming
        else "the current key is the only valid one"
    )


def _write_valid(secret: _Secret, keys: Keys, *, finish: bool) -> Keys:
    """Write which keys tasks shall take; they know a new one before any client can read it as the current one.

    Raises:
        RefusedError: the credentials may not write.
        botocore.exceptions.BotoCoreError: Secrets Manager does not answer; perhaps they are written.
    """
    coming = None if finish else keys.coming or secrets.token_urlsafe(_KEY_BYTES)
    valid = Keys(keys.current, coming=coming)
    try:
        secret.write(valid)
    except ClientError as error:
        raise RefusedError(f"{explained(error)}. Nothing was changed") from error
    return valid


def _check(keys: Keys, environment: str, *, finish: bool) -> None:
    if finish and keys.coming:
        raise RefusedError(f"a new key is not in use yet: `{_command(environment)}` goes on. Nothing was changed")
    if not finish and keys.previous:
        raise RefusedError(
            f"two keys are valid: end the previous one with `{_command(environment)} --finish` first. "
            "Nothing was changed"
        )


def _command(environment: str) -> str:
    return f"slipway rotate-key -e {shlex.quote(environment)}"


def _confirm(endpoint: DeployedEndpoint, services: Sequence[str], *, finish: bool, yes: bool) -> None:
    doing = "the previous key becomes invalid" if finish else "a new key becomes valid beside the current one"
    typer.echo(f"{endpoint.stack}: {doing}. All tasks of {', '.join(services)} are replaced as by a roll-out")
    confirm("Do it?", yes=yes)
