"""`slipway roll-out` without credentials that AWS accepts ends with one sentence."""

from pathlib import Path

import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner

from slipway.aws.refusals import explained
from slipway.cli import app


def test_without_credentials_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))

    result = CliRunner().invoke(app, ["roll-out", "-e", "small"])

    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert "The config profile (nobody) could not be found. Log in, or set AWS_PROFILE. Nothing was" in result.output


def test_the_words_of_aws_end_without_a_full_stop() -> None:
    error = ClientError({"Error": {"Code": "InvalidClientTokenId", "Message": "It is invalid."}}, "GetCallerIdentity")

    assert explained(error).endswith("It is invalid")
