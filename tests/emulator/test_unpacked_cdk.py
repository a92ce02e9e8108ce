"""ParallelCluster's CDK is unpacked by one process, whoever asks, and again after a failure."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slipway_emulator.functions.packages import unpack_cdk


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter that writes down its starts and ends as the file `status` says."""
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    lines = (
        f"echo $JSII_RUNTIME_PACKAGE_CACHE_ROOT >>{tmp_path}/starts",
        "sleep 0.2",
        f"exit $(cat {tmp_path}/status)",
    )
    program.write_text("\n".join(("#!/bin/sh", *lines, "")))
    program.chmod(0o755)
    return program


def starts(python: Path) -> list[str]:
    return (python.parents[1] / "starts").read_text().splitlines()


def test_one_of_several_unpacks_and_the_others_wait(python: Path) -> None:
    (python.parents[1] / "status").write_text("0")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(unpack_cdk, [python] * 4))
    unpack_cdk(python)

    assert starts(python) == [str(python.parents[1] / "jsii-packages")]


def test_a_failure_is_not_remembered(python: Path) -> None:
    status = python.parents[1] / "status"
    status.write_text("1")
    unpack_cdk(python)
    status.write_text("0")
    unpack_cdk(python)
    unpack_cdk(python)

    assert len(starts(python)) == 2


def test_without_parallelcluster_nothing_is_left(tmp_path: Path) -> None:
    unpack_cdk(tmp_path / "bin" / "python")

    assert list(tmp_path.iterdir()) == []
