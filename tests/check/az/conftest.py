"""The account of moto, whose offerings are those that EC2 listed."""

from collections.abc import Iterator

import pytest
from moto import mock_aws

from tests.check.preflight.aws import Aws


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """An account without file systems."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield Aws()
