"""The job kit on the head node with a real venv and pip, a package index on loopback, and its command as a process."""

from __future__ import annotations

import getpass
import hashlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.assets.cluster_node import JOB_KIT, ClusterNode, assert_failed
from tests.assets.package_source import PackageSource, serve, write_wheel
from tests.assets.real_python import COPY_ENVIRONMENT, INTERPRETER, VERSION
from tests.assets.sandbox import ASSETS, Outcome

STEP = "install the job kit"
# The kit's environment is real; those of the training stacks are not what these tests are about.
PYTHON = """
if [[ "$1 $2" == "-m venv" && "$3" == *apps/neuron/* ]]; then
  mkdir -p "$3/bin"
  exec ln -s "$(dirname "$0")/venv-python" "$3/bin/python"
fi
"""
MAIN = """
import sys
from pathlib import Path

import slipway_jobs
import slipway_package

print(Path(slipway_jobs.__file__).parents[1], slipway_package.__name__, *sys.argv[1:])
"""


@pytest.fixture
def source(tmp_path: Path) -> Iterator[PackageSource]:
    """Return an index with one package."""
    write_wheel(tmp_path / "served" / "pypi", "slipway-package", "1.0")
    with serve(tmp_path / "served") as source:
        yield source


@pytest.fixture
def node(source: PackageSource, blank: Path, tmp_path: Path) -> ClusterNode:
    """Return a head node whose kit needs that package."""
    node = ClusterNode(tmp_path / "node", "ubuntu2204")
    copy = COPY_ENVIRONMENT.format(blank=blank)
    node.stub(f"python{VERSION}", f'{PYTHON}\n{copy}\nexec {INTERPRETER} "$@"')
    node.lock(PYTHON_VERSION=VERSION)
    [wheel] = source.directory.rglob("*.whl")
    requirement = f"slipway-package==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    node.set_job_kit(
        JOB_KIT | {"requirements.txt": requirement, "slipway_jobs/__init__.py": "", "slipway_jobs/__main__.py": MAIN}
    )
    return node


def set_up(node: ClusterNode, source: PackageSource) -> Outcome:
    """Run the head node's custom action with a PyPI on loopback; pip is not called a second time."""
    return node.set_up_head(
        SLIPWAY_PIP_SECONDS="60",
        SLIPWAY_RETRY_PAUSE_SECONDS="60",
        PIP_INDEX_URL=f"{source.address}/pypi",
        PIP_CONFIG_FILE="/dev/null",
        PIP_RETRIES="0",
    )


def test_command_runs_with_the_kit_and_its_packages_from_any_folder(
    node: ClusterNode, source: PackageSource, tmp_path: Path
) -> None:
    outcome = set_up(node, source)
    assert outcome.status == 0, outcome.stderr
    node.write("/etc/parallelcluster/cfnconfig", f"cfn_cluster_user={getpass.getuser()}\n")
    # What a user's folder and variables hold must not take the kit's place.
    (tmp_path / "slipway_package.py").write_text("raise SystemExit('not this one')\n")

    command = subprocess.run(
        [node.root / "apps/slipway/bin/slipway-job", "status", "a run"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    kit = (node.root / "apps/slipway/jobs/current").resolve()
    assert (command.returncode, command.stderr) == (0, "")
    assert command.stdout == f"{kit} slipway_package status a run\n"
    # Users cannot write compiled files there: they must be there already.
    assert list(kit.glob("slipway_jobs/__pycache__/__main__.*.pyc"))


def test_package_that_is_not_the_pinned_one_is_refused(node: ClusterNode, source: PackageSource) -> None:
    write_wheel(source.directory / "pypi", "slipway-package", "1.0", "somebody-elses-package")

    assert_failed(set_up(node, source), STEP, "THESE PACKAGES DO NOT MATCH THE HASHES")
    assert not (node.root / "apps/slipway/jobs/current").exists()


def test_every_package_of_the_kit_is_pinned_with_checksums_at_the_version_that_was_asked_for() -> None:
    jobs = ASSETS / "jobs"
    pins = (jobs / "requirements.txt").read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line for line in pins.splitlines() if not line.startswith("#")]
    pinned = {}
    for line in lines:
        match = re.fullmatch(r"([a-z0-9-]+)==(\S+)( ; [a-z_]+ [^\\]+?)?(?:\s+--hash=sha256:[0-9a-f]{64})+", line)
        assert match, line[:120]
        pinned[match[1]] = match[2]
    wanted = re.findall(r"^([A-Za-z0-9.-]+)==(\S+)$", (jobs / "requirements.in").read_text(encoding="utf-8"), re.M)

    assert wanted
    assert {(name.lower().replace(".", "-"), version) for name, version in wanted} <= set(pinned.items())
