"""Nodes that the tests of the cluster scripts start from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.assets.cluster_node import ClusterNode
from tests.assets.real_python import INTERPRETER


@pytest.fixture
def ubuntu(tmp_path: Path) -> ClusterNode:
    """Return a node with Ubuntu 22.04."""
    return ClusterNode(tmp_path, "ubuntu2204")


@pytest.fixture
def amazon_linux(tmp_path: Path) -> ClusterNode:
    """Return a node with Amazon Linux 2023."""
    return ClusterNode(tmp_path, "alinux2023")


@pytest.fixture(scope="session")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a real environment in which nothing but pip is installed."""
    environment = tmp_path_factory.mktemp("environment") / "blank"
    subprocess.run([INTERPRETER, "-m", "venv", environment], check=True)
    return environment
