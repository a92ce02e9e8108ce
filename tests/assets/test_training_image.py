"""The parts of the training image, installed in a directory; package managers, downloads and accounts are stubs."""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.assets.cluster_node import STACK, ClusterNode
from tests.assets.sandbox import ASSETS, Outcome

ADDRESS = "https://efa.example.com/installer.tar.gz"
PARTS = ("system", "fabric", "neuron", "training_environment", "job_kit")
# What the image's scripts call beside what the sandbox has.
PROGRAMS = ("cut", "mktemp")
# Accounts are lines of $STATE/passwd.
ACCOUNTS = {
    "getent": 'grep "^[a-z]*:x:$2:" "$STATE/passwd"',
    "userdel": 'sed -i "/^${*: -1}:/d" "$STATE/passwd"',
    "groupadd": "",
    "useradd": 'printf "%s:x:$2:\\n" "${*: -1}" >>"$STATE/passwd"; mkdir -p "$ROOT/home/${*: -1}"',
}
CURL = """
case "$*" in
  *--output*GPG-PUB-KEY*) while [[ "$1" != --output ]]; do shift; done; printf key >"$2" ;;
  *--head*/dists/*) exit 0 ;;
  *https://efa.example.com/*) while [[ "$1" != --output ]]; do shift; done; cp "$STATE/installer.tar.gz" "$2" ;;
  *) exit 99 ;;
esac
"""
INSTALLER = '#!/usr/bin/env bash\nprintf "efa_installer.sh %s\\n" "$*" >>"$STATE/calls"\n[[ ! -e "$STATE/no-efa" ]]\n'


