"""A deployed environment: stack outputs, template metadata, the key from Secrets Manager or Cognito."""

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from aiohttp import web
from moto import mock_aws
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway.operate.endpoint import deployed
from tests.assembly import environment_path
from tests.operate.endpoint.conftest import Serve
from tests.operate.endpoint.reading import endpoint
from tests.operate.endpoint.stand_in import KEY, MODEL, StandIn

FILE = str(environment_path("machines"))
STACK = "slipway-machines-inference"
REGION = "us-east-1"
CHOSEN = {"api_key_secret_output": None, "user_pool_output": None, "user_pool_client_output": None}


@pytest.fixture(autouse=True)
def _account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield


def deploy(base_urls: dict[str, str], outputs: dict[str, str] | None = None, **description: Any) -> None:
    """Deploy a stack that describes an endpoint with a model at each URL."""
    models = [
        {"name": name, "engine": "tgi", "base_url_output": f"M{index}BaseUrl", "model_id_output": f"M{index}ModelId"}
        for index, name in enumerate(base_urls)
    ]
    values = {
        **{f"M{index}BaseUrl": url for index, url in enumerate(base_urls.values())},
        **{f"M{index}ModelId": MODEL for index in range(len(models))},
        **(outputs or {}),
    }
    template = {
        "Metadata": {deployed.METADATA: {"models": models, "authentication": "none", **CHOSEN, **description}},
        "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
        "Outputs": {name: {"Value": value} for name, value in values.items()},
    }
    boto3.client("cloudformation", REGION).create_stack(StackName=STACK, TemplateBody=json.dumps(template))


def check(*arguments: str, **variables: str) -> tuple[int, Any]:
    result = endpoint("check", "-e", FILE, "--json", *arguments, environment=variables)
    return result.exit_code, json.loads(result.stdout)["endpoints"] if result.stdout.startswith("{") else result.output


def results(report: dict[str, Any]) -> dict[str, str]:
    return {one["check"]: one["result"] for one in report["checks"]}


def test_an_endpoint_without_authentication(serve: Serve) -> None:
    stand_in = serve()
    deploy({"tanuki-8b": stand_in.url})
    exit_code, [report] = check()
    assert exit_code == 0
    assert (report["name"], report["base_url"], report["authentication"]) == ("tanuki-8b", stand_in.url, "none")
    assert {body["model"] for body in stand_in.bodies} == {MODEL}


def test_the_key_is_read_from_secrets_manager(serve: Serve) -> None:
    secret = boto3.client("secretsmanager", REGION).create_secret(Name="endpoint-key", SecretString=KEY)["ARN"]
    stand_in = serve(key=KEY, guards_all=True)
    deploy({"tanuki-8b": stand_in.url}, {"Key": secret}, authentication="api_key", api_key_secret_output="Key")
    exit_code, [report] = check(OPENAI_API_KEY="a-key-for-somebody-else")
    assert exit_code == 0
    assert results(report)["without key"] == results(report)["wrong key"] == "ok"


def make_user_pool() -> tuple[dict[str, str], str]:
    """Make a user pool for machines; return the outputs about it, and the client's secret."""
    cognito = boto3.client("cognito-idp", REGION)
    pool = cognito.create_user_pool(PoolName="machines")["UserPool"]["Id"]
    cognito.create_user_pool_domain(Domain="slipway-machines", UserPoolId=pool)
    cognito.create_resource_server(
        UserPoolId=pool,
        Identifier="models",
        Name="models",
        Scopes=[{"ScopeName": "generate", "ScopeDescription": "ask"}],
    )
    client = cognito.create_user_pool_client(
        UserPoolId=pool,
        ClientName="machine",
        GenerateSecret=True,
        AllowedOAuthFlows=["client_credentials"],
        AllowedOAuthScopes=["models/generate"],
    )["UserPoolClient"]
    return {"Pool": pool, "Client": client["ClientId"]}, client["ClientSecret"]


