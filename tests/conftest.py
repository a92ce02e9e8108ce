"""What all tests share. Synth is slow, so each environment is synthesized once in a session."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path

import botocore.session
import moto.settings
import pytest

# The CDK's built-in template validation costs seconds in every process; the gate tests switch it on where it counts.
os.environ.setdefault("CDK_VALIDATION", "false")

from tests.assembly import ENVIRONMENTS, OWN_STORAGE_ENVIRONMENTS, SLURM_ENVIRONMENTS, Assembly, load, synthesize

# moto makes 1,300 machine images with their snapshots in each new account and Region, for 0.25 s each time. Not by its
# environment variable, which the emulator and the judge would inherit: they have their own processes.
moto.settings.ec2_load_default_amis = lambda: False

# Each boto3 session reads the models of its services from disk, 0.2 s for EC2's. Here all sessions share one loader.
botocore.session.create_loader = cache(botocore.session.create_loader)

# The CDK, moto and botocore keep millions of objects: to search them for circles took a quarter of the tests' time.
gc.set_threshold(100_000, 20, 100)

_SLOW_FOLDERS = ("gates", "emulator", "assets", "jobs", "endpoint", "iam", "config")
"""Their files start other programs, or take long with few tests (tests/durations.md)."""

AssemblyFactory = Callable[[str], Assembly]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes long: workers take file after file, and none is left alone with a long one at the end."""
    tests = config.rootpath / "tests"

    @cache
    def is_quick(file: Path) -> bool:
        return not any(file.is_relative_to(tests / folder) for folder in _SLOW_FOLDERS)

    items.sort(key=lambda item: is_quick(item.path))


@pytest.fixture
def heard_ctrl_c() -> Iterator[None]:
    """Ctrl-C interrupts: a shell's background job, which the tests may be, is born deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def assemblies(tmp_path_factory: pytest.TempPathFactory) -> AssemblyFactory:
    """Return the assembly of an environment by name, synthesized by the first worker that asks for it.

    Tests only read an assembly: another worker's tests do, too.
    """
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "assemblies"
    shared.mkdir(exist_ok=True)

    @cache
    def assembly(name: str) -> Assembly:
        with (shared / f"{name}.lock").open("w") as lock:
            flock(lock, LOCK_EX)
            written, folder = shared / f"{name}.written", shared / name
            if not written.exists():
                synthesize(load(name), folder)
                written.touch()
        return Assembly(load(name), folder)

    return assembly


@pytest.fixture(scope="session", params=ENVIRONMENTS)
def each_assembly(request: pytest.FixtureRequest, assemblies: AssemblyFactory) -> Assembly:
    """Every environment in turn, the variants for tests included."""
    return assemblies(request.param)


@pytest.fixture(scope="session", params=OWN_STORAGE_ENVIRONMENTS)
def each_own_storage(request: pytest.FixtureRequest, assemblies: AssemblyFactory) -> Assembly:
    """Every environment whose file systems and buckets are all Slipway's."""
    return assemblies(request.param)


@pytest.fixture(scope="session", params=SLURM_ENVIRONMENTS)
def each_slurm_assembly(request: pytest.FixtureRequest, assemblies: AssemblyFactory) -> Assembly:
    """Every environment with a Slurm cluster in turn."""
    return assemblies(request.param)


@pytest.fixture(scope="session")
def default(assemblies: AssemblyFactory) -> Assembly:
    """The default environment."""
    return assemblies("default")


@pytest.fixture(scope="session")
def small(assemblies: AssemblyFactory) -> Assembly:
    """The small environment."""
    return assemblies("small")


@pytest.fixture(scope="session")
def public(assemblies: AssemblyFactory) -> Assembly:
    """The variant with a public endpoint."""
    return assemblies("public")


@pytest.fixture(scope="session")
def apikey(assemblies: AssemblyFactory) -> Assembly:
    """The variant with an API key."""
    return assemblies("apikey")


@pytest.fixture(scope="session")
def ultracluster(assemblies: AssemblyFactory) -> Assembly:
    """The UltraCluster environment."""
    return assemblies("ultracluster")


@pytest.fixture(scope="session")
def team(assemblies: AssemblyFactory) -> Assembly:
    """The environment that a team shares."""
    return assemblies("team")


@pytest.fixture(scope="session")
def directory(assemblies: AssemblyFactory) -> Assembly:
    """The variant with users from a directory and data that stays."""
    return assemblies("directory")


@pytest.fixture(scope="session")
def machines(assemblies: AssemblyFactory) -> Assembly:
    """The variant whose clients are machines of a user pool."""
    return assemblies("machines")


@pytest.fixture(scope="session")
def trainium2(assemblies: AssemblyFactory) -> Assembly:
    """The variant whose host has Trainium2."""
    return assemblies("trainium2")


@pytest.fixture(scope="session")
def rolledout(assemblies: AssemblyFactory) -> Assembly:
    """The variant with a rolled-out model, its canary and a copy of its image."""
    return assemblies("rolledout")
