"""Which index each name of a package comes from, and the lock that `make training-lock` writes."""

from __future__ import annotations

import re
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuron_constructs.cluster import node_scripts
from neuron_constructs.cluster.node_scripts import neuron_lock
from slipway import facts
from slipway.training_lock import lock_training_stack
from slipway_jobs import python_packages
from slipway_jobs.exporters import exporters
from slipway_jobs.python_packages import InstallationError, install_packages, write_lock
from tests.assembly import PROJECT
from tests.assets.package_source import PackageSource, serve, write_wheel

NEURON = "https://pip.repos.neuron.amazonaws.com"
SOURCES = [
    *(pytest.param(row.python_sources, row.python_packages, id=name) for name, row in facts.training_stacks().items()),
    *(pytest.param(row.python_sources, row.packages, id=name) for name, row in exporters().items()),
]


@pytest.fixture(autouse=True)
def tests_own_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPWAY_UV", str(Path(sys.executable).with_name("uv")))


@pytest.mark.parametrize(("sources", "packages"), SOURCES)
def test_every_package_of_neuron_comes_from_its_index_alone(
    sources: dict[str, str], packages: dict[str, str], tmp_path: Path
) -> None:
    pins = [f"{name}=={version}" for name, version in packages.items()]
    installation = python_packages.Installation(tmp_path, pins, sources, None)
    installation._write_project()
    project = (tmp_path / "pyproject.toml").read_text()
    bound = dict(re.findall(r'^"([a-z0-9-]+)" = \{ index = "(.+)" \}$', project, re.M))
    addresses = re.findall(r'^url = "(.*)"$', project, re.M)

    neurons = {name.replace("_", "-") for name in packages if "neuron" in name or name == "nki"} - {"optimum-neuron"}
    assert neurons <= bound.keys()
    assert {addresses[int(bound[name].removeprefix("index-"))] for name in neurons} == {NEURON}
    assert project.count("explicit = true") == len(addresses)


def test_uv_is_the_one_that_the_tests_run() -> None:
    locked = (PROJECT / "locks" / "requirements-dev.txt").read_text(encoding="utf-8")
    pin, checksum = python_packages.UV.split()

    assert f"{pin} \\" in locked
    assert checksum in locked


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageSource]:
    served = tmp_path / "served"
    for index in ("neuron", "pypi"):
        write_wheel(served / index, "neuronx-cc", "1.0", *(["numpy"] if index == "neuron" else []))
    write_wheel(served / "pypi", "numpy", "2.0")
    with serve(served) as source:
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"{source.address}/pypi")
        yield source


def test_a_lock_for_the_nodes_python_names_every_package_with_its_checksum(
    source: PackageSource, tmp_path: Path
) -> None:
    file = tmp_path / "lock.txt"
    write_lock(file, ["neuronx-cc==1.0"], {"*neuron*": f"{source.address}/neuron"}, "3.10", "2.35")

    assert re.findall(r"^\S+==\S+", file.read_text(), re.M) == ["neuronx-cc==1.0", "numpy==2.0"]
    assert file.read_text().count("--hash=sha256:") == 2
    assert f"# from {source.address}/neuron" in file.read_text()


def test_the_locks_of_a_stack_are_what_its_nodes_install_and_nothing_else(
    source: PackageSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make training-lock`, the constructs and the nodes agree, and a file that was exchanged later is refused."""
    sources = {"*neuron*": f"{source.address}/neuron"}
    packages = {"neuronx-cc": "1.0"}
    changes = {"python_packages": packages, "job_packages": {}, "python_sources": sources}
    stack = facts.training_stack("xla-2.28.1").model_copy(update=changes)
    monkeypatch.setattr(facts, "training_stack", lambda name: stack)
    monkeypatch.setattr(node_scripts, "_SCRIPTS", tmp_path)

    assert "PYTHON_LOCK=\n" in neuron_lock("xla-2.28.1", "ubuntu2204")
    assert lock_training_stack("xla-2.28.1", tmp_path / "python_locks") == 0

    names = [f"python_locks/xla-2.28.1-python{version}.txt" for version in ("3.10", "3.12")]
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("python_locks/*")) == names
    assert f"PYTHON_LOCK={names[0]}\n" in neuron_lock("xla-2.28.1", "ubuntu2204")
    assert f"PYTHON_LOCK={names[1]}\n" in neuron_lock("xla-2.28.1", "ubuntu2404")

    environment, lock = tmp_path / "environment", tmp_path / names[0]
    venv.create(environment, with_pip=False)
    install_packages(environment, ["neuronx-cc==1.0"], sources, lock)
    assert list(environment.glob("lib/*/site-packages/neuronx_cc-1.0.dist-info"))
    assert not [path for path in environment.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o002]

    write_wheel(source.directory / "neuron", "neuronx-cc", "1.0", "numpy>=1")
    other = tmp_path / "other"
    venv.create(other, with_pip=False)
    with pytest.raises(InstallationError, match="Hash mismatch"):
        install_packages(other, ["neuronx-cc==1.0"], sources, lock)
    assert not list(other.glob("lib/*/site-packages/neuronx_cc*"))


@pytest.mark.parametrize("left_out", ["numpy==2.0", " --hash"])
def test_a_lock_without_a_package_or_its_checksum_is_refused(
    source: PackageSource, tmp_path: Path, left_out: str
) -> None:
    sources = {"*neuron*": f"{source.address}/neuron"}
    lock = tmp_path / "lock.txt"
    write_lock(lock, ["neuronx-cc==1.0"], sources, "3.10", "2.35")
    text = lock.read_text()
    lock.write_text(text[: text.rindex(left_out)].rstrip(" \\\n") + "\n")
    venv.create(tmp_path / "environment", with_pip=False)

    with pytest.raises(InstallationError, match="no trusted hash was provided for: `numpy`"):
        install_packages(tmp_path / "environment", ["neuronx-cc==1.0"], sources, lock)


def test_a_failure_says_what_failed_at_which_index_in_one_line(source: PackageSource, tmp_path: Path) -> None:
    (tmp_path / "environment").mkdir()
    with pytest.raises(InstallationError) as caught:
        install_packages(tmp_path / "environment", ["neuronx-cc==2.0"], {"*neuron*": f"{source.address}/neuron"})

    message = str(caught.value)
    assert message.startswith("uv could not resolve the packages: ")
    assert f"*neuron* from {source.address}/neuron, all others from {source.address}/pypi" in message
    assert "\n" not in message


def test_a_stack_that_does_not_exist_is_named() -> None:
    with pytest.raises(facts.UnknownFact, match="no-such"):
        lock_training_stack("no-such")
