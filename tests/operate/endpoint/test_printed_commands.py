"""The commands that the stack's outputs print, run as a user runs them: bash, curl, Python with the openai client."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme

from neuron_constructs.inference.client_commands import api_key_command, curl_command, openai_command
from tests.operate.endpoint.conftest import Serve
from tests.operate.endpoint.stand_in import KEY

COMMANDS = [curl_command, openai_command]
Command = Callable[..., str]
SECRET = "arn:aws:secretsmanager:us-west-2:111122223333:secret:endpoint-key-AbCdEf"


def bash(command: str, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell whose python3 is the one of the tests."""
    (tmp_path / "bin").mkdir(exist_ok=True)
    python = tmp_path / "bin" / "python3"
    if not python.exists():
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        env={"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("key", [None, KEY])
def test_it_asks(serve: Serve, tmp_path: Path, command: Command, key: str | None) -> None:
    stand_in = serve(key=key, guards_all=True)
    text = command(stand_in.url, "/models/tanuki-8b", has_key=key is not None)
    asked = bash(text, tmp_path, **({"OPENAI_API_KEY": key} if key else {}))
    assert asked.returncode == 0, asked.stderr
    assert "Hello!" in asked.stdout
    [body] = stand_in.bodies
    assert body["model"] == "/models/tanuki-8b"
    assert body["messages"] == [{"role": "user", "content": "Hello"}]


@pytest.mark.parametrize("command", COMMANDS)
def test_it_asks_over_tls(serve: Serve, tmp_path: Path, authority: trustme.CA, ca_file: Path, command: Command) -> None:
    stand_in = serve(authority.issue_cert("127.0.0.1"), key=KEY)
    text = command(stand_in.url, "tanuki-8b", has_key=True)
    assert bash(text, tmp_path, OPENAI_API_KEY=KEY).returncode != 0
    asked = bash(text, tmp_path, OPENAI_API_KEY=KEY, SSL_CERT_FILE=str(ca_file))
    assert asked.returncode == 0, asked.stderr
    assert "Hello!" in asked.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_a_refusal_fails_and_is_shown(serve: Serve, tmp_path: Path, command: Command) -> None:
    asked = bash(command(serve(key=KEY).url, "x", has_key=True), tmp_path, OPENAI_API_KEY="wrong")
    assert asked.returncode != 0
    assert "a key is needed" in asked.stdout + asked.stderr


def test_a_missing_key_is_named(serve: Serve, tmp_path: Path) -> None:
    asked = bash(curl_command(serve(key=KEY).url, "x", has_key=True), tmp_path)
    assert asked.returncode != 0
    assert "OPENAI_API_KEY" in asked.stderr


def test_the_key_is_in_no_process_list(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    curl = tmp_path / "bin" / "curl"
    curl.write_text('#!/bin/sh\necho "$0 $*"\ncat >&2\n')
    curl.chmod(0o755)
    asked = bash(curl_command("http://host/v1", "x", has_key=True), tmp_path, OPENAI_API_KEY=KEY)
    assert KEY not in asked.stdout
    assert asked.stderr == f"Authorization: Bearer {KEY}"


def test_the_api_key_comes_into_the_variable(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    aws = tmp_path / "bin" / "aws"
    aws.write_text(f'#!/bin/sh\necho "$*" > "{tmp_path}/asked"\necho {KEY}\n')
    aws.chmod(0o755)
    command = api_key_command(SECRET, "us-west-2")
    assert bash(f'{command}; env | grep "^OPENAI_API_KEY="', tmp_path).stdout == f"OPENAI_API_KEY={KEY}\n"
    assert (tmp_path / "asked").read_text().split() == (
        f"secretsmanager get-secret-value --region us-west-2 --secret-id {SECRET} --query SecretString --output text"
    ).split()
