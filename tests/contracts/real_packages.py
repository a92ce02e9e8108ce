"""The real packages of other projects: downloaded once, unpacked, never installed.

`python -m tests.contracts.real_packages` unpacks every package of packages.yaml that is not there yet. A package in
several versions has several rows; each is a directory of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from tests.assembly import PROJECT

PACKAGES = Path(__file__).with_name("packages.yaml")
UNPACKED = PROJECT / ".tools" / "contracts"
_ROW = ".row"


class _Package(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str


class PyPi(_Package):
    """A wheel."""

    kind: Literal["pypi"]
    version: str

    @property
    def directory(self) -> str:
        return f"{self.name}-{self.version}"

    def unpack(self, directory: Path) -> None:
        """Install the wheel alone into the directory: by uv in a second, else by pip, which knows more indexes."""
        options = ("install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target", str(directory))
        wheel = f"{self.name}=={self.version}"
        uv = Path(sys.executable).with_name("uv")
        try:
            _run(str(uv), "pip", *options, "--python", sys.executable, wheel)
        except subprocess.CalledProcessError:
            _run(
                sys.executable, "-m", "pip", *options, "--no-compile", "--upgrade", "--disable-pip-version-check", wheel
            )


class Debian(_Package):
    """Packages of Debian or Ubuntu; their files are in `root`, the version of the first in the file `version`."""

    kind: Literal["debian"]
    packages: tuple[str, ...] = Field(min_length=1)

    @property
    def directory(self) -> str:
        return self.name

    def unpack(self, directory: Path) -> None:
        _run(str(PROJECT / "tests" / "unpack_packages.sh"), str(directory), self.name, *self.packages)


Package = Annotated[PyPi | Debian, Field(discriminator="kind")]


def packages() -> list[PyPi | Debian]:
    """Read packages.yaml."""
    return TypeAdapter(list[Package]).validate_python(yaml.safe_load(PACKAGES.read_text()))


def versions(name: str) -> list[str]:
    """The pinned versions of a package of PyPI, in the order of packages.yaml."""
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
    """Unpack what is missing or has another row than before, and remove what packages.yaml no longer names."""
    UNPACKED.mkdir(parents=True, exist_ok=True)
    wanted = {package.directory: package for package in packages()}
    for entry in UNPACKED.iterdir():
        if entry.is_dir() and not (entry.name in wanted and _row(entry) == wanted[entry.name].model_dump_json()):
            shutil.rmtree(entry)
    for name, package in wanted.items():
        if (UNPACKED / name).is_dir():
            continue
        with tempfile.TemporaryDirectory(dir=UNPACKED) as work:
            unfinished = Path(work, "unpacked")
            package.unpack(unfinished)
            (unfinished / _ROW).write_text(package.model_dump_json(), encoding="utf-8")
            unfinished.rename(UNPACKED / name)


def _row(directory: Path) -> str | None:
    """Return the row that a directory was made from."""
    file = directory / _ROW
    return file.read_text(encoding="utf-8") if file.exists() else None


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    unpack_all()
