"""Whether the endpoint's name leads to it, and whether what answers there may call itself so."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import ssl
import time
from urllib.request import getproxies, proxy_bypass

from slipway.operate.endpoint.check.inquiry import Inquiry
from slipway.operate.endpoint.check.verdicts import Verdict, failed, ok, skipped
from slipway.operate.endpoint.http_client import CONNECT_SECONDS, Trouble, tls_context
from slipway.operate.endpoint.target import Target

_FEWEST_DAYS = 14
_DAY_SECONDS = 86400

# Codes of OpenSSL's X509_verify_cert_error_string(3), which ssl.SSLCertVerificationError.verify_code repeats.
_NOT_YET_VALID, _EXPIRED, _WRONG_NAME, _WRONG_ADDRESS = 9, 10, 62, 64
_UNKNOWN_ISSUER = frozenset({2, 18, 19, 20, 21})
# X509_V_FLAG_NO_CHECK_TIME of OpenSSL's x509_vfy.h, for which ssl.VerifyFlags has no name.
_NO_CHECK_TIME = 0x200000


def _proxy(target: Target) -> str | None:
    """Return the proxy that the environment's variables name for a target."""
    proxies = getproxies()
    if target.way.connect_to is not None or proxy_bypass(target.host):
        return None
    return proxies.get("https" if target.encrypted else "http") or proxies.get("all")


async def name(inquiry: Inquiry) -> Verdict:
    """Resolve the name."""
    if _proxy(inquiry.target):
        return skipped("a proxy is set in the environment (HTTPS_PROXY, HTTP_PROXY), which resolves the name")
    host, port = inquiry.target.address
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        inquiry.unreachable = "the name leads nowhere"
        return failed(
            f"{host} cannot be resolved ({error})",
            "is it written as in the stack's outputs? A name in a private hosted zone is known only inside the VPC: "
            "go through a port forwarding with --connect-to",
        )
    addresses = sorted({str(entry[4][0]) for entry in found})
    private = all(ipaddress.ip_address(address.partition("%")[0]).is_private for address in addresses)
    return ok(f"{host} is {', '.join(addresses)}{' (private addresses)' if private else ''}")


async def connection(inquiry: Inquiry) -> Verdict:
    """Open a TCP connection."""
    if _proxy(inquiry.target):
        return skipped("a proxy connects")
    host, port = inquiry.target.address
    seconds = min(inquiry.target.way.timeout_seconds, CONNECT_SECONDS)
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        inquiry.unreachable = "no connection"
        return failed(
            f"no connection to port {port} within {seconds:g} s",
            "packets are dropped on the way: you are outside the VPC or endpoint.allowed_cidrs, or a firewall is there",
        )
    except OSError as error:
        inquiry.unreachable = "no connection"
        return failed(
            f"no connection to port {port}: {os.strerror(error.errno) if error.errno else error}",
            "nothing listens there: is the port right (443 with a certificate, else 80), does the port forwarding run?",
        )
    writer.close()
    through = f", instead of {inquiry.target.host}" if inquiry.target.way.connect_to else ""
    return ok(f"port {port} of {host} takes connections{through}")


async def certificate(inquiry: Inquiry) -> Verdict:
    """Shake hands, and read the certificate."""
    if not inquiry.target.encrypted:
        readable = ": the key crosses the network readable" if inquiry.target.key else ""
        return skipped(f"http is not encrypted{readable}")
    if _proxy(inquiry.target):
        return skipped("a proxy connects")
    try:
        version, found = await asyncio.to_thread(_shake_hands, inquiry.target, tls_context(inquiry.target.way))
    except ssl.SSLCertVerificationError as error:
        inquiry.unreachable = "the certificate is not accepted"
        return await asyncio.to_thread(_refused_certificate, inquiry.target, error)
    except (OSError, ssl.SSLError) as error:
        inquiry.unreachable = "TLS fails"
        return failed(f"no TLS there: {error}", "does that port speak TLS? A listener without certificate is http://")
    days = _days_left(found)
    names = ", ".join(_names(found))
    if days < _FEWEST_DAYS:
        return failed(
            f"{version}, for {names}; it ends in {days} days",
            "AWS Certificate Manager renews its own certificates 60 days before they end, unless their validation "
            "record is gone: look there. Import others again",
        )
    return ok(f"{version}, for {names}; {days} days left")


def _shake_hands(target: Target, context: ssl.SSLContext) -> tuple[str, dict[str, object]]:
    """Return the version of TLS, and the certificate."""
    seconds = min(target.way.timeout_seconds, CONNECT_SECONDS)
    with (
        socket.create_connection(target.address, timeout=seconds) as plain,
        context.wrap_socket(plain, server_hostname=target.host) as encrypted,
    ):
        return str(encrypted.version()), dict(encrypted.getpeercert() or {})


def _refused_certificate(target: Target, error: ssl.SSLCertVerificationError) -> Verdict:
    """Say why, with what the certificate says itself: read once more, with only the refused check left out."""
    context = tls_context(target.way)
    match error.verify_code:
        case code if code in (_WRONG_NAME, _WRONG_ADDRESS):
            context.check_hostname = False
            _, found = _shake_hands(target, context)
            return failed(
                f"the certificate is for {', '.join(_names(found))}, not for {target.host}",
                "ask by a name that it covers (endpoint.dns_record), through a port forwarding with --connect-to; or "
                "give the load balancer a certificate for this name",
            )
        case code if code in (_EXPIRED, _NOT_YET_VALID):
            context.verify_flags |= _NO_CHECK_TIME
            try:
                _, found = _shake_hands(target, context)
            except ssl.SSLError:
                found = {}
            when = f": valid from {found['notBefore']} to {found['notAfter']}" if found else ""
            word = "has expired" if code == _EXPIRED else "is not valid yet"
            return failed(f"the certificate {word}{when}", "renew it, or set this computer's clock right")
        case code if code in _UNKNOWN_ISSUER:
            return failed(
                f"the certificate is not signed by an authority that this computer trusts ({error.verify_message})",
                "a private authority's certificate goes into --ca-file, and into SSL_CERT_FILE for other clients",
            )
        case _:
            return failed(f"the certificate is not accepted: {error.verify_message or error}", "see the reason")


def _names(found: dict[str, object]) -> list[str]:
    entries = found.get("subjectAltName", ())
    return [str(entry[1]) for entry in entries] if isinstance(entries, tuple) else []


def _days_left(found: dict[str, object]) -> int:
    return int((ssl.cert_time_to_seconds(str(found["notAfter"])) - time.time()) // _DAY_SECONDS)


async def redirect(inquiry: Inquiry) -> Verdict:
    """Ask without encryption, which must lead to the encrypted address."""
    target = inquiry.target
    if not target.encrypted:
        return skipped("http is what the endpoint speaks")
    if target.port != 443 or target.way.connect_to is not None:
        return skipped("only the usual ports, 80 and 443, belong together")
    return await redirected(inquiry, f"http://{target.host}/")


async def redirected(inquiry: Inquiry, url: str) -> Verdict:
    """Say whether an unencrypted address only sends clients to the encrypted one."""
    answer = await inquiry.get(inquiry.without_key, url)
    if isinstance(answer, Trouble):
        return ok("nothing answers without encryption")
    where = answer.headers.get("location", "")
    if answer.is_redirect and where.startswith("https://"):
        return ok(f"{answer.status_code} to {where}")
    return failed(
        f"{url} answers {answer.status_code} without encryption",
        "let the listener of port 80 only redirect to HTTPS: keys sent there are readable on the way",
    )
