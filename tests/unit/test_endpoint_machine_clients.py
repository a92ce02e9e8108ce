"""Clients of the endpoint in a user pool: what the pool allows, what the load balancer checks, how one gets a token."""

import base64
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import botocore.session
import pytest

from neuron_constructs.inference.machine_clients import MachineClients, MachineClientsProps
from tests.assembly import cdk_context
from tests.endpoint_stack import CERTIFICATE, Synthesized, Wanted, endpoint_stack, route, synthesize

CLIENT, POOL, SECRET = "6example23456789", "us-west-2_AbCdEf123", "s3cr3tofaclient0123456789"
TOKEN_ENDPOINT = "https://slipway-test.auth.us-west-2.amazoncognito.com"
TOKEN = "eyJraWQiOiJ4In0.eyJzY29wZSI6ImVuZHBvaW50L2ludm9rZSJ9.c2ln-_"


@pytest.fixture(scope="module")
def cognito(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """An endpoint with a user pool of its own."""
    directory = tmp_path_factory.mktemp("cognito")
    return synthesize(directory, Wanted(certificate_arn=CERTIFICATE), {"Tanuki": route()}, cognito_minutes=30)


def test_the_pool_has_no_users_and_goes_with_its_stack(cognito: Synthesized) -> None:
    (logical_id,) = cognito.resources("Cognito::UserPool")
    pool = cognito.template["Resources"][logical_id]

    assert pool["Properties"]["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}
    assert pool["Properties"]["DeletionProtection"] == "INACTIVE"
    assert pool["DeletionPolicy"] == "Delete"
    assert cognito.resource("Cognito::UserPoolDomain")["Domain"] == "slipway-test"


def test_a_client_gets_tokens_by_its_secret_only(cognito: Synthesized) -> None:
    client = cognito.resource("Cognito::UserPoolClient")

    assert client["GenerateSecret"] is True
    assert client["AllowedOAuthFlows"] == ["client_credentials"]
    assert client["ExplicitAuthFlows"] == ["ALLOW_REFRESH_TOKEN_AUTH"]
    assert (client["AccessTokenValidity"], client["TokenValidityUnits"]) == (30, {"AccessToken": "minutes"})


def test_the_load_balancer_asks_for_the_scope_that_the_client_has(cognito: Synthesized) -> None:
    (server_id,) = cognito.resources("Cognito::UserPoolResourceServer")
    server = cognito.resource("Cognito::UserPoolResourceServer")
    (granted,) = cognito.resource("Cognito::UserPoolClient")["AllowedOAuthScopes"]
    (scope,) = server["Scopes"]
    (pool,) = cognito.resources("Cognito::UserPool")
    config = cognito.rules()[0]["Actions"][0]["JwtValidationConfig"]

    assert scope["ScopeName"] == "tanuki"
    # The id of a resource server is its identifier.
    assert granted["Fn::Join"][1] == [{"Ref": server_id}, f"/{scope['ScopeName']}"]
    assert config["AdditionalClaims"] == [
        {
            "Name": "scope",
            "Format": "space-separated-values",
            "Values": [f"{server['Identifier']}/{scope['ScopeName']}"],
        }
    ]
    assert config["Issuer"]["Fn::Join"][1] == ["https://cognito-idp.us-west-2.amazonaws.com/", {"Ref": pool}]
    assert config["JwksEndpoint"]["Fn::Join"][1][2] == "/.well-known/jwks.json"


@pytest.mark.parametrize("prefix", ["slipway-aws-1", "amazon", "my-cognito-2"])
def test_a_domain_that_cognito_refuses_is_refused_here(prefix: str) -> None:
    stack = endpoint_stack(cdk.App(context=cdk_context()))

    with pytest.raises(ValueError, match=prefix):
        MachineClients(stack, "Clients", MachineClientsProps(domain_prefix=prefix, token_minutes=60, models=["tanuki"]))


@dataclass
class TokenServer:
    """A token endpoint on loopback, and what it was asked."""

    url: str = ""
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    def answer(self, authorization: str, body: str) -> tuple[int, dict[str, Any]]:
        """Status and body for a request, as RFC 6749 has them."""
        expected = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if authorization != f"Basic {expected}":
            return 400, {"error": "invalid_client"}
        if body != "grant_type=client_credentials":
            return 400, {"error": "unsupported_grant_type"}
        return 200, {"access_token": TOKEN, "expires_in": 1800, "token_type": "Bearer"}


@pytest.fixture
def token_server() -> Iterator[TokenServer]:
    """A running token endpoint."""
    server = TokenServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            authorization = self.headers.get("authorization", "")
            server.asked.append((self.path, authorization, body))
            status, answer = server.answer(authorization, body)
            content = json.dumps(answer, separators=(",", ":")).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        server.url = f"http://127.0.0.1:{httpd.server_port}"
        threading.Thread(target=httpd.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        httpd.shutdown()


@pytest.fixture
def command(cognito: Synthesized, token_server: TokenServer) -> str:
    """The stack's command as its output prints it, with the loopback's token endpoint in place of Amazon's."""
    references = {"ClientsUserPoolClient": CLIENT, "ClientsUserPoolDomain": "slipway-test", "ClientsUserPool": POOL}
    text = ""
    for part in cognito.template["Outputs"]["TokenCommand"]["Value"]["Fn::Join"][1]:
        if isinstance(part, str):
            text += part
        else:
            text += next(value for name, value in references.items() if part["Ref"].startswith(name))
    assert f"{TOKEN_ENDPOINT}/oauth2/token" in text
    return text.replace(TOKEN_ENDPOINT, token_server.url)


def run(command: str, directory: Path, *, secret: str = SECRET, shell: str = "sh") -> subprocess.CompletedProcess[str]:
    """Run a command with an `aws` that knows one client, and with each program's arguments written down."""
    programs = directory / "bin"
    programs.mkdir()
    wanted = f"--user-pool-id {POOL} --client-id {CLIENT} --query UserPoolClient.ClientSecret --output text"
    stubs = {
        "aws": f"""case "$*" in
          "cognito-idp describe-user-pool-client --region us-west-2 {wanted}") echo {secret} ;;
          *) exit 252 ;;
        esac"""
    }
    for name in ("sed", "curl", "awk"):
        stubs[name] = f"""printf '%s\\n' "$@" >> {directory}/arguments; exec {shutil.which(name)} "$@" """
    for name, text in stubs.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    return subprocess.run(
        [shell, "-c", command],
        env={"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HOME": str(directory)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_command_reads_what_amazon_cognito_answers(command: str) -> None:
    model = botocore.session.get_session().get_service_model("cognito-idp")
    client = model.shape_for("DescribeUserPoolClientResponse").members["UserPoolClient"]  # type: ignore[attr-defined]

    assert "--query UserPoolClient.ClientSecret " in command
    assert client.members["ClientSecret"].type_name == "string"


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_command_prints_a_token_and_shows_the_secret_to_nobody(
    command: str, token_server: TokenServer, tmp_path: Path, shell: str
) -> None:
    done = run(command, tmp_path, shell=shell)

    assert (done.returncode, done.stdout, done.stderr) == (0, f"{TOKEN}\n", "")
    ((path, _, _),) = token_server.asked
    assert path == "/oauth2/token"
    arguments = (tmp_path / "arguments").read_text()
    assert "grant_type=client_credentials" in arguments
    assert SECRET not in arguments


def test_the_command_fails_with_a_reason_when_the_secret_is_refused(
    command: str, token_server: TokenServer, tmp_path: Path
) -> None:
    done = run(command, tmp_path, secret="another")

    assert done.returncode != 0
    assert done.stdout == ""
    assert "400" in done.stderr
    assert len(token_server.asked) == 1


def test_the_command_passes_shellcheck(command: str, tmp_path: Path) -> None:
    script = tmp_path / "token.sh"
    script.write_text(f"#!/bin/sh\n{command}\n")

    found = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True, check=False)

    assert (found.returncode, found.stdout) == (0, "")
