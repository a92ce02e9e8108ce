"""A machine made of a directory and a PATH: scripts that set up nodes as root run in it and touch nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ASSETS = Path(__file__).parents[2] / "assets"

# Programs that only read and write the files they are given: the real ones. Every other command must be a stub.
HARMLESS_PROGRAMS = [
    "awk",
    "bash",
    "cat",
    "chmod",
    "cmp",
    "cp",
    "date",
    "dirname",
    "find",
    "grep",
    "gzip",
    "ln",
    "mkdir",
    "mv",
    "readlink",
    "rm",
    "sed",
    "sha256sum",
    "sleep",
    "stat",
    "tar",
    "timeout",
    "touch",
    "wc",
    "xargs",
]


@dataclass(frozen=True)
class Outcome:
    """What a script run left behind: status, stdout, stderr, and the stubbed commands in the order of their calls."""

    status: int
    stdout: str
    stderr: str
    calls: list[str]

    def calls_of(self, command: str) -> list[str]:
        """Return the calls of one command, each as ``command argument argument``."""
        return [call for call in self.calls if call.split(" ", 1)[0] == command]


class Sandbox:
    """A file tree below ``root`` and a PATH of stubs.

    A stub writes its name and arguments into a log and then runs its body, a piece of Bash. ``$ROOT`` and ``$STATE`` (a
    directory where stubs remember things between calls) are set for it.
    """

    def __init__(self, directory: Path) -> None:
        self.root = directory / "root"
        self.state = directory / "state"
        self.programs = directory / "bin"
        self._bodies: dict[str, str] = {}
        for folder in (self.root, self.state, self.programs):
            folder.mkdir(parents=True)
        for name in HARMLESS_PROGRAMS:
            program = shutil.which(name)
            assert program, f"the tests need {name}"
            (self.programs / name).symlink_to(program)

    def write(self, path: str, content: str = "") -> Path:
        """Create a file, named as the scripts under test name it, for example ``/etc/hosts``."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        return file

    def read(self, path: str) -> str:
        """Return the content of a file of the tree."""
        return (self.root / path.lstrip("/")).read_text(encoding="utf-8")

    def stub(self, command: str, body: str = "") -> None:
        """Put a stub on the PATH, in the place of an earlier one."""
        self._bodies[command] = body
        bash = self.programs / "bash"
        script = self.programs / command
        # Some names are links to this machine's programs: writing through one would replace the program itself.
        script.unlink(missing_ok=True)
        script.write_text(f'#!{bash}\nprintf "%s\\n" "{command} $*" >>"$STATE/calls"\n{body}\n', encoding="utf-8")
        script.chmod(0o755)

    def stub_first(self, command: str, body: str) -> None:
        """Put a piece of Bash in front of a stub's body."""
        self.stub(command, f"{body}\n{self._bodies[command]}")

    def run(self, script: Path, *arguments: str, **environment: str) -> Outcome:
        """Run a Bash script with nothing of this machine's environment."""
        log = self.state / "calls"
        log.write_text("", encoding="utf-8")
        process = subprocess.run(
            [str(self.programs / "bash"), str(script), *arguments],
            env={
                "PATH": str(self.programs),
                "ROOT": str(self.root),
                "STATE": str(self.state),
                "SLIPWAY_RETRY_PAUSE_SECONDS": "0",
                **environment,
            },
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            # A script may signal its process group, which must not be the tests' own.
            start_new_session=True,
        )
        calls = log.read_text(encoding="utf-8").splitlines()
        return Outcome(process.returncode, process.stdout, process.stderr, calls)

    def snapshot(self) -> dict[str, str]:
        """Return every file of the tree with its content, every link with its target."""
        files = [Path(folder, name) for folder, links, names in os.walk(self.root) for name in [*links, *names]]
        return {
            str(file.relative_to(self.root)): f"-> {file.readlink()}" if file.is_symlink() else file.read_text("utf-8")
            for file in files
            if file.is_symlink() or file.is_file()
        }
