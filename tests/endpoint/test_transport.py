"""TLS, and the way from HTTP to it."""

import http.client
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import openai
import pytest

from tests.assembly import Assembly
from tests.endpoint.gateway_template import LoadBalancerTemplate
from tests.endpoint.running_endpoint import RunningEndpoint, running_endpoint
from tests.endpoint.stack_values import StackValues, with_version

Endpoints = Callable[[str], RunningEndpoint]
Assemblies = Callable[[str], Assembly]

each_secure_variant = pytest.mark.parametrize("variant", ["public", "apikey", "machines"])


@each_secure_variant
@pytest.mark.parametrize("target", ["/v1/models", "/metrics", "/v1/chat/completions?a=b"])
def test_http_leads_to_https(endpoints: Endpoints, variant: str, target: str) -> None:
    endpoint = endpoints(variant)
    for method in ("GET", "POST"):
        headers = {"Host": "llm.example.com", "Authorization": "Bearer x"}
        answer = endpoint.ask(method, target, listener_port=80, headers=headers)
        assert (answer.status, answer.headers["Location"]) == (301, f"https://llm.example.com:443{target}")


@each_secure_variant
def test_nothing_is_served_over_http(endpoints: Endpoints, variant: str) -> None:
    """The client follows the redirect only to leave: at port 443 of the loopback there is no answer."""
    endpoint = endpoints(variant)
    (name, *_) = endpoint.models
    before = len(endpoint.access_log)
    client = openai.OpenAI(
        base_url=f"http://localhost:{endpoint.gateway.ports[80]}/v1", api_key=endpoint.credential, max_retries=0
    )
    with pytest.raises((openai.APIConnectionError, openai.APIStatusError)):
        client.completions.create(model=endpoint.model_id(name), prompt="x")
    assert {access.status for access in endpoint.access_log[before:]} == {301}


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated")
@each_secure_variant
def test_old_tls_is_refused(endpoints: Endpoints, variant: str) -> None:
    endpoint = endpoints(variant)
    assert _version(endpoint, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
    assert _version(endpoint, ssl.TLSVersion.TLSv1_2) == "TLSv1.2"
    with pytest.raises(ssl.SSLError):
        _version(endpoint, ssl.TLSVersion.TLSv1_1)


def _version(endpoint: RunningEndpoint, newest: ssl.TLSVersion) -> str | None:
    context = endpoint.tls()
    # Python's own limits would refuse before the load balancer does.
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.maximum_version = newest
    address = ("127.0.0.1", endpoint.gateway.ports[443])
    with socket.create_connection(address) as plain, context.wrap_socket(plain, server_hostname="localhost") as secure:
        return secure.version()


def test_an_internal_endpoint_without_certificate_speaks_http_only(endpoints: Endpoints) -> None:
    endpoint = endpoints("rolledout")
    assert set(endpoint.gateway.ports) == {80}
    assert endpoint.balancer.load_balancer.scheme == "internal"


def test_public_endpoints_ask_for_tls_and_credentials(assemblies: Assemblies) -> None:
    template = LoadBalancerTemplate(StackValues(assemblies("public").template("inference")))
    assert template.load_balancer.scheme == "internet-facing"
    assert {listener.port: listener.protocol for listener in template.listeners.values()} == {80: "HTTP", 443: "HTTPS"}


def test_header_names_that_could_fool_the_engine_are_dropped(assemblies: Assemblies, tmp_path: Path) -> None:
    template = assemblies("rolledout").template("inference")
    with running_endpoint(template, tmp_path, parameters=with_version(template)) as endpoint:
        connection = http.client.HTTPConnection("localhost", endpoint.gateway.ports[80])
        connection.putrequest("GET", "/v1/models")
        connection.putheader("Valid-Name", "1")
        connection.putheader("Not_Valid", "1")
        connection.endheaders()
        assert connection.getresponse().status == 200
        connection.close()
        (seen,) = endpoint.reached("tanuki-8b")
        assert "valid-name" in seen["headers"]
        assert "not_valid" not in seen["headers"]
