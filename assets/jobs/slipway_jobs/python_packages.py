"""Installs the Python packages of an environment with uv: each name from one index, each file by its checksum.

    python_packages.py ENVIRONMENT PACKAGE... [--source PATTERN=ADDRESS]... [--lock FILE]
    python_packages.py FILE PACKAGE... [--source PATTERN=ADDRESS]... --write-lock-for PYTHON_VERSION GLIBC_VERSION

The head node and the training image run it before the job kit is there: it needs nothing but Python.

A name that fits a source's pattern comes from that index alone, also when another package asks for it; all other names
come from PyPI alone. So a package of a higher version elsewhere counts for nothing, and an index that fails ends the
installation. Without a lock the files are those that the indexes have today; their checksums are kept in
ENVIRONMENT/requirements.lock. The variable SLIPWAY_UV names a uv to run in place of the one downloaded.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

UV = "uv==0.13.9 --hash=sha256:d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19\n"
"""uv's wheel for Linux on x86_64."""

SOURCE_PACKAGE = "aws-neuronx-runtime-discovery"
"""The one package that AWS publishes as source only; all others are installed as wheels, whose code does not run."""

BUILD_TOOLS = "setuptools==80.9.0 --hash=sha256:062d34222ad13e0cc312a4c02d73f059e86a4acbfbdea8f8f76b28c99f306922\n"
"""What that package is built with."""

LOCK_FILE = "requirements.lock"
PYPI = "https://pypi.org/simple"
_KEPT_SETTINGS = ("UV_DEFAULT_INDEX", "UV_HTTP_TIMEOUT")
_WORD = re.compile(r"(?<![\w./:@-])[a-z0-9]+(?:[-_.][a-z0-9]+)*(?![\w/:])")
_ENTRY = re.compile(r"^([a-z0-9][a-z0-9._-]*)==", re.MULTILINE)
_ROUNDS = 8


class InstallationError(Exception):
    """The packages were not installed; the message is one line that says what failed, from where, and what to do."""


