"""AWS Neuron SDK releases: every package that a node installs, pinned, and where the set may be used.

Unpinned Neuron packages mix releases, and a mixed set fails at run time with driver and NEFF version errors. PyPI also
holds placeholder packages of the same names. So a release is one complete set or it has no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

from slipway.facts.rows import FrozenList, FrozenMapping, Row, Text, find, load_rows


class TrainingStack(Row):
    """One release of the Neuron SDK for training nodes.

    Attributes:
        name: Slipway's name of the set: its framework and the SDK release, for example ``xla-2.28.1``.
        release: The SDK's version, for example ``2.28.1``.
        framework: ``xla`` is PyTorch/XLA with NeuronX Distributed, ``native`` is TorchNeuron.
        instance_families: Families (see ``instance_family``) the set supports.
        operating_systems: ParallelCluster operating systems it supports.
        python_versions: Python versions its wheels exist for.
        system_packages: apt and dnf packages with their versions, without the build suffix (install ``NAME=VERSION*``).
        python_packages: pip packages with their exact versions.
        job_packages: pip packages with their exact versions that the job kit's training code needs beside them; empty
            where it does not run. PyTorch is not among them, nor what the Neuron packages pin themselves.
        python_sources: Addresses of package indexes by the pattern of the names that they alone hold, for example
            ``*neuron*``; all other names come from PyPI alone. A name without ``*`` is installed in any case.
        efa_installer: EFA installer the release was tested with, a row of ``efa_installers``; none where the release
            names none. Official ParallelCluster AMIs carry EFA, so only container images install it.
        note: What to know before choosing the set.
    """

    name: Text
    release: Text
    framework: Literal["xla", "native"]
    instance_families: FrozenList[Text]
    operating_systems: FrozenList[Text]
    python_versions: FrozenList[Text]
    system_packages: FrozenMapping[Text]
    python_packages: FrozenMapping[Text]
    job_packages: FrozenMapping[Text]
    python_sources: FrozenMapping[Text]
    efa_installer: Text | None
    note: Text

    @property
    def job_kit(self) -> bool:
        """Whether the job kit's training code runs with the set."""
        return bool(self.job_packages)

    @property
    def driver(self) -> str:
        """Version of the Neuron driver that Slurm nodes install."""
        return self.system_packages["aws-neuronx-dkms"]

    @property
    def runtime(self) -> str:
        """Version of the Neuron runtime library, on Slurm nodes and in the training image alike."""
        return self.system_packages["aws-neuronx-runtime-lib"]


class RuntimeDrivers(Row):
    """The Neuron drivers with which runtime libraries work, from one version of the library up to the next row's.

    With any other driver ``nrt_init()`` fails: every process that wants a NeuronCore ends at its start.

    Attributes:
        name: First runtime library that the row is about, for example ``2.32``.
        driver_from: First driver that works, or None if every older driver works.
        driver_below: First driver that no longer works, or None if no newer driver is known to fail.
    """

    name: Text
    driver_from: Text | None
    driver_below: Text | None

    def has(self, driver: str) -> bool:
        """Whether a driver works with these runtime libraries."""
        version = version_numbers(driver)
        too_old = self.driver_from is not None and version < version_numbers(self.driver_from)
        too_new = self.driver_below is not None and version >= version_numbers(self.driver_below)
        return not (too_old or too_new)

    def __str__(self) -> str:
        """Say which drivers work: ``from 2.27 and below 2.29``."""
        bounds = {"from": self.driver_from, "below": self.driver_below}
        return " and ".join(f"{word} {bound}" for word, bound in bounds.items() if bound is not None)


class OperatingSystem(Row):
    """An operating system of the cluster's nodes, as far as the Neuron packages depend on it.

    Attributes:
        name: ParallelCluster's name, for example ``ubuntu2204``.
        python_version: Version of the ``python3`` that comes with it.
        glibc_version: Version of its C library; PyTorch 2.9 needs 2.35.
        package_manager: Tool that installs system packages.
        neuron_repository: Address of AWS's repository with the Neuron system packages for it.
        neuron_repository_key: Fingerprint of the OpenPGP key that signs it, 40 hexadecimal digits.
        image_builder_image: Name of the maker's x86_64 image among Amazon's images in EC2 Image Builder.
        cluster_user: The user whom all nodes of a cluster know; it may use sudo.
    """

    name: Text
    python_version: Text
    glibc_version: Text
    package_manager: Literal["apt", "dnf"]
    neuron_repository: Text
    neuron_repository_key: Text
    image_builder_image: Text
    cluster_user: Text


@cache
def training_stacks() -> Mapping[str, TrainingStack]:
    """Return every training stack by name."""
    return load_rows(TrainingStack, "training_stacks.yaml")


def training_stack(name: str) -> TrainingStack:
    """Return one training stack.

    Raises:
        UnknownFact: Slipway has no complete set of pinned packages of that name.
    """
    return find("training stack", name, training_stacks())


@cache
def runtime_drivers() -> Mapping[str, RuntimeDrivers]:
    """Return which drivers work with which runtime libraries, by the first library of each row, oldest first."""
    return load_rows(RuntimeDrivers, "runtime_drivers.yaml")


def drivers_for(runtime: str) -> RuntimeDrivers:
    """Return which drivers work with a runtime library.

    Args:
        runtime: Version of the library, for example ``2.30.51.0``.

    Raises:
        UnknownFact: The library is older than every row.
    """
    rows = [row for row in runtime_drivers().values() if version_numbers(row.name) <= version_numbers(runtime)]
    return rows[-1] if rows else find("runtime library", runtime, runtime_drivers())


def driver_problem(driver: str, runtime: str) -> str | None:
    """Return why a driver does not work with a runtime library, in one sentence, or None if it does."""
    drivers = drivers_for(runtime)
    if drivers.has(driver):
        return None
    return f"Neuron driver {driver} with runtime library {runtime}: nrt_init() fails, that library needs one {drivers}"


def version_numbers(version: str) -> tuple[int, ...]:
    """Return a version of digits and points as numbers, which compare as versions do."""
    return tuple(int(number) for number in version.split("."))


@cache
def operating_systems() -> Mapping[str, OperatingSystem]:
    """Return every operating system by ParallelCluster's name for it."""
    return load_rows(OperatingSystem, "operating_systems.yaml")


def operating_system(name: str) -> OperatingSystem:
    """Return one operating system.

    Raises:
        UnknownFact: Slipway does not support it.
    """
    return find("operating system", name, operating_systems())
