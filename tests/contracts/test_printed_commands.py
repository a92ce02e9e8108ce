"""Commands of the AWS CLI in documents and outputs, with the real CLI: each must get as far as the network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.aws_command import OF_VERSION_2
from tests.contracts.real_packages import unpacked
from tests.documented_commands import Command
from tests.unit.test_documented_commands import COMMANDS, printed_by_outputs

pytestmark = pytest.mark.contract

PACKAGES = ("awscli", "colorama", "docutils", "pyasn1", "rsa")
PRINTED = [
    command
    for command in (*COMMANDS, *printed_by_outputs())
    if command.words[0] == "aws" and command.whole and command.words[1:3] not in OF_VERSION_2
]


def kind(command: Command) -> tuple[str, ...]:
    """What makes two commands the same for the CLI's parser: operation and options."""
    return *command.words[1:3], *sorted(word for word in command.words if word.startswith("--"))


def _is_folder(word: str) -> bool:
    """Whether a word is a folder of the user's own, or one of the nodes that a page is about."""
    return "://" not in word and (word.endswith("/") or word.startswith("/opt/slipway/"))


def _made_below(directory: Path, word: str) -> str:
    """Make a folder with a file below a directory, and return its relative name: an empty folder uploads nothing."""
    name = word.removeprefix("/")
    (directory / name).mkdir(parents=True)
    (directory / name / "file").touch()
    return name


@pytest.mark.parametrize("command", {kind(command): command for command in PRINTED}.values(), ids=str)
def test_the_aws_cli_sends_the_request(command: Command, tmp_path: Path) -> None:
    words = [_made_below(tmp_path, word) if _is_folder(word) else word for word in command.words]
    sent = subprocess.run(
        [sys.executable, "-m", "awscli", *words[1:]],
        env={
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-west-2",
            # Nobody listens there.
            "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
            "AWS_MAX_ATTEMPTS": "1",
            "HOME": str(tmp_path),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(str(unpacked(name)) for name in PACKAGES),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert 'Could not connect to the endpoint URL: "http://127.0.0.1:1/' in sent.stderr
