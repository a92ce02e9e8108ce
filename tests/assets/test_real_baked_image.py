"""An image baked with a real venv, pip and uv; the head node that boots from it asks no package index."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuron_constructs.cluster.image_build import bake_script
from neuron_constructs.cluster.node_scripts import neuron_lock
from tests.assets.baking import run_bake
from tests.assets.cluster_node import JOB_KIT, STACK, ClusterNode
from tests.assets.package_source import PackageSource, serve, write_wheel
from tests.assets.real_python import COPY_ENVIRONMENT, INTERPRETER, VERSION
from tests.assets.sandbox import ASSETS

UV = Path(sys.executable).with_name("uv")
PROGRAM = "neuronx-cc"
KIT_MODULE = "import slipway_package; print(slipway_package.__file__)"


@pytest.fixture
def source(tmp_path: Path) -> Iterator[PackageSource]:
    """Return Neuron's index and a PyPI, with one package each and what they need."""
    served = tmp_path / "served"
    write_wheel(served / "neuron", "neuronx-cc", "2.0", "numpy", program=PROGRAM)
    write_wheel(served / "pypi", "numpy", "2.0")
    for name in ("slipway-package", "prometheus-client"):
        write_wheel(served / "pypi", name, "1.0")
    with serve(served) as source:
        yield source


@pytest.fixture
def node(source: PackageSource, blank: Path, tmp_path: Path) -> ClusterNode:
    """Return a machine whose stack, kit and monitor need packages of these indexes."""
    node = ClusterNode(tmp_path / "node", "ubuntu2204")
    node.stub(f"python{VERSION}", f'{COPY_ENVIRONMENT.format(blank=blank)}\nexec {INTERPRETER} "$@"')
    node.lock(
        PYTHON_VERSION=VERSION,
        PYTHON_PACKAGES="(neuronx-cc==2.0)",
        PYTHON_SOURCES=f"('*neuron*={source.address}/neuron')",
    )
    (node.bucket / "neuron_monitor_requirements.txt").write_text(pinned(source, "prometheus-client"))
    node.set_job_kit(JOB_KIT | {"requirements.txt": pinned(source, "slipway-package")})
    return node


def pinned(source: PackageSource, name: str) -> str:
    [wheel] = source.directory.glob(f"pypi/{name}/*.whl")
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


def script_of(node: ClusterNode) -> str:
    """Return the script that bakes, with the machine's pins in the place of the real ones."""
    script = bake_script(ASSETS / "cluster", (STACK,), "ubuntu2204")
    replaced = {
        neuron_lock(STACK, "ubuntu2204"): (node.bucket / f"training_stacks/{STACK}.sh").read_text(),
        (ASSETS / "jobs/requirements.txt").read_text(): (node.bucket / "jobs/requirements.txt").read_text(),
        (ASSETS / "cluster/neuron_monitor_requirements.txt").read_text(): (
            node.bucket / "neuron_monitor_requirements.txt"
        ).read_text(),
    }
    for real, own in replaced.items():
        assert real in script
        script = script.replace(real, own)
    return script


def output(*command: Path | str) -> str:
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return process.stdout


def test_what_was_baked_runs_from_its_place_on_apps_without_an_index(node: ClusterNode, source: PackageSource) -> None:
    indexes = {"PIP_INDEX_URL": f"{source.address}/pypi", "PIP_CONFIG_FILE": "/dev/null", "SLIPWAY_UV": str(UV)}
    indexes |= {"UV_DEFAULT_INDEX": f"{source.address}/pypi", "SLIPWAY_PIP_SECONDS": "60"}
    baked = run_bake(node, script_of(node), **indexes)
    assert baked.status == 0, baked.stderr
    assert {request.split("/")[2] for request in source.requests} > {"neuronx-cc", "slipway-package"}
    assert not list(node.root.glob("apps/*"))
    source.requests.clear()

    outcome = node.set_up_head(**indexes)

    assert outcome.status == 0, outcome.stderr
    assert source.requests == []
    environment = node.root / "apps/neuron/current"
    real = environment.resolve()
    assert output(environment / "bin/python", "-c", "import neuronx_cc, sys; print(sys.prefix)") == f"{environment}\n"
    # A program beside the interpreter names the environment's own place.
    assert f"{real}/bin/python" in (real / "bin" / PROGRAM).read_text()
    assert output(real / "bin" / PROGRAM) == ""
    # Users cannot write compiled files there: those of the image must be valid still.
    assert re.search(r"neuronx_cc\S*\.pyc matches", output(real / "bin/python", "-v", "-c", "import neuronx_cc"))
    kit = (node.root / "apps/slipway/jobs/current").resolve()
    assert output(kit / "venv/bin/python", "-c", KIT_MODULE).startswith(f"{kit}/venv/lib/")
    assert (node.root / "apps/slipway/neuron_monitor/python/prometheus_client.py").exists()
