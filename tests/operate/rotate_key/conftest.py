"""An account with a deployed endpoint."""

from collections.abc import Iterator

import pytest
from moto import mock_aws

from tests.operate.rotate_key.account import Account


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    with mock_aws():
        yield Account(monkeypatch)
