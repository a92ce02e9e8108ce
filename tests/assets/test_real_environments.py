"""The training environments of the head node with a real venv and pip, against package indexes on loopback."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests.assets.cluster_node import LOCK, STACK, ClusterNode, assert_failed
from tests.assets.package_source import PackageSource, serve, write_source, write_wheel
from tests.assets.real_python import COPY_ENVIRONMENT, INTERPRETER, VERSION
from tests.assets.sandbox import Outcome

PINS = dict(pin.split("==") for pin in LOCK["PYTHON_PACKAGES"].strip("()").split())
OTHER_STACK = "native-2.33"
OTHER_PINS = {"neuronx-cc": "2.28.7631.0", "torch-neuronx": "2.14.3.0"}
UV = Path(sys.executable).with_name("uv")
# What Neuron's packages ask for: a package that nobody lists, on Neuron's index, and one of PyPI.
DEPENDENCY = "aws-neuronx-helper"
OTHERS = {DEPENDENCY: "1.0", "numpy": "2.0"}
# What the packages of whoever owns Neuron's names on PyPI ask for.
FOREIGN = "numpy<99"
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
            PYTHON_SOURCES=f"('*neuron*={source.address}/neuron' torch={source.address}/cpu)",
        )
    node.set_stacks(STACK, OTHER_STACK, job_kit="no")
    return node


def set_up(node: ClusterNode, source: PackageSource, **environment: str) -> Outcome:
    """Run the head node's custom action with a PyPI on loopback; pip is not called a second time."""
    once = {"SLIPWAY_PIP_SECONDS": "60", "SLIPWAY_RETRY_PAUSE_SECONDS": "60"}
    own = {"PIP_INDEX_URL": f"{source.address}/pypi", "PIP_CONFIG_FILE": "/dev/null", "PIP_RETRIES": "0"}
    uv = {"SLIPWAY_UV": str(UV), "UV_DEFAULT_INDEX": f"{source.address}/pypi", "UV_HTTP_TIMEOUT": "5"}
    return node.set_up_head(**(once | own | uv | environment))


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
            write_wheel(served / "neuron", name, version, *([torch, DEPENDENCY] if name == "torch-neuronx" else []))
    write_wheel(served / "neuron", DEPENDENCY, "1.0", "numpy")
    write_wheel(served / "pypi", "numpy", "2.0")
    for name in PINS:
        write_wheel(served / "neuron", name, "3.0.0.0")
    # Whoever owns a name on PyPI may offer the very version, too, or a build that sorts higher.
    for name, version in {**PINS, DEPENDENCY: "1.0"}.items():
        for offered in ("99.0.0", version, f"{version}+zzz"):
            write_wheel(served / "pypi", name, offered, FOREIGN)
    write_wheel(served / "neuron", "numpy", "99.0.0")
    write_wheel(served / "cpu", "numpy", "99.0.0")
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
    assert installed(node, STACK) == installed(node, "current") == PINS | OTHERS | {"torch": "2.9.0+cpu"}
    assert installed(node, OTHER_STACK) == OTHER_PINS | OTHERS | {"torch": "2.1.0+cpu"}

    source.requests.clear()
    before = {path: path.lstat().st_mtime_ns for path in (node.root / "apps/neuron").rglob("*")}
    again = set_up(node, source)

    assert again.status == 0, again.stderr
    assert source.requests == []
    assert {path: path.lstat().st_mtime_ns for path in (node.root / "apps/neuron").rglob("*")} == before


def taken_from_pypi(source: PackageSource) -> set[str]:
    return {request.split("/")[2] for request in source.requests if request.startswith("/pypi/")}


def test_no_package_of_neuron_comes_from_pypi(node: ClusterNode, source: PackageSource) -> None:
    """The attack: PyPI has every Neuron name, in the same version and in higher ones."""
    outcome = set_up(node, source)

    assert outcome.status == 0, outcome.stderr
    environment = node.root / "apps/neuron" / STACK
    assert installed(node, STACK) == PINS | OTHERS | {"torch": "2.9.0+cpu"}
    assert not [file for file in environment.glob("lib/*/*/*.dist-info/METADATA") if FOREIGN in file.read_text()]
    assert (environment / "requirements.lock").read_text().count("--hash=sha256:") == len(installed(node, STACK))


