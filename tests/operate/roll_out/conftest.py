from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path

import boto3
import pytest

from slipway.operate.roll_out import update
from tests.emulator.running import RunningEmulator
from tests.operate.roll_out.endpoint import EndpointStack

_NUMBERS = count(1)
# Each new session reads AWS's service models again, which takes longer than a roll-out here.
_SESSION = cache(boto3.Session)


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEmulator]:
    """One emulator of CloudFormation, S3 and STS for all tests; each has an environment of its own."""
    running = RunningEmulator(tmp_path_factory.mktemp("emulator"))
    yield running
    assert running.stop() == 0


@pytest.fixture
def undeployed(emulator: RunningEmulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EndpointStack:
    """An environment of which nothing stands, and the command's way to the emulator."""
    monkeypatch.setattr(update, "POLL_SECONDS", 0.05)
    monkeypatch.setattr("slipway.aws.account.boto3.Session", _SESSION)
    variables = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{emulator.port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "config").write_text("[default]\ns3 =\n  addressing_style = path\n")
    return EndpointStack(emulator, f"env{next(_NUMBERS)}", tmp_path)


@pytest.fixture
def endpoint(undeployed: EndpointStack) -> EndpointStack:
    """A deployed endpoint that serves nothing yet, and two published versions."""
    undeployed.deploy()
    undeployed.publish("v1")
    undeployed.publish("v2")
    return undeployed
