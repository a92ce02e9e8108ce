import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import trustme

from tests.operate.endpoint.stand_in import StandIn

Serve = Callable[..., StandIn]


@pytest.fixture(autouse=True)
def _no_key_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> Path:
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(file)
    return file


@contextmanager
def served(stand_in: StandIn, certificate: trustme.LeafCert | None) -> Iterator[None]:
    tls = None
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(tls)
    thread = threading.Thread(target=stand_in.run, args=(tls,), daemon=True)
    thread.start()
    assert stand_in.started.wait(60)
    try:
        yield
    finally:
        stand_in.stop()
        thread.join(60)
        assert not thread.is_alive()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a stand-in with these attributes, and with a certificate when there is one."""
    with ExitStack() as running:

        def start(certificate: trustme.LeafCert | None = None, **attributes: object) -> StandIn:
            stand_in = StandIn(**attributes)  # type: ignore[arg-type]
            running.enter_context(served(stand_in, certificate))
            return stand_in

        yield start
