"""The set-up of a compute node with a real apt and dpkg, against a signed repository on loopback."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pysequoia import Tsk

from neuron_constructs.cluster.image_build import bake_script
from slipway import facts
from tests.assets.cluster_node import KERNEL, LOCK, STACK, assert_failed
from tests.assets.package_source import (
    REPOSITORY_KEY,
    Deb,
    build_deb,
    serve,
    write_apt_repository,
)
from tests.assets.real_packages_node import HEADERS, NODE_PACKAGES, PINS, SUFFIX, RealPackagesNode, neuron_debs
from tests.assets.sandbox import ASSETS

NEWER = "99.0.0.0"
STEP = "install the Neuron packages"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with Neuron's repository, where every package has a newer version too, and with Ubuntu's."""
    directory = tmp_path_factory.mktemp("packages")
    key = Tsk.generate("Neuron <neuron@example.com>")
    debs = [
        neuron_debs(directory / name, pins) for name, pins in (("pinned", PINS), ("newer", dict.fromkeys(PINS, NEWER)))
    ]
    write_apt_repository(directory / "served" / "neuron", "jammy", [*debs[0], *debs[1]], key)
    write_apt_repository(
        directory / "served" / "ubuntu", "jammy", [build_deb(Deb(HEADERS, "6.8.0"), directory / "ubuntu")], key
    )
    return directory / "served"


@pytest.fixture
def node(packages: Path, tmp_path: Path) -> Iterator[RealPackagesNode]:
    """Return a node in front of a copy of the repositories, which the test may break."""
    shutil.copytree(packages, tmp_path / "served")
    with serve(tmp_path / "served") as source:
        yield RealPackagesNode(tmp_path / "node", source)


def pinned() -> dict[str, str]:
    return {name: f"{version}{SUFFIX}" for name, version in NODE_PACKAGES.items()}


def neuron(installed: dict[str, str]) -> dict[str, str]:
    return {name: version for name, version in installed.items() if "neuronx" in name}


def test_first_run_installs_and_holds_exactly_the_pinned_versions(node: RealPackagesNode) -> None:
    outcome = node.set_up()

    assert outcome.status == 0, outcome.stderr
    assert neuron(node.installed()) == pinned()
    assert node.held() == {*pinned(), HEADERS, f"linux-image-{KERNEL}"}
    assert not [request for request in node.source.requests if NEWER in request]

    upgrade = node.run_apt("-y", "dist-upgrade")
    assert upgrade.status == 0, upgrade.stderr
    assert neuron(node.installed()) == pinned()


def test_ubuntu_without_a_suite_of_its_own_installs_the_pins_from_an_older_one(
    node: RealPackagesNode, tmp_path: Path
) -> None:
    noble = RealPackagesNode(tmp_path / "noble", node.source, "ubuntu2404")

    outcome = noble.set_up()

    assert outcome.status == 0, outcome.stderr
    assert neuron(noble.installed()) == pinned()
    assert "no suite noble in " in outcome.stderr


def test_second_run_asks_no_package_source_and_writes_no_file(node: RealPackagesNode) -> None:
    node.set_up()
    node.source.requests.clear()
    before = node.modification_times()

    outcome = node.set_up()

    assert outcome.status == 0, outcome.stderr
    assert node.source.requests == []
    assert node.modification_times() == before


def test_other_pins_move_held_packages(node: RealPackagesNode) -> None:
    node.set_up()
    pins = " ".join(f"{name}={NEWER}" for name in PINS)
    node.pin(SYSTEM_PACKAGES=f"({pins})")

    outcome = node.set_up()

    assert outcome.status == 0, outcome.stderr
    assert neuron(node.installed()) == dict.fromkeys(NODE_PACKAGES, f"{NEWER}{SUFFIX}")
    assert set(NODE_PACKAGES) <= node.held()


@pytest.mark.parametrize("fault", ["no-compiler", "cut-off"])
def test_installation_that_broke_off_is_repaired_by_the_next_run(node: RealPackagesNode, fault: str) -> None:
    (node.state / fault).touch()
    broken = node.set_up()
    (node.state / fault).unlink(missing_ok=True)
    assert_failed(broken, STEP, "aws-neuronx-dkms=2.26.10.0*")
    assert "aws-neuronx-dkms" not in node.installed()

    outcome = node.set_up()

    assert outcome.status == 0, outcome.stderr
    assert neuron(node.installed()) == pinned()