def test_no_source_of_pypi_is_built_under_a_name_of_neuron(
    node: ClusterNode, source: PackageSource, tmp_path: Path
) -> None:
    """The one package that is built may be built from Neuron's index alone: building runs its code as root."""
    served, name = source.directory, "aws-neuronx-runtime-discovery"
    for index, version in (("pypi", "99"), ("neuron", "2.9")):
        write_source(served / index, name, version, f"open({str(tmp_path / index)!r}, 'w')")
    write_wheel(served / "neuron", DEPENDENCY, "1.0", "numpy", name)

    outcome = set_up(node, source, SLIPWAY_PIP_SECONDS="20")

    # The tests have no copy of the tools that it is built with, so it stops there.
    assert_failed(outcome, STEP, "gave up within")
    assert "setuptools" in outcome.stderr
    assert f"/neuron/{name}/{name}-2.9.tar.gz" in source.requests
    assert f"/pypi/{name}/{name}-99.tar.gz" not in source.requests
    assert not (tmp_path / "pypi").exists()


@pytest.mark.parametrize("status", [403, 500])
def test_an_index_that_fails_ends_the_set_up_and_pypi_takes_its_place_for_nothing(
    node: ClusterNode, source: PackageSource, status: int
) -> None:
    source.statuses["/neuron/"] = status

    outcome = set_up(node, source, UV_HTTP_RETRIES="0", SLIPWAY_PIP_SECONDS="20")

    assert_failed(outcome, STEP, "gave up within")
    assert f"*neuron* from {source.address}/neuron" in outcome.stderr
    assert not [name for name in taken_from_pypi(source) if "neuron" in name]
    assert not (node.root / "apps/neuron" / STACK).is_symlink()


def test_a_file_that_was_exchanged_on_its_index_is_refused_where_there_is_a_lock(
    node: ClusterNode, source: PackageSource
) -> None:
    assert set_up(node, source).status == 0
    found = node.root / "apps/neuron" / STACK / "requirements.lock"
    locks = node.bucket / "python_locks"
    locks.mkdir(exist_ok=True)
    shutil.copy(found, locks / "stack.txt")
    file = node.bucket / "training_stacks" / f"{STACK}.sh"
    file.write_text(f"{file.read_text()}PYTHON_LOCK=python_locks/stack.txt\n")
    node.set_stacks(STACK, job_kit="no")
    before = (node.root / "apps/neuron" / STACK).readlink()
    locked = set_up(node, source)
    assert locked.status == 0, locked.stderr
    assert (node.root / "apps/neuron" / STACK).readlink() != before
    assert installed(node, STACK) == PINS | OTHERS | {"torch": "2.9.0+cpu"}
    shutil.rmtree((node.root / "apps/neuron" / STACK).resolve())
    write_wheel(source.directory / "neuron", "neuronx-cc", PINS["neuronx-cc"], "numpy>=1")

    exchanged = set_up(node, source)

    assert_failed(exchanged, STEP, "gave up within")
    assert "Hash mismatch for `neuronx-cc==2.23.6484.0`" in exchanged.stderr
    assert "find out who exchanged the file" in exchanged.stderr


def test_version_that_the_index_lacks_is_named_and_the_next_run_repairs_the_environment(
    node: ClusterNode, source: PackageSource
) -> None:
    [wheel] = (source.directory / "neuron" / "neuronx-cc").glob("neuronx_cc-2.23*")
    content = wheel.read_bytes()
    wheel.unlink()

    broken = set_up(node, source)

    assert_failed(broken, STEP, "gave up within")
    assert "uv could not resolve the packages" in broken.stderr
    assert "there is no version of neuronx-cc==2.23.6484.0" in broken.stderr
    assert f"*neuron* from {source.address}/neuron" in broken.stderr
    assert not (node.root / "apps/neuron" / STACK).is_symlink()

    wheel.write_bytes(content)
    node.set_stacks(STACK, job_kit="no")
    repaired = set_up(node, source)

    assert repaired.status == 0, repaired.stderr
    assert installed(node, STACK) == PINS | OTHERS | {"torch": "2.9.0+cpu"}


def test_index_that_does_not_answer_ends_the_set_up_at_the_deadline(node: ClusterNode, source: PackageSource) -> None:
    source.silent.clear()

    outcome = set_up(node, source, SLIPWAY_PIP_SECONDS="3")

    assert_failed(outcome, STEP, "gave up within 3 s")
    assert "last status 124" in outcome.stderr
    assert "torch-neuronx==2.9.0.2.12.22436" in outcome.stderr
