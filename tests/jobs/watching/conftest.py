"""A cluster without runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jobs.watching.run_folder import Cluster


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Return an empty cluster whose Slurm commands are on the PATH."""
    return Cluster(tmp_path, monkeypatch)