def give_tokens(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, expected: tuple[str, str]) -> list[str]:
    """Have the stand-in give tokens as Cognito does; return the list of domains that are asked."""
    asked: list[str] = []

    async def token(request: web.Request) -> web.StreamResponse:
        form = await request.post()
        asked.append(" ".join([request.query["domain"], str(form["grant_type"]), str(form["scope"])]))
        sent = b64decode(request.headers["Authorization"].removeprefix("Basic ")).decode()
        if sent != ":".join(expected):
            return web.json_response({"error": "invalid_client"}, status=400)
        return web.json_response({"access_token": KEY, "token_type": "Bearer", "expires_in": 3600})

    stand_in.replaced["/oauth2/token"] = token
    monkeypatch.setattr(deployed, "TOKEN_URL", stand_in.url.replace("/v1", "/oauth2/token?domain={domain}.{region}"))
    return asked


def test_a_token_comes_from_the_user_pool(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs, secret = make_user_pool()
    stand_in = serve(key=KEY, guards_all=True)
    asked = give_tokens(stand_in, monkeypatch, (outputs["Client"], secret))
    deploy(
        {"tanuki-8b": stand_in.url},
        outputs,
        authentication="cognito",
        user_pool_output="Pool",
        user_pool_client_output="Client",
    )
    exit_code, [report] = check()
    assert exit_code == 0
    assert asked == ["slipway-machines.us-east-1 client_credentials models/generate"]
    assert results(report)["without key"] == "ok"
    assert secret not in json.dumps(report)


def test_a_user_pool_that_gives_no_token(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs, secret = make_user_pool()
    stand_in = serve()
    give_tokens(stand_in, monkeypatch, ("another", "client"))
    deploy(
        {"tanuki-8b": stand_in.url},
        outputs,
        authentication="cognito",
        user_pool_output="Pool",
        user_pool_client_output="Client",
    )
    exit_code, output = check()
    assert exit_code == 2
    assert "invalid_client" in output
    assert secret not in output


def test_a_token_of_an_own_issuer_comes_from_the_variable(serve: Serve) -> None:
    stand_in = serve(key=KEY, guards_all=True)
    deploy({"tanuki-8b": stand_in.url}, authentication="jwt")
    assert check(OPENAI_API_KEY=KEY)[0] == 0
    exit_code, output = check()
    assert exit_code == 2
    assert "OPENAI_API_KEY" in output


@pytest.mark.parametrize("authentication", ["jwt", "api_key"])
def test_a_list_of_models_that_needs_no_token_is_a_finding(serve: Serve, authentication: str) -> None:
    secret = boto3.client("secretsmanager", REGION).create_secret(Name="key", SecretString=f"{KEY},previous")["ARN"]
    described = {"authentication": authentication, "api_key_secret_output": "Key"}
    deploy({"tanuki-8b": serve(key=KEY).url}, {"Key": secret}, **described)
    exit_code, [report] = check(OPENAI_API_KEY=KEY)
    assert exit_code == 1
    assert [name for name, result in results(report).items() if result == "failed"] == ["without key"]


def test_a_token_that_is_not_asked_for_before_a_host_is_ready_is_a_finding(serve: Serve) -> None:
    async def unavailable(_: web.Request) -> web.StreamResponse:
        return web.Response(status=503)

    stand_in = serve()
    stand_in.replaced["/v1/models"] = stand_in.replaced["/v1/chat/completions"] = unavailable
    deploy({"tanuki-8b": stand_in.url}, authentication="jwt")
    _, [report] = check(OPENAI_API_KEY=KEY)
    assert results(report)["models"] == results(report)["without key"] == "failed"


def test_an_engine_cannot_refuse_keys_before_it_is_ready(serve: Serve) -> None:
    async def unavailable(_: web.Request) -> web.StreamResponse:
        return web.Response(status=503)

    secret = boto3.client("secretsmanager", REGION).create_secret(Name="endpoint-key", SecretString=KEY)["ARN"]
    stand_in = serve()
    stand_in.replaced["/v1/models"] = stand_in.replaced["/v1/chat/completions"] = unavailable
    deploy({"tanuki-8b": stand_in.url}, {"Key": secret}, authentication="api_key", api_key_secret_output="Key")
    _, [report] = check()
    assert results(report)["models"] == "failed"
    assert results(report)["without key"] == results(report)["wrong key"] == "skipped"


def test_each_model_is_checked_or_the_one_that_is_named(serve: Serve) -> None:
    first, second = serve(), serve()
    deploy({"tanuki-8b": first.url, "qwen-32b": second.url})
    assert [report["name"] for report in check()[1]] == ["tanuki-8b", "qwen-32b"]
    assert [report["name"] for report in check("--model", "qwen-32b")[1]] == ["qwen-32b"]
    exit_code, output = check("--model", "another")
    assert exit_code == 2
    assert "it has tanuki-8b, qwen-32b" in output


def test_an_environment_that_is_not_deployed() -> None:
    exit_code, output = check()
    assert exit_code == 2
    assert f"{STACK} is not deployed" in output


def test_a_stack_of_another_version() -> None:
    boto3.client("cloudformation", REGION).create_stack(
        StackName=STACK, TemplateBody=json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})
    )
    exit_code, output = check()
    assert exit_code == 2
    assert "does not describe its endpoint" in output


