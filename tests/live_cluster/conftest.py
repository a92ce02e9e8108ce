"""Living clusters of the shipped environments, and what a fault left behind."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import AssemblyFactory
from tests.live_cluster.judged_cluster import JudgedCluster, judge_cluster
from tests.live_cluster.live_cluster import LiveCluster

Show = Callable[[str], None]
Start = Callable[..., LiveCluster]


@pytest.fixture(scope="session")
def judged(assemblies: AssemblyFactory, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], JudgedCluster]:
    """Return the cluster of an environment by name; the first worker that asks for it lets ParallelCluster build it."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "judged"
    shared.mkdir(exist_ok=True)

    @cache
    def cluster(name: str) -> JudgedCluster:
        assembly = assemblies(name)
        with (shared / f"{name}.lock").open("w") as lock:
            flock(lock, LOCK_EX)
            file, folder = shared / f"{name}.json", shared / name
            if not file.exists():
                folder.mkdir()
                values = asdict(judge_cluster(assembly, folder)) | {"assembly": None}
                file.write_text(json.dumps(values), encoding="utf-8")
        return JudgedCluster(**{**json.loads(file.read_text(encoding="utf-8")), "assembly": assembly.directory})

    return cluster


@pytest.fixture
def start_cluster(
    judged: Callable[[str], JudgedCluster],
    record_property: Callable[[str, object], None],
    request: pytest.FixtureRequest,
) -> Iterator[Start]:
    """Return what starts an environment's cluster; it is stopped after the test, and its costs are recorded.

    On a failure the events of its instances are shown.
    """
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="live-")))

        def start(name: str = "default", **options: Any) -> LiveCluster:
            cluster = LiveCluster(directory / "c", judged(name), **options)
            stack.callback(_record, cluster, record_property, request)
            return stack.enter_context(cluster)

        yield start


def _record(
    cluster: LiveCluster, record_property: Callable[[str, object], None], request: pytest.FixtureRequest
) -> None:
    print("\n".join(cluster.instances.events), cluster.files.log_ends(), sep="\n")
    record_property("fault", (request.function.__doc__ or "").split("\n", maxsplit=1)[0])
    record_property("running", len(cluster.instances.running()))
    record_property("seconds", round(cluster.instances.seconds()))
    record_property("usd", round(cluster.instances.usd(), 2))


@pytest.fixture
def show(record_property: Callable[[str, object], None]) -> Show:
    """Return what records what a user sees of a fault, in the order in which it happens."""
    return lambda text: record_property("seen", text)
