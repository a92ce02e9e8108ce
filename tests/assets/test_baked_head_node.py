"""The head node from a baked image, in a network where only S3 answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuron_constructs.cluster.node_scripts import lock_file, neuron_lock
from slipway import facts
from tests.assets.baking import bake
from tests.assets.cluster_node import JOB_KIT, STACK, ClusterNode, assert_failed
from tests.assets.sandbox import ASSETS, Outcome

SYSTEMS = [("ubuntu2204", "xla-2.28.1"), ("ubuntu2404", "native-2.33"), ("alinux2023", "seed-2.20")]
# Writes a file where packages would be installed: what the archives hold.
PACKAGES = """
case "$*" in
  *python_packages.py*) printf 'torch' >"$2/torch" ;;
  *"-m pip"*requirements.txt) printf 'kit' >"${0%/*}/kit-packages" ;;
esac
"""
# The package that brings a Python which can make environments.
PYTHON = '[[ "$*" != *" install "*python3* ]] || : >"$STATE/venv"'
NETWORK = ("apt-get", "curl", "dnf", "gpg")
WARNING = "but not {name}.tar.gz, which is fetched now: bake an image of this release (slipway docs node-image)"


class Machine(ClusterNode):
    """A machine that bakes an image of an operating system, then boots from it as the head node of a cluster."""

    def __init__(self, directory: Path, operating_system: str = "ubuntu2204", *stacks: str) -> None:
        super().__init__(directory, operating_system)
        self.operating_system = operating_system
        python = facts.operating_system(operating_system).python_version
        self.stub(f"python{python}", self._bodies["python3.10"])
        self.stub("curl", 'while (($#)); do [[ "$1" != --output ]] || : >"$2"; shift; done')
        self.stub_first("venv-python", PACKAGES)
        self.stub_first("dnf" if operating_system == "alinux2023" else "apt-get", PYTHON)
        self.boot_with(*(stacks or (STACK,)))

    def boot_with(self, *stacks: str) -> None:
        """Make these the training stacks of the cluster, with their real pins."""
        requirements = (ASSETS / "jobs/requirements.txt").read_text(encoding="utf-8")
        self.set_job_kit(JOB_KIT | {"requirements.txt": requirements})
        for stack in stacks:
            (self.bucket / lock_file(stack)).write_text(neuron_lock(stack, self.operating_system), encoding="utf-8")
        job_kit = any(facts.training_stack(stack).job_kit for stack in stacks)
        self.set_stacks(*stacks, job_kit="yes" if job_kit else "no")

    def cut_off(self) -> None:
        """Let no request leave the network but those of S3: package managers and pip fail."""
        for command in NETWORK:
            self.stub(command, "exit 1")
        self.stub_first("venv-python", '[[ "$*" != *python_packages.py* && "$*" != *pip* ]] || exit 1')


def fetched(outcome: Outcome) -> list[str]:
    """What the set-up asked a network for, S3 aside."""
    python = [call for call in outcome.calls_of("venv-python") if "python_packages.py" in call or " pip " in call]
    return [*python, *(call for command in NETWORK for call in outcome.calls_of(command))]


@pytest.mark.parametrize(("operating_system", "stack"), SYSTEMS)
def test_a_head_node_of_the_image_is_ready_where_only_s3_answers(
    tmp_path: Path, operating_system: str, stack: str
) -> None:
    machine = Machine(tmp_path, operating_system, stack)
    baked = bake(machine, stack, operating_system=operating_system)
    assert baked.status == 0, baked.stderr
    assert len(fetched(baked)) > 3
    machine.cut_off()

    outcome = machine.set_up_head()

    assert outcome.status == 0, outcome.stderr
    assert fetched(outcome) == []
    assert f"head node ready for {stack} after" in outcome.stdout
    assert machine.read("/apps/neuron/current/torch") == "torch"
    assert machine.read("/apps/slipway/neuron_monitor/python/requirements.txt")
    assert "WARNING" not in outcome.stdout
    assert "NO NEURON METRICS" not in outcome.stderr


def test_a_compute_node_of_the_image_is_ready_too(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    bake(machine)
    machine.add_devices(neuron=16)
    for command in NETWORK:
        if command != "curl":
            machine.stub(command, "exit 1")
    # The instance metadata service is no network.
    machine.stub("curl", ClusterNode(tmp_path / "other", "ubuntu2204")._bodies["curl"])

    outcome = machine.set_up_compute()

    assert outcome.status == 0, outcome.stderr
    assert not [call for call in fetched(outcome) if "169.254.169.254" not in call]


def test_the_image_holds_the_packages_of_all_training_stacks_for_any_head_node(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "ubuntu2404", "native-2.33", STACK)
    assert bake(machine, STACK, "native-2.33", operating_system="ubuntu2404").status == 0
    assert machine.read("/etc/slipway/baked").startswith(f"TRAINING_STACK={STACK}\n")
    machine.cut_off()

    outcome = machine.set_up_head()

    assert outcome.status == 0, outcome.stderr
    assert f"head node ready for native-2.33 {STACK} after" in outcome.stdout


def test_the_job_kit_has_its_own_files_and_the_packages_of_the_image(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    bake(machine)
    machine.cut_off()

    outcome = machine.set_up_head()

    kit = machine.root / "apps/slipway/jobs/current"
    assert (kit / "recipes/tiny.yaml").read_text() == JOB_KIT["recipes/tiny.yaml"]
    assert (kit / "venv/bin/python").is_symlink()
    # Programs beside the interpreter name another folder.
    assert [path.name for path in (kit / "venv/bin").iterdir()] == ["python"]
    assert not list(kit.parent.glob("*/venv.baked"))
    assert outcome.status == 0


def test_a_second_run_unpacks_nothing_and_changes_no_file(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    bake(machine)
    archives = machine.root / "opt/slipway/baked"
    machine.set_up_head()
    archives.rename(tmp_path / "baked")
    before = machine.snapshot()

    outcome = machine.set_up_head()

    assert outcome.status == 0, outcome.stderr
    assert fetched(outcome) == []
    assert machine.snapshot() == before


def test_an_image_of_another_release_warns_and_the_packages_are_fetched(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    bake(machine, "seed-2.20")
    requirements = machine.bucket / "neuron_monitor_requirements.txt"
    requirements.write_text("# another version\n")

    outcome = machine.set_up_head()

    assert outcome.status == 0, outcome.stderr
    environment = (machine.root / "apps/neuron" / STACK).readlink()
    warnings = [line for line in outcome.stdout.splitlines() if "WARNING" in line]
    assert len(warnings) == 3
    assert WARNING.format(name=environment) in warnings[0]
    assert "the image has neuron-monitor-python3.10-" in warnings[0]
    assert [call for call in fetched(outcome) if "python_packages.py" in call]
    assert machine.read("/apps/neuron/current/torch") == "torch"


def test_where_nothing_is_baked_the_log_says_what_is_fetched(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_head()

    assert outcome.stdout.count("no Python packages are baked into the image") == 3
    assert "WARNING" not in outcome.stdout


def test_an_archive_that_cannot_be_unpacked_leaves_nothing_and_is_fetched(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    bake(machine)
    for archive in machine.root.glob("opt/slipway/baked/*"):
        archive.write_bytes(archive.read_bytes()[:-20])

    outcome = machine.set_up_head()

    assert outcome.status == 0, outcome.stderr
    assert outcome.stdout.count("could not be unpacked") == 3
    assert len([call for call in fetched(outcome) if "python" in call]) == 3
    assert not list(machine.root.glob("apps/**/*.baked"))


def test_an_image_does_not_keep_the_packages_of_its_parent(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    bake(machine, "seed-2.20")
    bake(machine)

    names = [path.name for path in machine.root.glob("opt/slipway/baked/*")]
    assert len(names) == 3
    assert not [name for name in names if "seed" in name]


@pytest.mark.parametrize("packages", ["python_packages.py", "neuron_monitor_requirements", "jobs/requirements.txt"])
def test_an_image_without_all_packages_is_not_made(tmp_path: Path, packages: str) -> None:
    machine = Machine(tmp_path)
    machine.stub_first("venv-python", f'[[ "$*" != *{packages}* ]] || exit 1')
    training = packages == "python_packages.py"
    step = f"training packages of {STACK}" if training else "packages of neuron-monitor and the job kit"

    assert_failed(bake(machine, SLIPWAY_PIP_SECONDS="0"), f"bake the {step}", "gave up within 0 s")
