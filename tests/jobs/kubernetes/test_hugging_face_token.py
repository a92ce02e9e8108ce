"""The Hugging Face token reaches the command and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from slipway_jobs.kubernetes.hugging_face_token import NoToken, main, read_token
from tests.assets.sandbox import ASSETS

TOKEN = "hf_abcdefghijklmnop"
REGION = "us-west-2"


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("HF_TOKEN", raising=False)


def secret(text: str) -> str:
    """Store a secret and return its ARN."""
    client = boto3.client("secretsmanager", region_name=REGION)
    arn: str = client.create_secret(Name="hugging-face", SecretString=text)["ARN"]
    return arn


@mock_aws
def test_the_command_gets_the_token(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    become: list[tuple[str, list[str], dict[str, str]]] = []
    monkeypatch.setattr(os, "execvpe", lambda *arguments: become.append(arguments))

    main([secret(f"{TOKEN}\n"), REGION, "--", "python", "-m", "slipway_training.prepare", "--run", "run.json"])

    [(program, command, environment)] = become
    assert program == "python"
    assert command == ["python", "-m", "slipway_training.prepare", "--run", "run.json"]
    assert environment == os.environ | {"HF_TOKEN": TOKEN}
    assert "HF_TOKEN" not in os.environ
    assert TOKEN not in "".join(capfd.readouterr())


@mock_aws
@pytest.mark.parametrize("text", ["", '{"token": "hf_abc"}', "two words", "hf_\u00e4"])
def test_a_secret_that_is_no_token_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(NoToken) as refused:
        read_token(secret(text or " "), REGION)

    assert "must hold the Hugging Face token as plain text" in str(refused.value)
    assert not text or text not in str(refused.value)


@mock_aws
def test_a_secret_that_is_not_there_is_told() -> None:
    with pytest.raises(SystemExit, match="FAILED: the Hugging Face token cannot be read from hugging-face: "):
        main(["hugging-face", REGION, "--", "true"])


def test_nothing_runs_when_secrets_manager_is_away(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[default]\nretry_mode = standard\n", encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": str(ASSETS / "jobs"),
        "AWS_ENDPOINT_URL_SECRETS_MANAGER": "http://127.0.0.1:1",
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
    }
    marker = tmp_path / "ran"
    process = subprocess.run(
        [sys.executable, "-m", "slipway_jobs.kubernetes.hugging_face_token", "arn", REGION, "--", "touch", str(marker)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert process.returncode == 1
    assert process.stderr.startswith("FAILED: the Hugging Face token cannot be read from arn: ")
    assert process.stderr.count("\n") == 1
    assert not marker.exists()
