"""Runs a command with the Hugging Face token of the environment's secret.

    python -m slipway_jobs.kubernetes.hugging_face_token SECRET_ARN REGION -- COMMAND...

The token is read with the pod's own rights (EKS Pod Identity) and is nowhere but in the environment of the command, as
HF_TOKEN. huggingface_hub looks there first: its documentation, "Environment variables".
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

VARIABLE = "HF_TOKEN"
"""Environment variable that huggingface_hub reads."""

LIMITS = Config(connect_timeout=5, read_timeout=15, retries={"total_max_attempts": 5, "mode": "standard"})
"""How long Secrets Manager may take: less than two minutes in all."""


class NoToken(Exception):  # noqa: N818 (what is wrong with the secret, for the stage's log)
    """The token cannot be read; the message says why and never holds a part of the secret."""


def read_token(secret: str, region: str) -> str:
    """Return the token that a secret holds as its text.

    Raises:
        NoToken: the secret cannot be read, or is no single word.
    """
    try:
        answer = boto3.client("secretsmanager", region_name=region, config=LIMITS).get_secret_value(SecretId=secret)
    except (BotoCoreError, ClientError) as error:
        raise NoToken(f"the Hugging Face token cannot be read from {secret}: {error}") from None
    token: str = answer.get("SecretString", "").strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token or token.startswith("{"):
        raise NoToken(f"the secret {secret} must hold the Hugging Face token as plain text and nothing else")
    return token


def main(arguments: Sequence[str]) -> NoReturn:
    """Become the command, so that signals reach it.

    Raises:
        SystemExit: there is no token.
    """
    secret, region, _, *command = arguments
    try:
        token = read_token(secret, region)
    except NoToken as problem:
        sys.exit(f"FAILED: {problem}")
    os.execvpe(command[0], command, os.environ | {VARIABLE: token})


if __name__ == "__main__":
    main(sys.argv[1:])
