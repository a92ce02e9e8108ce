"""A local Slurm whose nodes run the health check, each with a fake machine of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.slurm.trainium_cluster import TrainiumCluster

Start = Callable[..., TrainiumCluster]


@pytest.fixture
def short_path() -> Iterator[Path]:
    """Return an empty directory; Slurm's sockets need a shorter path than that of tmp_path."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as directory:
        yield Path(directory)


@pytest.fixture
def start_cluster(short_path: Path) -> Iterator[Start]:
    """Return what starts a cluster; it is stopped after the test."""
    with ExitStack() as clusters:
        yield lambda **options: clusters.enter_context(TrainiumCluster(short_path, **options))
