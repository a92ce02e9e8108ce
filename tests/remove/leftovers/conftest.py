"""An empty account in moto."""

from collections.abc import Callable, Iterator

import pytest
from moto import mock_aws

from slipway.remove.leftovers.kind import kinds

REGION = "us-west-2"
Only = Callable[..., None]
"""Chooses kinds."""


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An account, asked for all kinds that moto lists."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    emulated = tuple(kind for kind in kinds() if kind.emulated)
    monkeypatch.setattr("slipway.remove.leftovers.look.kinds", lambda: emulated)
    monkeypatch.setattr("slipway.remove.leftovers.look._AT_ONCE", 1)  # moto in this process bears one call at a time
    with mock_aws():
        yield


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Only:
    """Look for some kinds alone, which takes less time."""

    def choose(*names: str) -> None:
        some = tuple(kind for kind in kinds() if kind.kind in names)
        assert len(some) == len(names)
        monkeypatch.setattr("slipway.remove.leftovers.look.kinds", lambda: some)

    return choose
