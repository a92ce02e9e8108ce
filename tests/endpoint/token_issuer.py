"""An issuer of tokens with keys of its own, and the throw-away certificate of an endpoint on loopback."""

import time
from typing import Any

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey


class TokenIssuer:
    """Signs tokens, and publishes its public keys at an address on loopback."""

    def __init__(self) -> None:
        self._key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig", "alg": "RS256"})
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
        return web.json_response(KeySet([self._key]).as_dict(private=False))

    def token(self, claims: dict[str, Any], *, key: RSAKey | None = None, algorithm: str = "RS256") -> str:
        """Return a signed token that is valid for an hour, unless the claims say otherwise; None takes one out.

        Args:
            claims: claims beside `exp` and `iat`.
            key: another key than the published one.
            algorithm: RS256, or another one that the load balancer must refuse.
        """
        now = int(time.time())
        whole = {name: value for name, value in ({"exp": now + 3600, "iat": now - 1} | claims).items() if value}
        header = {"alg": algorithm, "kid": "first", "typ": "JWT"}
        if algorithm == "HS256":
            # The classic mistake: the public key, which everybody has, taken for a shared secret.
            return jwt.encode(header, whole, OctKey.import_key(self._key.as_pem(private=False)), algorithms=["HS256"])
        return jwt.encode(header, whole, key or self._key, algorithms=[algorithm])
