"""Programs of the distribution that nothing installed."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contracts.real_packages import unpacked


@dataclass(frozen=True)
class DebianPrograms:
    """Programs of the unpacked packages, each with the unpacked libraries."""

    root: Path
    links: Path

    def __post_init__(self) -> None:
        # Debian's maintainer scripts make this link (update-alternatives); unpacking runs none.
        for library in self.root.rglob("libpsm_infinipath.so.1.*"):
            (self.links / "libpsm_infinipath.so.1").symlink_to(library)

    def run(self, program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a program; its status is not checked."""
        (file,) = [self.root / folder / program for folder in self._FOLDERS if (self.root / folder / program).exists()]
        libraries = {path.parent for path in self.root.rglob("*.so*")} | {self.links}
        return subprocess.run(
            [file, *arguments],
            env={
                "LD_LIBRARY_PATH": ":".join(sorted(map(str, libraries))),
                "PATH": "/usr/bin:/bin",
                "RPM_CONFIGDIR": str(self.root / "usr/lib/rpm"),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    _FOLDERS = ("usr/bin", "bin", "usr/sbin", "sbin")


@pytest.fixture(scope="session")
def debian(tmp_path_factory: pytest.TempPathFactory) -> DebianPrograms:
    """The programs of packages.yaml's row `debian`."""
    return DebianPrograms(unpacked("debian") / "root", tmp_path_factory.mktemp("libraries"))
