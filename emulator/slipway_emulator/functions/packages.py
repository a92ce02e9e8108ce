"""Unpacks function code and layers into folders of this machine, and says where jsii unpacks its own."""

import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from fcntl import LOCK_EX, flock
from pathlib import Path
from tempfile import TemporaryDirectory

_LAYER_ROOT = "/opt/"
_UNPACK_SECONDS = 300
"""Time limit for unpacking ParallelCluster's CDK, which takes about four seconds."""

_IMPORT_CDK = "import pcluster.templates.cluster_stack, pcluster.templates.imagebuilder_stack"
_SOURCE_SUFFIXES = frozenset({".py", ".js", ".mjs", ".cjs"})


def unpack(archive: bytes, folder: Path) -> None:
    """Unpack a zip archive, keeping which files are executable."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(archive)) as content:
        for entry in content.infolist():
            target = Path(content.extract(entry, folder))
            mode = (entry.external_attr >> 16) & 0o777
            if mode and target.is_file():
                target.chmod(mode | 0o600)


def use_own_python(layer_folder: Path) -> None:
    """Point Python scripts of a layer at this interpreter: Lambda's ``/var/lang/bin/python`` is not here."""
    for path in _files(layer_folder):
        with path.open("rb") as file:
            first_line = file.readline(256)
        if first_line.startswith(b"#!") and b"python" in first_line:
            rest = path.read_bytes()[len(first_line) :]
            path.write_bytes(b"#!" + sys.executable.encode() + b"\n" + rest)
            path.chmod(0o755)


def point_at_layers(code_folder: Path, layer_folder: Path) -> None:
    """Rewrite ``/opt/...`` in source files to where the layers really are."""
    for path in _files(code_folder):
        if path.suffix in _SOURCE_SUFFIXES:
            text = path.read_text(encoding="utf-8", errors="surrogateescape")
            if _LAYER_ROOT in text:
                rewritten = text.replace(_LAYER_ROOT, f"{layer_folder}/")
                path.write_text(rewritten, encoding="utf-8", errors="surrogateescape")


def jsii_packages(python: Path) -> dict[str, str]:
    """Variables that let ParallelCluster's jsii unpack the CDK once, beside it, and not anew in each process.

    Left alone, the jsii that it needs keeps nothing (jsii 1.85.0, `lib__program.js`, `packageCacheEnabled`).

    Args:
        python: The interpreter of the virtual environment with aws-parallelcluster.
    """
    return {
        "JSII_RUNTIME_PACKAGE_CACHE": "enabled",
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(python.absolute().parents[1] / "jsii-packages"),
    }


def unpack_cdk(python: Path) -> None:
    """Let jsii unpack ParallelCluster's CDK once, before several processes need it at the same time.

    jsii's own lock does not wait: the second process ends with EEXIST (jsii 1.85.0, `lib__program.js`, `lockSync`).
    A failure is not reported here: the next process that needs the CDK fails in the same way, and has a log.

    Args:
        python: The interpreter of the virtual environment with aws-parallelcluster.
    """
    if not python.exists():
        return
    variables = jsii_packages(python)
    lock_file = Path(f"{variables['JSII_RUNTIME_PACKAGE_CACHE_ROOT']}.lock")
    with lock_file.open("a") as lock, TemporaryDirectory() as home:
        flock(lock, LOCK_EX)
        if lock_file.stat().st_size:
            return
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
        with suppress(subprocess.SubprocessError):
            subprocess.run(
                [python, "-c", _IMPORT_CDK],
                cwd=home,
                env={"PATH": path, "HOME": home, "TMPDIR": home, **variables},
                capture_output=True,
                check=True,
                timeout=_UNPACK_SECONDS,
            )
            lock.write("unpacked\n")


def _files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
