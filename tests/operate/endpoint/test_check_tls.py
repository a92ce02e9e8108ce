"""What `slipway endpoint check` says about TLS: certificates that are right, and each way to be wrong."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from aiohttp import web

from slipway.operate.endpoint.check.connection import redirected
from slipway.operate.endpoint.check.inquiry import Inquiry
from slipway.operate.endpoint.check.verdicts import Result, Verdict
from slipway.operate.endpoint.http_client import open_client, tls_context
from slipway.operate.endpoint.target import Target
from tests.operate.endpoint.conftest import Serve
from tests.operate.endpoint.reading import check
from tests.operate.endpoint.stand_in import Handler, answering

NAME = "llm.example.com"


def test_a_certificate_that_is_right(serve: Serve, authority: trustme.CA, ca_file: Path) -> None:
    found = check(serve(authority.issue_cert("127.0.0.1")).url, "--ca-file", ca_file)
    assert found.exit_code == 0
    assert found.found("certificate").startswith("TLSv1.3, for 127.0.0.1; ")
    assert found.result("redirect") == "skipped"


def test_through_a_port_forwarding(serve: Serve, authority: trustme.CA, ca_file: Path) -> None:
    stand_in = serve(authority.issue_cert(NAME))
    there = f"127.0.0.1:{stand_in.port}"
    found = check(f"https://{NAME}/v1", "--ca-file", ca_file, "--connect-to", there)
    assert found.exit_code == 0
    assert f"for {NAME}" in found.found("certificate")
    assert f"instead of {NAME}" in found.found("connection")
    assert found.result("streaming") == "ok"


def test_a_certificate_for_another_name(serve: Serve, authority: trustme.CA, ca_file: Path) -> None:
    found = check(serve(authority.issue_cert(NAME)).url, "--ca-file", ca_file)
    assert found.failed == ["certificate"]
    assert found.found("certificate") == f"the certificate is for {NAME}, not for 127.0.0.1"
    assert len(found.skipped) == 10


def test_a_certificate_for_another_host_name(serve: Serve, authority: trustme.CA, ca_file: Path) -> None:
    stand_in = serve(authority.issue_cert("*.elb.amazonaws.com"))
    there = f"127.0.0.1:{stand_in.port}"
    found = check(f"https://{NAME}/v1", "--ca-file", ca_file, "--connect-to", there)
    assert found.found("certificate") == f"the certificate is for *.elb.amazonaws.com, not for {NAME}"


@pytest.mark.parametrize(
    ("days", "words"),
    [
        ((-30, -1), "has expired: valid from"),
        ((1, 30), "is not valid yet: valid from"),
        ((-30, 3.5), "it ends in 3 days"),
    ],
)
def test_a_certificate_at_another_time(
    serve: Serve, authority: trustme.CA, ca_file: Path, days: tuple[float, float], words: str
) -> None:
    now = datetime.now(UTC)
    leaf = authority.issue_cert(
        "127.0.0.1", not_before=now + timedelta(days=days[0]), not_after=now + timedelta(days=days[1])
    )
    found = check(serve(leaf).url, "--ca-file", ca_file)
    assert found.failed == ["certificate"]
    assert words in found.found("certificate")


def test_a_certificate_that_ends_soon_is_still_asked(serve: Serve, authority: trustme.CA, ca_file: Path) -> None:
    leaf = authority.issue_cert("127.0.0.1", not_after=datetime.now(UTC) + timedelta(days=3))
    assert check(serve(leaf).url, "--ca-file", ca_file).result("streaming") == "ok"


def test_a_certificate_of_an_unknown_authority(serve: Serve, authority: trustme.CA) -> None:
    found = check(serve(authority.issue_cert("127.0.0.1")).url)
    assert found.failed == ["certificate"]
    assert "not signed by an authority that this computer trusts" in found.found("certificate")
    assert "--ca-file" in str(found.checks["certificate"]["advice"])


def test_no_tls_where_it_should_be(serve: Serve) -> None:
    found = check(serve().url.replace("http:", "https:"))
    assert found.failed == ["certificate"]
    assert "no TLS there" in found.found("certificate")


def test_a_key_over_http_is_readable(serve: Serve) -> None:
    assert "readable" in check(serve(key="k").url, key="k").found("certificate")


def asked_without_encryption(url: str) -> Verdict:
    """What the check of the redirect says of another port than 80, which tests cannot have."""

    async def ask() -> Verdict:
        target = Target(name="x", base_url=f"https://{NAME}/v1", model=None, authentication="none", key=None)
        async with open_client(target, key=None, trust=tls_context(target.way)) as client:
            return await redirected(Inquiry(target, client, client, client), url)

    return asyncio.run(ask())


def redirecting(to: str) -> Handler:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=301, headers={"Location": to})

    return answer


@pytest.mark.parametrize(
    ("handler", "result"),
    [
        (redirecting(f"https://{NAME}:443/"), Result.OK),
        (redirecting("http://elsewhere/"), Result.FAILED),
        (answering(200), Result.FAILED),
        (answering(404), Result.FAILED),
    ],
)
def test_what_answers_without_encryption(serve: Serve, handler: Handler, result: Result) -> None:
    stand_in = serve()
    stand_in.replaced["/"] = handler
    assert asked_without_encryption(stand_in.url.replace("/v1", "/")).result is result


def test_nothing_without_encryption_is_well() -> None:
    assert asked_without_encryption("http://127.0.0.1:9/").result is Result.OK
