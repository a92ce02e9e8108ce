"""Behaviour of the set-up of the head node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assets.cluster_node import INSTALLER, KERNEL, STACK, ClusterNode, assert_failed
from tests.assets.sandbox import ASSETS, Outcome

ENVIRONMENT = "xla-2.28.1-python3.10-9f4c9dc2"
REQUIREMENTS = "libneuronxla==2.2.15515.0 neuronx-cc==2.23.6484.0 torch-neuronx==2.9.0.2.12.22436"


def installations(outcome: Outcome) -> list[str]:
    calls = [call.split(" ", 1)[1] for call in outcome.calls_of("venv-python")]
    # Those of neuron-monitor and of the job kit have tests of their own.
    return [call for call in calls if "python_packages.py" in call]


def test_training_packages_are_installed_with_exact_versions_on_apps(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_head()

    assert outcome.status == 0, outcome.stderr
    assert installations(outcome) == [
        f"{ubuntu.root}/opt/slipway/cluster/{INSTALLER} {ubuntu.root}/apps/neuron/{ENVIRONMENT} "
        "--source *neuron*=https://pip.repos.neuron.amazonaws.com --source torch=https://other.index "
        f"{REQUIREMENTS}"
    ]
    assert links(ubuntu) == {"current": STACK, STACK: ENVIRONMENT}
    assert "head node ready for xla-2.28.1 after " in outcome.stdout


def links(node: ClusterNode) -> dict[str, str]:
    return {path.name: str(path.readlink()) for path in (node.root / "apps/neuron").iterdir() if path.is_symlink()}


def test_driver_and_runtime_stay_off_the_head_node(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_head()

    assert not [call for call in outcome.calls if "aws-neuronx" in call and "dpkg-query" not in call]
    assert outcome.calls_of("modprobe") == ["modprobe lustre"]


def test_kernel_is_held_on_the_head_node_too(ubuntu: ClusterNode) -> None:
    assert ubuntu.set_up_head().calls_of("apt-mark") == [f"apt-mark hold linux-image-{KERNEL} linux-aws"]


def test_login_shells_get_the_same_profile_as_on_compute_nodes(ubuntu: ClusterNode, tmp_path: Path) -> None:
    compute = ClusterNode(tmp_path / "compute", "ubuntu2204")
    ubuntu.set_up_head()
    compute.set_up_compute()

    profile = "/etc/profile.d/slipway-neuron.sh"
    assert ubuntu.read(profile) == compute.read(profile)


@pytest.mark.parametrize(
    ("operating_system", "packages"),
    [("ubuntu2204", "install python3.10 python3.10-venv"), ("alinux2023", "install python3.10")],
)
def test_python_is_installed_where_it_cannot_make_environments(
    tmp_path: Path, operating_system: str, packages: str
) -> None:
    outcome = ClusterNode(tmp_path, operating_system).set_up_head()

    [install] = [call for call in outcome.calls if " install python" in call]
    assert install.endswith(packages)


def test_python_that_is_there_is_not_installed(ubuntu: ClusterNode) -> None:
    (ubuntu.state / "venv").touch()

    outcome = ubuntu.set_up_head()

    assert outcome.status == 0
    assert outcome.calls_of("apt-get") == []


def test_second_run_installs_nothing_and_changes_no_file(ubuntu: ClusterNode) -> None:
    ubuntu.set_up_head()
    (ubuntu.state / "venv").touch()
    before = ubuntu.snapshot()

    outcome = ubuntu.set_up_head()

    assert outcome.status == 0, outcome.stderr
    assert installations(outcome) == outcome.calls_of("apt-get") == []
    assert ubuntu.snapshot() == before


def test_every_training_stack_of_the_cluster_has_its_environment_and_the_first_is_the_default(
    ubuntu: ClusterNode,
) -> None:
    ubuntu.lock("native-2.33", PYTHON_PACKAGES="(neuronx-cc==2.28.7631.0)")
    ubuntu.set_stacks("native-2.33", STACK)

    outcome = ubuntu.set_up_head()

    assert outcome.status == 0, outcome.stderr
    assert [call.rpartition(" ")[2] for call in installations(outcome)] == [
        "neuronx-cc==2.28.7631.0",
        "torch-neuronx==2.9.0.2.12.22436",
    ]
    found = links(ubuntu)
    assert found.pop("native-2.33").startswith("native-2.33-python3.10-")
    assert found == {"current": "native-2.33", STACK: ENVIRONMENT}


def test_other_pins_of_a_stack_are_built_beside_the_environment_in_use(ubuntu: ClusterNode) -> None:
    ubuntu.set_up_head()
    ubuntu.lock(PYTHON_PACKAGES="(neuronx-cc==2.24.8799.0)")
    ubuntu.stub("venv-python", f'[[ "$(readlink "$ROOT/apps/neuron/{STACK}")" == {ENVIRONMENT} ]]')

    outcome = ubuntu.set_up_head()

    assert outcome.status == 0, "the link moved before the new environment was complete"
    assert "neuronx-cc==2.24.8799.0" in installations(outcome)[0]
    assert (ubuntu.root / "apps/neuron" / ENVIRONMENT / ".requirements").exists()
    assert (ubuntu.root / "apps/neuron" / links(ubuntu)[STACK] / ".requirements").read_text() == (
        "neuronx-cc==2.24.8799.0\n"
    )
    assert links(ubuntu)[STACK] != ENVIRONMENT


def test_installation_that_broke_off_is_not_taken_for_complete(ubuntu: ClusterNode) -> None:
    ubuntu.stub("venv-python", "exit 1")
    outcome = ubuntu.set_up_head()
    assert_failed(outcome, "install the training packages of xla-2.28.1", "torch-neuronx==2.9.0.2.12.22436")
    assert links(ubuntu) == {}

    ubuntu.stub("venv-python")
    assert len(installations(ubuntu.set_up_head())) == 1
    assert links(ubuntu) == {"current": STACK, STACK: ENVIRONMENT}


def test_health_check_and_every_smoke_job_are_in_their_places(ubuntu: ClusterNode) -> None:
    ubuntu.set_up_head()

    assert (ubuntu.root / "opt/slurm/etc/slipway/health_check.sh").stat().st_mode & 0o111
    assert (ubuntu.root / "opt/slurm/etc/scripts/prolog.d/10_slipway_health_check").resolve().exists()
    jobs = {job.name for job in (ASSETS / "cluster" / "smoke").iterdir()}
    assert {job.name for job in (ubuntu.root / "apps/slipway/smoke").iterdir()} == jobs


def test_what_neuron_monitor_needs_is_installed_after_the_training_packages(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_head()

    [*_, training, monitor] = [call for call in outcome.calls_of("venv-python") if "/apps/slipway/jobs/" not in call]
    assert "torch-neuronx" in training
    assert "neuron_monitor_requirements.txt" in monitor
    assert (ubuntu.root / "apps/slipway/neuron_monitor/neuron_metrics.py").exists()


def test_apps_that_is_not_mounted_is_refused(ubuntu: ClusterNode) -> None:
    ubuntu.stub("mountpoint", "exit 1")

    outcome = ubuntu.set_up_head()

    assert outcome.status != 0
    assert "FAILED at step 'check /apps'" in outcome.stderr
    assert outcome.calls_of("mountpoint") == [f"mountpoint -q {ubuntu.root}/apps"]


def test_wrong_python_is_refused(ubuntu: ClusterNode) -> None:
    ubuntu.stub("python3.10", "printf '3.12\\n'")

    outcome = ubuntu.set_up_head()

    assert outcome.status != 0
    assert "python3.10 is Python 3.12, the training packages need 3.10" in outcome.stderr
    assert "FAILED at step 'provide Python for xla-2.28.1'" in outcome.stderr


def test_operating_system_outside_the_release_is_refused(tmp_path: Path) -> None:
    node = ClusterNode(tmp_path, "alinux2023")
    node.lock(OPERATING_SYSTEMS="(ubuntu2204 ubuntu2404)")

    outcome = node.set_up_head()

    assert outcome.status != 0
    assert "xla-2.28.1 runs on ubuntu2204 ubuntu2404, not on alinux2023" in outcome.stderr