def test_repository_that_lacks_a_pinned_version_is_named_and_no_other_version_taken(node: RealPackagesNode) -> None:
    pins = LOCK["SYSTEM_PACKAGES"].replace("tools=2.28.23.0", "tools=2.28.24.0")
    node.pin(SYSTEM_PACKAGES=pins)

    outcome = node.set_up()

    assert_failed(outcome, STEP, "Version '2.28.24.0*' for 'aws-neuronx-tools' was not found")
    assert neuron(node.installed()) == {}


def test_repository_that_somebody_else_signed_is_refused(node: RealPackagesNode, tmp_path: Path) -> None:
    """They may bring their key with it: what is signed and the key come from the same address."""
    served = node.source.directory / "neuron"
    pin = (served / "fingerprint").read_text()
    shutil.rmtree(served)
    stranger = Tsk.generate("Neuron <neuron@example.com>")
    write_apt_repository(served, "jammy", neuron_debs(tmp_path / "theirs", PINS), stranger)
    (served / "fingerprint").write_text(pin)

    outcome = node.set_up()

    assert_failed(
        outcome, STEP, f"has the fingerprint '{stranger.extract_certificate().fingerprint.upper()}', not {pin}"
    )
    assert neuron(node.installed()) == {}
    assert not (node.root / "etc/apt/keyrings/neuron.asc").exists()


@pytest.mark.parametrize("content", ["", "no key", "two keys"])
def test_file_that_is_not_the_pinned_key_alone_is_refused(node: RealPackagesNode, content: str) -> None:
    file = node.source.directory / "neuron" / REPOSITORY_KEY
    two = file.read_text() + str(Tsk.generate("Somebody else <else@example.com>").extract_certificate())
    file.write_text(two if content == "two keys" else content)

    assert_failed(node.set_up(), STEP, "nothing is installed from there")
    assert neuron(node.installed()) == {}


def test_package_that_cannot_be_fetched_is_named(node: RealPackagesNode) -> None:
    [package] = (node.source.directory / "neuron/pool").glob("aws-neuronx-collectives_2.30*")
    package.unlink()

    assert_failed(node.set_up(), STEP, "aws-neuronx-collectives_2.30.59.0-838c7fc8b_all.deb  404")


def test_package_that_was_changed_after_signing_is_refused(node: RealPackagesNode) -> None:
    [package] = (node.source.directory / "neuron/pool").glob("aws-neuronx-tools_2.28*")
    package.write_bytes(package.read_bytes().replace(b"#!/bin/sh", b"#!/bin/ss"))

    assert_failed(node.set_up(), STEP, "Hash Sum mismatch")
    assert neuron(node.installed()) == {}


def test_source_that_does_not_answer_ends_the_set_up_at_its_deadline(node: RealPackagesNode) -> None:
    node.source.silent.clear()

    outcome = node.set_up(SLIPWAY_SETUP_SECONDS="2")

    assert_failed(
        outcome, "install the kernel headers", f"of the set-up, last status 124: bash -c apt_install '{HEADERS}'"
    )


def test_node_of_a_baked_image_asks_no_package_source(node: RealPackagesNode) -> None:
    official = facts.operating_system("ubuntu2204").neuron_repository
    script = bake_script(ASSETS / "cluster", (STACK,), "ubuntu2204").replace(official, f"{node.source.address}/neuron")
    key = (node.source.directory / "neuron" / "fingerprint").read_text()
    script = script.replace(facts.operating_system("ubuntu2204").neuron_repository_key, key)
    # The repositories hold no Python: Ubuntu's own can make environments.
    (node.state / "venv").touch()
    # What the real one installs: tests/contracts/test_security_updates.py.
    node.stub("unattended-upgrade", "")
    baked = node.run(node.write("/bake.sh", script), SLIPWAY_PACKAGE_SECONDS="60")
    assert baked.status == 0, baked.stderr
    assert not list(node.root.glob("var/lib/apt/lists/*Packages*"))
    node.source.requests.clear()

    outcome = node.set_up()

    assert outcome.status == 0, outcome.stderr
    assert node.source.requests == []
    assert neuron(node.installed()) == pinned()
