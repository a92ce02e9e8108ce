from collections.abc import Iterator

import pytest

from tests.emulator.running import RunningEmulator


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEmulator]:
    """One emulator for all tests; each uses stack names of its own."""
    running = RunningEmulator(tmp_path_factory.mktemp("emulator"))
    yield running
    assert running.stop() == 0
