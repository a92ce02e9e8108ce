"""Behaviour of the set-up of the head node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assets.cluster_node import KERNEL, ClusterNode
from tests.assets.sandbox import Outcome

ENVIRONMENT = "/apps/neuron/2.28.1-python3.10"
REQUIREMENTS = "libneuronxla==2.2.15515.0 neuronx-cc==2.23.6484.0 torch-neuronx==2.9.0.2.12.22436"


def pip_calls(outcome: Outcome) -> list[str]:
    return [call.split(" ", 1)[1] for call in outcome.calls_of("venv-python")]


def test_training_packages_are_installed_with_exact_versions_on_apps(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_head()

    assert outcome.status == 0, outcome.stderr
    assert pip_calls(outcome) == [
        "-m pip install --quiet --no-cache-dir --disable-pip-version-check "
        "--extra-index-url https://pip.repos.neuron.amazonaws.com --extra-index-url https://other.index "
        f"{REQUIREMENTS}"
    ]
    assert (ubuntu.root / "apps/neuron/current").readlink() == Path(ENVIRONMENT).relative_to("/apps/neuron")
    assert "head node ready for Neuron 2.28.1 after " in outcome.stdout


def test_driver_and_runtime_stay_off_the_head_node(ubuntu: ClusterNode) -> None:
    outcome = ubuntu.set_up_head()

    assert not [call for call in outcome.calls if "aws-neuronx" in call and "dpkg-query" not in call]
    assert outcome.calls_of("modprobe") == []


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
    assert pip_calls(outcome) == outcome.calls_of("apt-get") == []
    assert ubuntu.snapshot() == before


def test_another_release_is_built_beside_the_one_in_use(ubuntu: ClusterNode) -> None:
    ubuntu.set_up_head()
    ubuntu.lock(NEURON_RELEASE="2.29.1", PYTHON_PACKAGES="(neuronx-cc==2.24.8799.0)")

    outcome = ubuntu.set_up_head()

    assert "neuronx-cc==2.24.8799.0" in pip_calls(outcome)[0]
    assert (ubuntu.root / ENVIRONMENT.lstrip("/") / ".requirements").exists()
    assert str((ubuntu.root / "apps/neuron/current").readlink()) == "2.29.1-python3.10"


def test_installation_that_broke_off_is_not_taken_for_complete(ubuntu: ClusterNode) -> None:
    ubuntu.stub("venv-python", "exit 1")
    outcome = ubuntu.set_up_head()
    assert outcome.status != 0
    assert "FAILED at step 'install the training packages'" in outcome.stderr
    assert not (ubuntu.root / "apps/neuron/current").exists()

    ubuntu.stub("venv-python")
    assert len(pip_calls(ubuntu.set_up_head())) == 1
    assert (ubuntu.root / "apps/neuron/current").exists()


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
    assert "FAILED at step 'provide Python'" in outcome.stderr


def test_operating_system_outside_the_release_is_refused(tmp_path: Path) -> None:
    node = ClusterNode(tmp_path, "alinux2023")
    node.lock(OPERATING_SYSTEMS="(ubuntu2204 ubuntu2404)")

    outcome = node.set_up_head()

    assert outcome.status != 0
    assert "Neuron 2.28.1 runs on ubuntu2204 ubuntu2404, not on alinux2023" in outcome.stderr