def test_an_output_that_is_missing(serve: Serve) -> None:
    deploy({"tanuki-8b": serve().url}, authentication="api_key", api_key_secret_output="Key")
    exit_code, output = check()
    assert exit_code == 2
    assert "no output Key" in output


def test_a_secret_that_is_gone(serve: Serve) -> None:
    deploy({"tanuki-8b": serve().url}, {"Key": "gone"}, authentication="api_key", api_key_secret_output="Key")
    exit_code, output = check()
    assert exit_code == 2
    assert "AWS refuses GetSecretValue" in output


def test_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    exit_code, output = check()
    assert exit_code == 2
    assert "Log in, or set AWS_PROFILE" in output


def load(*arguments: str, answer: str | None = None) -> Result:
    levels = ("--concurrency", "1", "--json")
    return CliRunner().invoke(app, ["endpoint", "load", "-e", FILE, *levels, *arguments], input=answer)


def test_few_requests_need_no_answer(serve: Serve) -> None:
    deploy({"tanuki-8b": serve().url})
    result = load("--requests", "3")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["levels"][0]["requests"] == 3


@pytest.mark.parametrize("many", [("--requests", "51"), ("--seconds", "60")])
@pytest.mark.parametrize("answer", ["n\n", ""])
def test_many_requests_need_one(serve: Serve, many: tuple[str, str], answer: str) -> None:
    stand_in = serve()
    deploy({"tanuki-8b": stand_in.url})
    result = load(*many, answer=answer)
    assert result.exit_code == 2
    assert "go to tanuki-8b" in result.stderr
    assert "Nothing was measured" in result.stderr
    assert stand_in.bodies == []


@pytest.mark.parametrize("agreed", [{"answer": "y\n"}, {"answer": None, "yes": "--yes"}])
def test_many_requests_go_on_after_yes(serve: Serve, agreed: dict[str, str | None]) -> None:
    stand_in = serve(chunks=1, chunk_seconds=0)
    deploy({"tanuki-8b": stand_in.url})
    result = load("--requests", "51", *filter(None, [agreed.get("yes")]), answer=agreed["answer"])
    assert result.exit_code == 0
    assert len(stand_in.bodies) == 1 + 51


def test_one_of_several_models_is_loaded(serve: Serve) -> None:
    first, second = serve(), serve()
    deploy({"tanuki-8b": first.url, "qwen-32b": second.url})
    refused = load("--requests", "2")
    assert refused.exit_code == 2
    assert "say --model with one of tanuki-8b, qwen-32b" in refused.stderr
    assert load("--requests", "2", "--model", "qwen-32b").exit_code == 0
    assert (len(first.bodies), len(second.bodies)) == (0, 3)