class ImageMachine(ClusterNode):
    """A container of the base image, and the build's context beside it."""

    def __init__(self, directory: Path, operating_system: str = "ubuntu2204") -> None:
        super().__init__(directory, operating_system)
        for name in PROGRAMS:
            program = shutil.which(name)
            assert program, f"the tests need {name}"
            (self.programs / name).symlink_to(program)
        for command, body in ACCOUNTS.items():
            self.stub(command, body)
        self.stub("curl", CURL)
        (self.state / "passwd").write_text("root:x:0:\n", encoding="utf-8")
        self.context = directory / "context"
        self.image = self.context / "kubernetes" / "training_image"
        shutil.copytree(ASSETS / "kubernetes" / "training_image", self.image)
        # The scripts with the lock file.
        shutil.copytree(self.bucket, self.context / "cluster")
        (self.context / "jobs" / "slipway_jobs").mkdir(parents=True)
        (self.context / "jobs" / "slipway_jobs" / "__init__.py").touch()
        (self.context / "jobs" / "requirements-kubernetes.txt").write_text("# nothing\n", encoding="utf-8")
        self.publish_installer(INSTALLER)
        self.write("/etc/ssh/ssh_host_ed25519_key", "the same in every container")

    def publish_installer(self, script: str, checksum: str | None = None) -> None:
        """Serve an EFA installer; its checksum is right unless another one is given."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as tar:
            entry = tarfile.TarInfo("aws-efa-installer/efa_installer.sh")
            entry.size = len(script)
            tar.addfile(entry, io.BytesIO(script.encode()))
        (self.state / "installer.tar.gz").write_bytes(archive.getvalue())
        checksum = checksum or hashlib.sha256(archive.getvalue()).hexdigest()
        (self.image / "efa_release.sh").write_text(
            f"EFA_INSTALLER_ADDRESS={ADDRESS}\nEFA_INSTALLER_SHA256={checksum}\n", encoding="utf-8"
        )

    def install(self, part: str, stack: str = STACK) -> Outcome:
        """Run a step of the Dockerfile."""
        limits = {f"SLIPWAY_{name}_SECONDS": "0" for name in ("PACKAGE", "PIP", "EFA")}
        return self.run(self.image / "install.sh", part, stack, TMPDIR=str(self.state), **limits)


@pytest.fixture
def machine(tmp_path: Path) -> ImageMachine:
    """Return a container of Ubuntu 22.04."""
    return ImageMachine(tmp_path)


def installed(machine: ImageMachine, part: str) -> Outcome:
    """Install a part and expect no trouble."""
    outcome = machine.install(part)
    assert outcome.status == 0, outcome.stderr
    return outcome


def assert_refused(outcome: Outcome, step: str, reason: str) -> None:
    """Check that the build ends, with the step and the reason."""
    assert outcome.status != 0
    assert f"FAILED at step '{step}'" in outcome.stderr
    assert reason in outcome.stderr


def test_the_system_has_python_compiler_and_ssh(machine: ImageMachine) -> None:
    outcome = installed(machine, "system")

    calls = " ".join(outcome.calls_of("apt-get"))
    assert {"g++", "openssh-server", "curl", "python3.10", "python3.10-venv"} <= set(calls.split())


def test_the_user_is_made_with_the_id_that_pods_run_as(machine: ImageMachine) -> None:
    outcome = installed(machine, "system")

    assert outcome.calls_of("groupadd") == ["groupadd --gid 1000 slipway"]
    (made,) = outcome.calls_of("useradd")
    assert "--uid 1000 --gid 1000 --create-home" in made
    # Neither a password nor an account that sshd takes for locked.
    assert "--password * slipway" in made
    assert not outcome.calls_of("userdel")


def test_a_user_of_the_base_image_with_that_id_leaves(machine: ImageMachine) -> None:
    (machine.state / "passwd").write_text("root:x:0:\nubuntu:x:1000:\n", encoding="utf-8")

    outcome = installed(machine, "system")

    assert outcome.calls_of("userdel") == ["userdel --remove ubuntu"]
    assert len(outcome.calls_of("useradd")) == 1


def test_host_keys_of_the_package_are_not_in_the_image(machine: ImageMachine) -> None:
    installed(machine, "system")

    assert not list((machine.root / "etc/ssh").glob("ssh_host_*"))
    assert "HostKey /home/slipway/.ssh/id_rsa" in machine.read("/home/slipway/.sshd_config")
    assert "UserKnownHostsFile /dev/null" in machine.read("/etc/ssh/ssh_config.d/slipway.conf")


def test_efa_is_installed_without_kernel_module_and_with_one_mpi(machine: ImageMachine) -> None:
    outcome = installed(machine, "fabric")

    assert outcome.calls_of("efa_installer.sh") == [
        "efa_installer.sh --yes --skip-kmod --skip-limit-conf --no-verify --mpi=openmpi4"
    ]
    # The archive, and what it unpacked, would be a layer of a hundred megabytes.
    assert not list(machine.state.glob("tmp.*"))


def test_an_installer_that_is_not_the_published_file_never_runs(machine: ImageMachine) -> None:
    machine.publish_installer(INSTALLER, checksum="0" * 64)

    outcome = machine.install("fabric")

    assert_refused(outcome, "install EFA", f"{ADDRESS} is not the file that AWS published")
    assert not outcome.calls_of("efa_installer.sh")


def test_an_installer_that_fails_ends_the_build(machine: ImageMachine) -> None:
    (machine.state / "no-efa").touch()

    assert_refused(machine.install("fabric"), "install EFA", "gave up within 0 s")


def test_the_neuron_packages_are_those_of_a_node_without_its_driver(machine: ImageMachine) -> None:
    outcome = installed(machine, "neuron")

    assert outcome.calls_of("apt-get")[-2].split()[-3:] == [
        "aws-neuronx-collectives=2.30.59.0*",
        "aws-neuronx-runtime-lib=2.30.51.0*",
        "aws-neuronx-tools=2.28.23.0*",
    ]
    assert not outcome.calls_of("dkms") + outcome.calls_of("systemctl") + outcome.calls_of("apt-mark")
    assert "keyrings/neuron.asc] " in machine.read("/etc/apt/sources.list.d/neuron.list")


def test_the_training_environment_is_where_jobs_look_for_it(machine: ImageMachine) -> None:
    outcome = installed(machine, "training_environment")

    environment = machine.root / "apps/neuron" / STACK
    assert re.fullmatch(rf"{STACK}-python3\.10-[0-9a-f]{{8}}", str(environment.readlink()))
    assert (environment / "bin/python").is_symlink()
    assert str((machine.root / "opt/slipway/training-environment").readlink()) == f"/apps/neuron/{STACK}"
    (pip,) = outcome.calls_of("venv-python")
    assert "jobs/slipway_jobs/python_packages.py" in pip
    assert "--source *neuron*=https://pip.repos.neuron.amazonaws.com" in pip
    assert pip.endswith("libneuronxla==2.2.15515.0 neuronx-cc==2.23.6484.0 torch-neuronx==2.9.0.2.12.22436")


def test_the_kit_is_installed_with_checksums_and_has_its_command(machine: ImageMachine) -> None:
    outcome = installed(machine, "job_kit")

    kit = machine.root / "opt/slipway/jobs"
    pip = outcome.calls_of("venv-python")[0]
    assert f"--require-hashes --only-binary :all: --requirement {kit}/requirements-kubernetes.txt" in pip
    assert (kit / "venv/lib/python3.10/site-packages/slipway_job_kit.pth").read_text() == "../../../..\n"
    command = machine.root / "usr/local/bin/slipway-job"
    assert command.stat().st_mode & 0o777 == 0o755
    assert "/opt/slipway/jobs/venv/bin/python -I -m slipway_jobs" in command.read_text(encoding="utf-8")


@pytest.mark.parametrize("part", PARTS)
def test_no_part_leaves_package_lists(machine: ImageMachine, part: str) -> None:
    machine.write("/var/lib/apt/lists/archive_jammy_Packages", "stale by the first pod")

    assert "apt-get clean" in installed(machine, part).calls
    assert not list(machine.root.glob("var/lib/apt/lists/*"))


@pytest.mark.parametrize("part", PARTS[:-1])
def test_a_second_run_changes_nothing(machine: ImageMachine, part: str) -> None:
    installed(machine, part)
    before = machine.snapshot()

    outcome = installed(machine, part)

    assert machine.snapshot() == before
    assert not outcome.calls_of("useradd")


def test_a_package_source_that_is_out_of_reach_ends_the_build(machine: ImageMachine) -> None:
    machine.stub("apt-get", "exit 100")

    assert_refused(machine.install("system"), "install the system's tools", "gave up within 0 s")


def test_a_base_image_that_the_stack_does_not_run_on_is_refused(tmp_path: Path) -> None:
    machine = ImageMachine(tmp_path, "ubuntu2404")
    lock = machine.context / "cluster" / "training_stacks" / f"{STACK}.sh"
    lock.write_text(lock.read_text().replace("(ubuntu2204 ubuntu2404 alinux2023)", "(ubuntu2204)"), encoding="utf-8")

    assert_refused(machine.install("system"), "check the operating system", "not on ubuntu2404")


@pytest.mark.parametrize(("part", "stack"), [("driver", STACK), ("system", "xla-1.0")])
def test_an_unknown_part_or_stack_is_refused(machine: ImageMachine, part: str, stack: str) -> None:
    assert machine.install(part, stack).status != 0
