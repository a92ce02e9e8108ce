"""Nodes that the tests of the cluster scripts start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assets.cluster_node import ClusterNode


@pytest.fixture
def ubuntu(tmp_path: Path) -> ClusterNode:
    """Return a node with Ubuntu 22.04."""
    return ClusterNode(tmp_path, "ubuntu2204")


@pytest.fixture
def amazon_linux(tmp_path: Path) -> ClusterNode:
    """Return a node with Amazon Linux 2023."""
    return ClusterNode(tmp_path, "alinux2023")
