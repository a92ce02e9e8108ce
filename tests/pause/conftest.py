"""An account with an environment that runs."""

from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from tests.pause.world import REGION, State, World


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    # A thousand images that nobody asks for, made again for each test, take a second.
    monkeypatch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")


@pytest.fixture
def empty() -> Iterator[World]:
    """An account in which nothing is deployed."""
    with mock_aws():
        yield World(boto3.Session(region_name=REGION))


@pytest.fixture
def world(empty: World) -> World:
    """An environment that runs."""
    empty.build(State())
    return empty