class Installation:
    """Packages on their way into an environment.

    Args:
        work: folder for what is needed meanwhile; its owner removes it.
        packages: packages as pip takes them, with exact versions.
        sources: addresses of package indexes by the pattern of the names that they alone hold. A name without `*` is
            installed even if no package asks for it. The first pattern that fits decides.
        python: interpreter of the environment.
    """

    def __init__(self, work: Path, packages: Sequence[str], sources: Mapping[str, str], python: Path | None) -> None:
        self.work = work
        self.packages = list(packages)
        self.sources = {pattern.lower(): address for pattern, address in sources.items()}
        self.python = [] if python is None else ["--python", str(python)]
        self.names = {_canonical(re.split(r"[=<>~!\[; ]", package)[0]) for package in packages}
        self.names |= {_canonical(pattern) for pattern in self.sources if "*" not in pattern}

    def resolve(self, lock: Path, *options: str) -> None:
        """Write all packages with their checksums to a file.

        uv binds a name to an index only where the project lists it. So a name that first comes up as another package's
        dependency is listed, too, and all is resolved again.

        Raises:
            InstallationError: an index failed or lacks a version.
        """
        for _ in range(_ROUNDS):
            self._write_project()
            command = ["compile", "--generate-hashes", "--emit-index-annotation", "--no-header", *options]
            result = self._uv(*command, "--output-file", str(lock), "pyproject.toml")
            text = lock.read_text(encoding="utf-8") if result.returncode == 0 else result.stderr
            words = _ENTRY.findall(text) if result.returncode == 0 else _WORD.findall(text.lower())
            unbound = {name for name in map(_canonical, words) if self._address(name)} - self.names
            if not unbound:
                break
            self.names |= unbound
            lock.unlink(missing_ok=True)
        if unbound or result.returncode:
            raise InstallationError(self._problem("resolve", result.stderr, "compare the pins with the index"))

    def install(self, lock: Path) -> None:
        """Install what a lock file lists, nothing else.

        Raises:
            InstallationError: a file has another checksum, or an index failed.
        """
        names = map(_canonical, _ENTRY.findall(lock.read_text(encoding="utf-8")))
        self.names |= {name for name in names if self._address(name)}
        self._write_project()
        locked = ["--require-hashes", "--constraints", str(lock.resolve()), "--requirements", "pyproject.toml"]
        result = self._uv("install", "--compile-bytecode", *locked)
        if result.returncode:
            advice = f"if a checksum differs, find out who exchanged the file before you renew {lock.name}"
            raise InstallationError(self._problem("install", result.stderr, advice))

    def _address(self, name: str) -> str | None:
        return next((address for pattern, address in self.sources.items() if fnmatchcase(name, pattern)), None)

    def _write_project(self) -> None:
        """Write which packages are wanted and which index has which."""
        indexes = {address: f"index-{number}" for number, address in enumerate(dict.fromkeys(self.sources.values()))}
        listed = (*self.packages, *sorted(self.names - {_canonical(item.split("==")[0]) for item in self.packages}))
        bound = {name: address for name in sorted(self.names) if (address := self._address(name))}
        lines = ["[project]", 'name = "environment"', 'version = "0"', f"dependencies = {_array(listed)}"]
        lines += ["[tool.uv.sources]", *(f'"{name}" = {{ index = "{indexes[url]}" }}' for name, url in bound.items())]
        for address, index in indexes.items():
            lines += ["[[tool.uv.index]]", f'name = "{index}"', f'url = "{address}"', "explicit = true"]
        (self.work / "pyproject.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (self.work / "build.txt").write_text(BUILD_TOOLS, encoding="utf-8")

    def _uv(self, verb: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        own = {key: value for key, value in os.environ.items() if not key.startswith("UV_") or key in _KEPT_SETTINGS}
        options = ["--quiet", "--cache-dir", "cache", "--only-binary", ":all:", *self.python]
        # Building runs code: only once the name is bound to its index.
        if SOURCE_PACKAGE in self.names and self._address(SOURCE_PACKAGE):
            options += ["--no-binary", SOURCE_PACKAGE, "--build-constraints", "build.txt"]
        command = [os.environ.get("SLIPWAY_UV") or self._downloaded_uv(), "pip", verb, *options, *arguments]
        result = subprocess.run(
            command, cwd=self.work, env={"UV_DEFAULT_INDEX": PYPI} | own, check=False, stderr=subprocess.PIPE, text=True
        )
        sys.stderr.write(result.stderr)
        return result

    def _downloaded_uv(self) -> str:
        program = self.work / "uv" / "bin" / "uv"
        if not program.exists():
            requirements = self.work / "uv.txt"
            requirements.write_text(UV, encoding="utf-8")
            pip = [self.python[-1] if self.python else sys.executable, "-m", "pip", "install", "--quiet"]
            pip += ["--no-cache-dir", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:"]
            command = [*pip, "--require-hashes", "--target", str(self.work / "uv"), "--requirement", str(requirements)]
            if subprocess.run(command, check=False).returncode:
                raise InstallationError(f"{UV.split(maxsplit=1)[0]} was not installed: does PyPI answer from here?")
        return str(program)

    def _problem(self, doing: str, output: str, advice: str) -> str:
        causes = re.findall(r"^\s*(?:error|cause): (.*)", output, re.MULTILINE) or [output.strip() or "no message"]
        indexes = [f"{pattern} from {address}" for pattern, address in self.sources.items()]
        others = os.environ.get("UV_DEFAULT_INDEX", PYPI)
        return (
            f"uv could not {doing} the packages: {': '.join(causes)} (indexes: {', '.join(indexes)}, all others from "
            f"{others}). Ask that index for the name from here; {advice}."
        )


def install_packages(
    environment: Path, packages: Sequence[str], sources: Mapping[str, str], lock: Path | None = None
) -> None:
    """Install packages into an environment that venv has made; its file `requirements.lock` says what was installed.

    Raises:
        InstallationError: they were not installed; the environment is of no use.
    """
    work = environment / ".work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    installation = Installation(work.resolve(), packages, sources, environment.absolute() / "bin" / "python")
    kept = environment.resolve() / LOCK_FILE
    if lock is None:
        installation.resolve(kept)
    else:
        shutil.copyfile(lock, kept)
    installation.install(kept)
    shutil.rmtree(work)
    # uv's, and writable by everybody.
    (environment / ".lock").unlink(missing_ok=True)


def write_lock(file: Path, packages: Sequence[str], sources: Mapping[str, str], python: str, glibc: str) -> None:
    """Write the lock of an environment on Linux nodes with these versions of Python and glibc, from any machine.

    Raises:
        InstallationError: an index failed or lacks a version.
    """
    platform = ["--python-version", python, "--python-platform", f"x86_64-manylinux_{glibc.replace('.', '_')}"]
    with tempfile.TemporaryDirectory() as work:
        Installation(Path(work), packages, sources, None).resolve(file.resolve(), *platform)


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _array(items: Iterable[str]) -> str:
    return f"[{', '.join(f'{chr(34)}{item}{chr(34)}' for item in items)}]"


def main(arguments: Sequence[str]) -> int:
    """Install what the command line says; 1 if that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--source", action="append", default=[], metavar="PATTERN=ADDRESS")
    parser.add_argument("--lock", type=Path)
    parser.add_argument("--write-lock-for", nargs=2, metavar=("PYTHON_VERSION", "GLIBC_VERSION"))
    options = parser.parse_args(arguments)
    sources = dict(item.split("=", 1) for item in options.source)
    try:
        if options.write_lock_for:
            write_lock(options.target, options.packages, sources, *options.write_lock_for)
        else:
            install_packages(options.target, options.packages, sources, options.lock)
    except InstallationError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
