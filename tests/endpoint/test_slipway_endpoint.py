"""`slipway endpoint`, and the commands that the stack's outputs print, through each environment's endpoint."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway.operate.endpoint.check import api
from slipway.operate.endpoint.deployed import METADATA, EndpointDescription
from slipway.operate.endpoint.streaming import chat_request
from tests.endpoint.running_endpoint import RunningEndpoint
from tests.endpoint.served_models import EACH_MODEL, Case

Endpoints = Callable[[str], RunningEndpoint]


def printed(endpoint: RunningEndpoint, case: Case, what: str) -> str:
    """An output of the stack, as `cdk deploy` prints it."""
    return endpoint.values.outputs()[f"{case.model.slug}{what}"]


def here(endpoint: RunningEndpoint, case: Case) -> str:
    """The address on loopback that stands for the load balancer's."""
    return f"localhost:{urlsplit(endpoint.base_url(case.name)).port}"


def key_of(endpoint: RunningEndpoint) -> str:
    return "" if endpoint.authentication == "none" else endpoint.credential


def slipway(command: str, endpoint: RunningEndpoint, case: Case, *arguments: str) -> Result:
    """Run a command against a model's base URL, through a port forwarding as it were."""
    way = ("--connect-to", here(endpoint, case), "--ca-file", str(endpoint.ca_file))
    url = ("--url", printed(endpoint, case, "BaseUrl"), "--model", endpoint.model_id(case.name))
    variables = {"OPENAI_API_KEY": key_of(endpoint)}
    return CliRunner().invoke(app, ["endpoint", command, *url, *way, "--json", *arguments], env=variables)


@EACH_MODEL
def test_the_template_says_where_everything_is(endpoints: Endpoints, case: Case) -> None:
    endpoint = endpoints(case.variant)
    description = EndpointDescription.model_validate_json(json.dumps(endpoint.values.metadata[METADATA]))
    [model] = [model for model in description.models if model.name == case.name]
    assert model.engine == case.model.engine
    outputs = endpoint.values.outputs().keys()
    assert {model.base_url_output, model.model_id_output} <= outputs
    of_key = {
        "api_key": {description.api_key_secret_output},
        "cognito": {description.user_pool_output, description.user_pool_client_output},
    }
    assert of_key.get(description.authentication, set()) <= outputs


@EACH_MODEL
def test_an_endpoint_as_synthesized_passes_every_check(
    endpoints: Endpoints, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slower(*arguments: Any, **options: Any) -> dict[str, Any]:
        return {**chat_request(*arguments, **options), "stand_in": {"tokens": 16, "seconds_per_token": 0.5}}

    monkeypatch.setattr(api, "chat_request", slower)
    endpoint = endpoints(case.variant)
    result = slipway("check", endpoint, case)
    [report] = json.loads(result.stdout)["endpoints"]
    checks = {check["check"]: check["result"] for check in report["checks"]}
    assert [check for check in report["checks"] if check["result"] == "failed"] == []
    assert result.exit_code == 0
    guarded = "skipped" if endpoint.authentication == "none" else "ok"
    assert checks["without key"] == checks["wrong key"] == guarded
    assert checks["certificate"] == ("ok" if printed(endpoint, case, "BaseUrl").startswith("https") else "skipped")
    assert all(checks[name] == "ok" for name in ("models", "health", "streaming", "other paths"))


@EACH_MODEL
def test_a_load_test_counts_every_request(endpoints: Endpoints, case: Case) -> None:
    arguments = ("--concurrency", "1,3", "--requests", "3", "--max-tokens", "6")
    result = slipway("load", endpoints(case.variant), case, *arguments)
    assert result.exit_code == 0
    levels = json.loads(result.stdout)["levels"]
    assert [(level["concurrency"], level["requests"], level["errors"]) for level in levels] == [(1, 3, 0), (3, 3, 0)]
    assert [(level["generated_tokens"], level["counted_by"]) for level in levels] == [(18, "usage"), (18, "usage")]


def run(command: str, directory: Path, endpoint: RunningEndpoint, address: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell in which the load balancer's name leads to loopback, for curl."""
    (directory / ".curlrc").write_text(f'connect-to = "::{address}"\n')
    (directory / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (directory / "python3").chmod(0o755)
    variables = {
        "PATH": f"{directory}:{os.environ['PATH']}",
        "HOME": str(directory),
        "SSL_CERT_FILE": str(endpoint.ca_file),
        **({"OPENAI_API_KEY": key} if (key := key_of(endpoint)) else {}),
    }
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@EACH_MODEL
def test_the_printed_curl_command_asks_the_model(endpoints: Endpoints, case: Case, tmp_path: Path) -> None:
    endpoint = endpoints(case.variant)
    asked = run(printed(endpoint, case, "CurlCommand"), tmp_path, endpoint, here(endpoint, case))
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout)["choices"][0]["message"]["content"].startswith("the-0 quick-1 ")
    assert endpoint.reached(case.service)[-1]["target"] == "/v1/chat/completions"


@EACH_MODEL
def test_the_printed_openai_command_asks_the_model(endpoints: Endpoints, case: Case, tmp_path: Path) -> None:
    if case.model.route.host:
        pytest.skip("on loopback no name tells models apart, and this client takes no other address for one")
    endpoint = endpoints(case.variant)
    command = printed(endpoint, case, "OpenAiCommand")
    assert printed(endpoint, case, "BaseUrl") in command
    command = command.replace(printed(endpoint, case, "BaseUrl"), endpoint.base_url(case.name))
    asked = run(command, tmp_path, endpoint, here(endpoint, case))
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.startswith("the-0 quick-1 ")
