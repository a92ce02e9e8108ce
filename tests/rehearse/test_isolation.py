import os
from pathlib import Path

import pytest

from slipway.rehearse.isolation import (
    NotLoopbackError,
    emulated_account,
    offline_variables,
    only_variables,
    require_loopback,
)

REGION = "us-west-2"


def variables(inherited: dict[str, str]) -> dict[str, str]:
    return offline_variables(Path("/r/home"), Path("/r/tmp"), Path("/r/jsii"), Path("/v/bin"), inherited)


@pytest.mark.parametrize(
    "name",
    [
        "AWS_PROFILE",
        "AWS_SESSION_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_ENDPOINT_URL_CLOUDFORMATION",
        "CDK_DEFAULT_ACCOUNT",
        "PYTHONPATH",
        "NODE_OPTIONS",
    ],
)
def test_nothing_that_could_lead_elsewhere_is_inherited(name: str) -> None:
    assert name not in variables({name: "from the user's shell", "PATH": "/usr/bin"})


def test_files_and_metadata_of_a_real_account_are_out_of_reach() -> None:
    result = variables({"HOME": "/home/user", "TMPDIR": "/var/tmp"})
    assert result["HOME"] == "/r/home"
    assert result["CDK_HOME"] == "/r/home/.cdk"
    assert result["TMPDIR"] == "/r/tmp"
    assert result["AWS_CONFIG_FILE"] == result["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull
    assert result["AWS_EC2_METADATA_DISABLED"] == "true"


def test_the_virtual_environment_comes_first_on_the_path() -> None:
    assert variables({"PATH": "/usr/bin"})["PATH"] == "/v/bin:/usr/bin"


def test_a_user_s_proxy_gives_way_to_one_that_nobody_answers() -> None:
    result = variables({"HTTPS_PROXY": "http://proxy.example:3128"})
    assert result["HTTPS_PROXY"] == result["HTTP_PROXY"] == "http://127.0.0.1:9"
    assert "127.0.0.1" in result["NO_PROXY"]


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:4566", "http://127.9.9.9:1", "http://[::1]:4566"])
def test_loopback_addresses_are_accepted(endpoint: str) -> None:
    assert require_loopback(endpoint) == endpoint


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://cloudformation.us-west-2.amazonaws.com",
        "http://10.0.0.1:4566",
        "http://0.0.0.0:4566",
        "http://localhost:4566",
        "http://127.0.0.1.example.com:4566",
        "http://127.0.0.1@example.com:4566",
        "",
    ],
)
def test_every_other_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(NotLoopbackError, match="loopback"):
        emulated_account(endpoint, REGION)


def test_every_endpoint_of_the_emulated_account_is_the_emulator() -> None:
    result = emulated_account("http://127.0.0.1:4566", REGION)
    endpoints = {name: value for name, value in result.items() if "ENDPOINT" in name}
    assert set(endpoints) == {
        "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3",
        "AWS_ENDPOINT_URL_S3_FOR_CLOUDFORMATION",
    }
    assert set(endpoints.values()) == {"http://127.0.0.1:4566"}
    assert result["AWS_REGION"] == result["AWS_DEFAULT_REGION"] == REGION


def test_this_process_gets_the_variables_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    with only_variables({"AWS_REGION": REGION}):
        assert dict(os.environ) == {"AWS_REGION": REGION}
    assert os.environ["AWS_PROFILE"] == "production"
