"""A local Slurm whose nodes run the health check, each with a fake machine of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.slurm.trainium_cluster import TrainiumCluster

Start = Callable[..., TrainiumCluster]


@pytest.fixture
def start_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Return what starts a cluster; it is stopped after the test."""
    # Slurm's sockets need a shorter path than tmp_path.
    directory: Path = tmp_path_factory.mktemp("slurm", numbered=True)
    with ExitStack() as clusters:
        yield lambda **options: clusters.enter_context(TrainiumCluster(directory, **options))
