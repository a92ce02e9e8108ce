"""The training environments of the head node with a real venv and pip, against package indexes on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests.assets.cluster_node import LOCK, STACK, ClusterNode, assert_failed
from tests.assets.package_source import PackageSource, serve, write_wheel
from tests.assets.real_python import COPY_ENVIRONMENT, INTERPRETER, VERSION
from tests.assets.sandbox import Outcome

PINS = dict(pin.split("==") for pin in LOCK["PYTHON_PACKAGES"].strip("()").split())
OTHER_STACK = "native-2.33"
OTHER_PINS = {"neuronx-cc": "2.28.7631.0", "torch-neuronx": "2.14.3.0"}
STEP = f"install the training packages of {STACK}"


@pytest.fixture
def node(source: PackageSource, blank: Path, tmp_path: Path) -> ClusterNode:
    """Return the head node of a cluster with two training stacks.

    Its environments are copies of one that venv has made: venv takes seconds to put pip into each. What neuron-monitor
    needs is there already: it is pinned by the checksums of the real packages. The job kit has tests of its own.
    """
    node = ClusterNode(tmp_path / "node", "ubuntu2204")
    requirements = (node.bucket / "neuron_monitor_requirements.txt").read_text()
    node.write("/apps/slipway/neuron_monitor/python/requirements.txt", requirements)
    node.stub(f"python{VERSION}", f'{COPY_ENVIRONMENT.format(blank=blank)}\nexec {INTERPRETER} "$@"')
    for stack, pins in ((STACK, PINS), (OTHER_STACK, OTHER_PINS)):
        packages = " ".join(f"{name}=={version}" for name, version in pins.items())
        node.lock(
            stack,
            PYTHON_VERSION=VERSION,
            PYTHON_PACKAGES=f"({packages})",
            PYTHON_INDEXES=f"({source.address}/neuron {source.address}/cpu)",
        )
    node.set_stacks(STACK, OTHER_STACK, job_kit="no")
    return node


def set_up(node: ClusterNode, source: PackageSource, **environment: str) -> Outcome:
    """Run the head node's custom action with a PyPI on loopback; pip is not called a second time."""
    once = {"SLIPWAY_PIP_SECONDS": "60", "SLIPWAY_RETRY_PAUSE_SECONDS": "60"}
    own = {"PIP_INDEX_URL": f"{source.address}/pypi", "PIP_CONFIG_FILE": "/dev/null", "PIP_RETRIES": "0"}
    return node.set_up_head(**(once | own | environment))


def installed(node: ClusterNode, name: str) -> dict[str, str]:
    """Return the distributions of an environment on /apps, with their versions."""
    [packages] = (node.root / "apps/neuron" / name / "lib").glob("python*/site-packages")
    found = {package.metadata["Name"]: package.version for package in distributions(path=[str(packages)])}
    return {name: version for name, version in found.items() if name not in ("pip", "setuptools")}


@pytest.fixture
def source(tmp_path: Path) -> Iterator[PackageSource]:
    """Return Neuron's index, with a newer version of everything, PyTorch's for CPUs, and a PyPI with placeholders.

    PyPI's torch wants the libraries of CUDA, which nobody has here: an environment with it is not installed.
    """
    served = tmp_path / "served"
    for pins in (PINS, OTHER_PINS):
        for name, version in pins.items():
            torch = f"torch=={version[:3]}.0"
            write_wheel(served / "neuron", name, version, *([torch] if name == "torch-neuronx" else []))
    for name in PINS:
        write_wheel(served / "neuron", name, "3.0.0.0")
        write_wheel(served / "pypi", name, "99.0.0")
    for version in ("2.9.0", "2.1.0", "99.0.0"):
        write_wheel(served / "pypi", "torch", version, "nvidia-cublas-cu12")
        write_wheel(served / "cpu", "torch", f"{version}+cpu")
    with serve(served) as source:
        yield source


def test_each_stack_gets_exactly_its_pins_and_a_second_run_does_nothing(
    node: ClusterNode, source: PackageSource
) -> None:
    outcome = set_up(node, source)

    assert outcome.status == 0, outcome.stderr
    assert installed(node, STACK) == installed(node, "current") == PINS | {"torch": "2.9.0+cpu"}
    assert installed(node, OTHER_STACK) == OTHER_PINS | {"torch": "2.1.0+cpu"}

    source.requests.clear()
    before = {path: path.lstat().st_mtime_ns for path in (node.root / "apps/neuron").rglob("*")}
    again = set_up(node, source)

    assert again.status == 0, again.stderr
    assert source.requests == []
    assert {path: path.lstat().st_mtime_ns for path in (node.root / "apps/neuron").rglob("*")} == before


def test_version_that_the_index_lacks_is_named_and_the_next_run_repairs_the_environment(
    node: ClusterNode, source: PackageSource
) -> None:
    [wheel] = (source.directory / "neuron" / "neuronx-cc").glob("neuronx_cc-2.23*")
    content = wheel.read_bytes()
    wheel.unlink()

    broken = set_up(node, source)

    assert_failed(broken, STEP, "No matching distribution found for neuronx-cc==2.23.6484.0")
    assert not (node.root / "apps/neuron" / STACK).is_symlink()

    wheel.write_bytes(content)
    node.set_stacks(STACK, job_kit="no")
    repaired = set_up(node, source)

    assert repaired.status == 0, repaired.stderr
    assert installed(node, STACK) == PINS | {"torch": "2.9.0+cpu"}


def test_index_that_does_not_answer_ends_the_set_up_at_the_deadline(node: ClusterNode, source: PackageSource) -> None:
    source.silent.clear()

    outcome = set_up(node, source, SLIPWAY_PIP_SECONDS="1")

    assert_failed(outcome, STEP, "gave up within 1 s")
    assert "last status 124" in outcome.stderr
    assert "torch-neuronx==2.9.0.2.12.22436" in outcome.stderr
