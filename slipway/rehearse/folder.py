"""The folder that a rehearsal lives in: everything it writes is in here."""

import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

_LOCK = "lock"


class FolderUnusableError(Exception):
    """The folder cannot be used: another rehearsal runs in it, or it holds someone else's files."""


@dataclass(frozen=True)
class RunFolder:
    """Where things are in the folder of one environment's rehearsal."""

    root: Path

    @property
    def report(self) -> Path:
        """The report as JSON."""
        return self.root / "report.json"

    @property
    def text_report(self) -> Path:
        """All of the report as text."""
        return self.root / "report.txt"

    @property
    def page(self) -> Path:
        """All of the report as an HTML page."""
        return self.root / "report.html"

    @property
    def assembly(self) -> Path:
        """Cloud assembly of the environment."""
        return self.root / "assembly"

    @property
    def changed_environment(self) -> Path:
        """The edited copy of the environment file."""
        return self.root / "changed.yaml"

    @property
    def changed_assembly(self) -> Path:
        """Cloud assembly of the edited copy."""
        return self.root / "assembly-changed"

    @property
    def emulator(self) -> Path:
        """The emulator's own folder."""
        return self.root / "emulator"

    @property
    def permissions(self) -> Path:
        """What the emulator decided about permissions."""
        return self.emulator / "permissions.jsonl"

    @property
    def home(self) -> Path:
        """HOME of every child."""
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        """TMPDIR of every child."""
        return self.root / "tmp"

    @property
    def outputs(self) -> Path:
        """Stack outputs as the CDK CLI writes them."""
        return self.root / "outputs.json"

    @property
    def jsii_cache(self) -> Path:
        """Unpacked jsii packages, shared by the environments beside this one; jsii locks it by itself."""
        return self.root.parent / "jsii-package-cache"

    def log(self, name: str) -> Path:
        """Log file of one phase."""
        return self.root / "logs" / f"{name}.log"


class LockedFolder:
    """A run folder that belongs to this process, emptied of what an earlier run left.

    The lock is the kernel's and goes with the process, so a run that was killed leaves none behind.
    """

    def __init__(self, folder: RunFolder) -> None:
        """Prepare to take the folder; `with` takes it."""
        self._folder = folder

    def __enter__(self) -> Self:
        """Lock and empty the folder.

        Raises:
            FolderUnusableError: another rehearsal runs in it, or it is not a rehearsal's folder.
        """
        root = self._folder.root
        lock = root / _LOCK
        if root.exists() and (not root.is_dir() or (any(root.iterdir()) and not lock.exists())):
            raise FolderUnusableError(f"{root} holds files that no rehearsal made; choose another --directory")
        root.mkdir(parents=True, exist_ok=True)
        self._file = lock.open("a+", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.seek(0)
            owner = self._file.read().strip()
            self._file.close()
            raise FolderUnusableError(
                f"another rehearsal (process {owner}) is running in {root}; wait for it or choose another --directory"
            ) from error
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()
        self._empty()
        return self

    def _empty(self) -> None:
        for entry in self._folder.root.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name != _LOCK:
                entry.unlink()
        self._folder.home.mkdir()
        self._folder.temporary.mkdir()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the folder free; its files stay for whoever wants to read them."""
        self._file.close()
