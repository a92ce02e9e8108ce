"""The ParallelCluster row against the aws-parallelcluster package of `make judge`, whose code is read and not run."""

import ast
from pathlib import Path
from typing import Any

import pytest

from slipway import facts

ENVIRONMENT = Path(__file__).parents[2] / ".tools" / "parallelcluster"
PACKAGES = sorted(ENVIRONMENT.glob("lib/python*/site-packages/pcluster"))

pytestmark = pytest.mark.skipif(not PACKAGES, reason="make judge has not installed aws-parallelcluster")


def constants(file_name: str) -> dict[str, Any]:
    """Return the literal constants that a module of the package assigns, wherever it does."""
    found: dict[str, Any] = {}
    for node in ast.walk(ast.parse((PACKAGES[0] / file_name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign):
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                continue
            found |= {
                name.id: value for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)
            }
    return found


@pytest.fixture(scope="module")
def release() -> facts.ParallelClusterRelease:
    return facts.parallelcluster_release(constants("constants.py")["COOKBOOK_PACKAGES_VERSIONS"]["parallelcluster"])


def test_cluster_users() -> None:
    users = {name: entry["user"] for name, entry in constants("constants.py")["OS_MAPPING"].items()}

    for name, system in facts.operating_systems().items():
        assert system.cluster_user == users[name]


def test_regions(release: facts.ParallelClusterRelease) -> None:
    supported = (PACKAGES[0] / "resources" / "supported-regions").read_text(encoding="utf-8").split()
    assert sorted(release.regions) == sorted(supported)


def test_operating_systems(release: facts.ParallelClusterRelease) -> None:
    assert set(release.operating_systems) <= set(constants("constants.py")["SUPPORTED_OSES"])


def test_limits(release: facts.ParallelClusterRelease) -> None:
    package = constants("constants.py") | constants("validators/cluster_validators.py")
    assert release.max_queues == package["MAX_NUMBER_OF_QUEUES"]
    assert release.max_compute_resources == package["MAX_COMPUTE_RESOURCES_PER_QUEUE"]
    assert release.max_cluster_name_length == package["PCLUSTER_NAME_MAX_LENGTH"]
    assert release.max_queue_name_length == package["NAME_MAX_LENGTH"]
    assert release.queue_name_pattern == package["NAME_REGEX"].replace(r"\-", "-")
    assert release.max_tags == package["MAX_TAGS_COUNT"]
    assert release.default_root_volume_gib == package["EBS_ROOT_VOLUME_SIZE_DEFAULT"]
    assert release.default_bootstrap_timeout_seconds == package["NODE_BOOTSTRAP_TIMEOUT"]
    assert set(release.reserved_mount_directories) == set(package["reserved_directories"])


def test_lustre_throughputs() -> None:
    allowed = constants("constants.py")["FSX_SSD_THROUGHPUT"]
    for deployment in facts.lustre_deployments().values():
        assert list(deployment.throughputs) == allowed[deployment.name]
