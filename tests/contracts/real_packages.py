"""The real packages of other projects: downloaded once, unpacked, never installed.

`python -m tests.contracts.real_packages` unpacks every package of packages.yaml that is not there yet. A package in
several versions has several rows; each is a directory of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from tests.assembly import PROJECT

PACKAGES = Path(__file__).with_name("packages.yaml")
UNPACKED = PROJECT / ".tools" / "contracts"


class _Package(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str


class PyPi(_Package):
    """A wheel, or the source archive where there is no wheel or it lacks what a test compares."""

    kind: Literal["pypi"]
    version: str
    source: bool = False

    @property
    def directory(self) -> str:
        return f"{self.name}-{self.version}"

    def unpack(self, directory: Path, downloads: Path) -> None:
        binary = "--no-binary" if self.source else "--only-binary"
        _run(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", binary,
             ":all:", "--dest", str(downloads), f"{self.name}=={self.version}")  # fmt: skip
        _extract(downloads, directory)


class Npm(_Package):
    """A package of the npm registry."""

    kind: Literal["npm"]
    version: str

    @property
    def directory(self) -> str:
        return f"{self.name.replace('/', '-').removeprefix('@')}-{self.version}"

    def unpack(self, directory: Path, downloads: Path) -> None:
        _run("npm", "pack", "--loglevel", "error", f"{self.name}@{self.version}", "--pack-destination", str(downloads))
        _extract(downloads, directory)


class Debian(_Package):
    """Packages of Debian or Ubuntu; their files are in `root`, the version of the first in the file `version`."""

    kind: Literal["debian"]
    packages: tuple[str, ...] = Field(min_length=1)

    @property
    def directory(self) -> str:
        return self.name

    def unpack(self, directory: Path, downloads: Path) -> None:
        _run(str(PROJECT / "tests" / "unpack_packages.sh"), str(directory), self.name, *self.packages)


Package = Annotated[PyPi | Npm | Debian, Field(discriminator="kind")]


def packages() -> list[PyPi | Npm | Debian]:
    """Read packages.yaml."""
    return TypeAdapter(list[Package]).validate_python(yaml.safe_load(PACKAGES.read_text()))


def versions(name: str) -> list[str]:
    """The pinned versions of a package of PyPI or npm, in the order of packages.yaml."""
    return [package.version for package in packages() if not isinstance(package, Debian) and package.name == name]


def unpacked(name: str, version: str | None = None) -> Path:
    """Return the directory with the package's files.

    Args:
        name: as packages.yaml has it.
        version: not needed where packages.yaml has one row of that name.

    Raises:
        FileNotFoundError: it is not unpacked.
        LookupError: packages.yaml has no such row, or more than one.
    """
    rows = [row for row in packages() if row.name == name and version in {None, getattr(row, "version", None)}]
    if len(rows) != 1:
        raise LookupError(f"{PACKAGES.name} has {len(rows)} rows for {name} {version or ''}".rstrip())
    directory = UNPACKED / rows[0].directory
    if not directory.is_dir():
        raise FileNotFoundError(f"{name} is not unpacked: run `make test-contracts`")
    return directory


def unpack_all() -> None:
    """Unpack what is missing and remove what packages.yaml no longer names."""
    UNPACKED.mkdir(parents=True, exist_ok=True)
    wanted = {package.directory: package for package in packages()}
    for entry in UNPACKED.iterdir():
        if entry.is_dir() and entry.name not in wanted:
            shutil.rmtree(entry)
    for name, package in wanted.items():
        if (UNPACKED / name).is_dir():
            continue
        with tempfile.TemporaryDirectory(dir=UNPACKED) as work:
            downloads, unfinished = Path(work, "downloads"), Path(work, "unpacked")
            downloads.mkdir()
            package.unpack(unfinished, downloads)
            unfinished.rename(UNPACKED / name)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _extract(downloads: Path, directory: Path) -> None:
    """Unpack the one archive in `downloads`."""
    (archive,) = downloads.iterdir()
    if archive.suffix in {".whl", ".zip"}:
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(directory)
    else:
        with tarfile.open(archive) as source:
            source.extractall(directory, filter="data")


if __name__ == "__main__":
    unpack_all()
