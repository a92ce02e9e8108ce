"""Package sources on loopback: an apt repository of tiny packages, signed as AWS signs its own, and a Python index."""

from __future__ import annotations

import base64
import hashlib
import io
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from pysequoia import SignatureMode, Tsk, sign

REPOSITORY_KEY = "GPG-PUB-KEY-AMAZON-AWS-NEURON.PUB"


@dataclass(frozen=True)
class Deb:
    """A Debian package with nothing but what its node set-up can see.

    Attributes:
        name: Package name.
        version: Version with its build suffix.
        programs: Absolute paths of programs that it brings.
        postinst: Shell code that dpkg runs when it configures the package.
    """

    name: str
    version: str
    programs: tuple[str, ...] = ()
    postinst: str = ""


@dataclass
class PackageSource:
    """A directory that is served; what was asked for is in `requests`. `statuses` are errors by beginning of a path."""

    directory: Path
    address: str
    requests: list[str] = field(default_factory=list)
    silent: threading.Event = field(default_factory=threading.Event)
    statuses: dict[str, int] = field(default_factory=dict)


class _Handler(SimpleHTTPRequestHandler):
    source: PackageSource

    def do_GET(self) -> None:
        self.source.requests.append(self.path)
        # A source that answers nothing: the client has to give up. The test lets the thread go at its end.
        self.source.silent.wait()
        for beginning, status in self.source.statuses.items():
            if self.path.startswith(beginning):
                self.send_error(status)
                return
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        pass


@contextmanager
def serve(directory: Path) -> Iterator[PackageSource]:
    """Serve a directory on a free loopback port."""
    handler = type("Handler", (_Handler,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(directory))) as server:
        server.daemon_threads = True
        source = PackageSource(directory, f"http://127.0.0.1:{server.server_port}")
        source.silent.set()
        handler.source = source  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield source
        finally:
            source.silent.set()
            server.shutdown()
            thread.join()


def build_deb(deb: Deb, directory: Path) -> Path:
    """Build a package with the real dpkg-deb."""
    tree = directory / f"{deb.name}_{deb.version}"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(
        f"Package: {deb.name}\nVersion: {deb.version}\nArchitecture: all\n"
        "Maintainer: Slipway's tests <tests@example.com>\nDescription: stands for the real package\n"
    )
    if deb.postinst:
        script = tree / "DEBIAN" / "postinst"
        script.write_text(f"#!/bin/sh\nset -e\n{deb.postinst}\n")
        script.chmod(0o755)
    for name in deb.programs:
        program = tree / name.lstrip("/")
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    file = directory / f"{deb.name}_{deb.version}_all.deb"
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, file], check=True, stdout=subprocess.DEVNULL
    )
    return file


def write_apt_repository(directory: Path, suite: str, files: Sequence[Path], key: Tsk, origin: str = "tests") -> None:
    """Write a repository with one component, its index signed in line, the public key and its fingerprint beside it."""
    pool, suite_directory = directory / "pool", directory / "dists" / suite
    pool.mkdir(parents=True)
    stanzas = []
    for file in files:
        content = file.read_bytes()
        (pool / file.name).write_bytes(content)
        control = subprocess.run(["dpkg-deb", "--field", file], check=True, capture_output=True, text=True).stdout
        digest = hashlib.sha256(content).hexdigest()
        stanzas.append(f"{control}Filename: pool/{file.name}\nSize: {len(content)}\nSHA256: {digest}\n")
    index = suite_directory / "main" / "binary-amd64" / "Packages"
    index.parent.mkdir(parents=True)
    index.write_text("\n".join(stanzas))
    packages = index.read_bytes()
    release = (
        f"Origin: {origin}\nSuite: {suite}\nCodename: {suite}\nArchitectures: amd64\nComponents: main\n"
        "Date: Sat, 21 Nov 2026 00:00:00 UTC\nSHA256:\n"
        f" {hashlib.sha256(packages).hexdigest()} {len(packages)} main/binary-amd64/Packages\n"
    )
    (suite_directory / "InRelease").write_bytes(sign(key.signer(), release.encode(), mode=SignatureMode.CLEAR))
    (directory / REPOSITORY_KEY).write_text(str(key.extract_certificate()))
    (directory / "fingerprint").write_text(key.extract_certificate().fingerprint.upper())


def write_wheel(index: Path, name: str, version: str, *requires: str, program: str | None = None) -> None:
    """Put an empty package into a simple index: the server's own listing of its folder is the page that pip reads.

    Args:
        index: folder of the index.
        name: name of the package.
        version: its version.
        requires: what it depends on.
        program: a command that it brings.
    """
    project = name.replace("-", "_")
    information = f"{project}-{version}.dist-info"
    files = {
        f"{project}.py": "",
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {requirement}\n" for requirement in requires),
        f"{information}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if program:
        files[f"{information}/entry_points.txt"] = f"[console_scripts]\n{program} = {project}:__name__\n"
    record = "".join(f"{path},sha256={_checksum(text)},{len(text)}\n" for path, text in files.items())
    folder = index / project.replace("_", "-").lower()
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{project}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in (files | {f"{information}/RECORD": f"{record}{information}/RECORD,,\n"}).items():
            wheel.writestr(path, text)


def write_source(index: Path, name: str, version: str, code: str) -> None:
    """Put a package that must be built into a simple index; the code runs when somebody builds it."""
    folder = index / name
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "setup.py": f"from setuptools import setup\n{code}\nsetup(name={name!r}, version={version!r})\n",
    }
    with tarfile.open(folder / f"{name}-{version}.tar.gz", "w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))


def _checksum(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
