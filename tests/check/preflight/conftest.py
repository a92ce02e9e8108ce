"""An account in which an environment can be deployed, and what the shipped environments need of it."""

from collections.abc import Callable, Iterator
from functools import cache

import pytest
from moto import mock_aws

import slipway.check.preflight.checks  # noqa: F401 - importing it registers the checks
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import CHECKS, run
from slipway.check.preflight.needs import Needs, read_needs
from tests.check.preflight.aws import Aws
from tests.check.preflight.well import REPLIES
from tests.conftest import AssemblyFactory

NeedsFactory = Callable[[str], Needs]
Ask = Callable[[str, Needs, Aws], list[Answer]]


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """An account that has all that an environment needs, empty otherwise."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield Aws(dict(REPLIES))


@pytest.fixture(scope="session")
def needs_of(assemblies: AssemblyFactory) -> NeedsFactory:
    """Return what an environment needs, by its name."""

    @cache
    def needs(name: str) -> Needs:
        return read_needs(assemblies(name).directory)

    return needs


@pytest.fixture
def ask() -> Ask:
    """Run one check by its id."""

    def answers(check: str, needs: Needs, aws: Aws) -> list[Answer]:
        return run(CHECKS[check], needs, aws.account())

    return answers
