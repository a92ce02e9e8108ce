"""An issuer of tokens with keys of its own."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import KeySet, KeySetSerialization, RSAKey


class TokenIssuer:
    """Signs tokens, and publishes its public keys at an address on loopback."""

    def __init__(self) -> None:
        self._key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
        self._runner: web.AppRunner | None = None
        self.address = ""

    async def start(self) -> None:
        """Publish the keys."""
        application = web.Application()
        application.router.add_get("/jwks.json", self._published)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.address = f"http://{host}:{port}/jwks.json"

    async def close(self) -> None:
        """Close the address."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _published(self, _: web.Request) -> web.Response:
        return web.json_response(self.key_set())

    def key_set(self) -> KeySetSerialization:
        """The public keys, as they are published."""
        return KeySet([self._key]).as_dict(private=False)

    def token(self, claims: Mapping[str, Any], *, key: RSAKey | None = None, algorithm: str = "RS256") -> str:
        """Return a signed token that is valid for an hour, unless the claims say otherwise; None takes one out.

        Args:
            claims: claims beside `exp` and `iat`.
            key: another key than the published one.
            algorithm: RS256, or another one of RSA.
        """
        header = {"alg": algorithm, "kid": "first", "typ": "JWT"}
        return jwt.encode(header, _whole(claims), key or self._key, algorithms=[algorithm])

    def forged_token(self, claims: Mapping[str, Any], *, algorithm: str) -> str:
        """Return what an attacker makes without the private key.

        Args:
            claims: as for `token`.
            algorithm: `none` for a token without signature; `HS256` for one signed with the public key, which a
                careless check takes for a shared secret. No library for tokens signs like that.
        """
        header = {"alg": algorithm, "kid": "first", "typ": "JWT"}
        content = ".".join(_encoded(json.dumps(part).encode()) for part in (header, _whole(claims)))
        signatures = {
            "none": b"",
            "HS256": hmac.digest(self._key.as_pem(private=False), content.encode(), hashlib.sha256),
        }
        return f"{content}.{_encoded(signatures[algorithm])}"


def _whole(claims: Mapping[str, Any]) -> dict[str, Any]:
    now = int(time.time())
    defaults = {"exp": now + 3600, "iat": now - 1}
    return {name: value for name, value in {**defaults, **claims}.items() if value is not None}


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()
