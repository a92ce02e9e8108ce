"""`make setup` with the real make, uv, pip and npm: what fails says why, and no code runs that is not locked."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.assembly import PROJECT

EVIL = "evil-1.0-py3-none-any.whl"


def make(folder: Path, target: str, **variables: str) -> subprocess.CompletedProcess[str]:
    index = str(folder / "index")
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": index, "UV_NO_INDEX": "1", "UV_FIND_LINKS": index}
    given = {**os.environ, **offline, **variables}
    return subprocess.run(
        ["make", target], cwd=folder, env=given, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the Makefile, an empty index of packages, and a Node.js project without packages."""
    for name in ("Makefile", ".npmrc", "package-lock.json"):
        shutil.copy(PROJECT / name, tmp_path)
    for folder in ("locks", "index", ".venv/bin", "node_modules"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "uv").symlink_to(Path(sys.prefix) / "bin" / "uv")
    for name in ("requirements", "requirements-uv", "requirements-dev", "requirements-node"):
        (tmp_path / "locks" / f"{name}.txt").touch()
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def test_npm_says_why_it_does_not_install_the_cdk_cli(project: Path) -> None:
    package = json.loads((PROJECT / "package.json").read_text(encoding="utf-8"))
    package["devDependencies"]["aws-cdk"] = "1.0.0"
    (project / "package.json").write_text(json.dumps(package), encoding="utf-8")
    (project / ".venv" / ".runtime").touch()

    made = make(project, "node_modules/.installed")

    assert made.returncode == 2
    assert "npm error code EUSAGE" in made.stderr.replace("npm ERR!", "npm error")
    assert "aws-cdk@1.0.0" in made.stderr
    assert not (project / "node_modules" / ".installed").exists()


def test_no_script_of_an_npm_package_runs(project: Path) -> None:
    package = {"name": "evil", "version": "1.0.0", "scripts": {"preinstall": f"touch {project}/made"}}
    (project / "package.json").write_text(json.dumps(package), encoding="utf-8")
    lock = {"name": "evil", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": package}}
    (project / "package-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    (project / ".venv" / ".runtime").touch()

    made = make(project, "node_modules/.installed")

    assert made.returncode == 0, made.stderr
    assert not (project / "made").exists()


def wheel(file: Path, code: str) -> str:
    """Write a package whose import runs the code, and return its hash."""
    info = "evil-1.0.dist-info"
    files = {
        "evil.py": code,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(file, "w") as archive:
        record = ""
        for name, text in files.items():
            archive.writestr(name, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(text)}\n"
        archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return hashlib.sha256(file.read_bytes()).hexdigest()


def source(folder: Path, made: Path) -> str:
    """Write a package whose installation runs code, and return its hash."""
    script = folder.parent / "setup.py"
    script.write_text(f"open({str(made)!r}, 'w')\nimport setuptools; setuptools.setup(name='evil', version='1.0')\n")
    archive = folder / "evil-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(script, "evil-1.0/setup.py")
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def test_a_package_that_was_exchanged_on_its_index_is_not_installed(project: Path) -> None:
    """The version is the same, the file is another: what somebody can do who has taken over a maintainer's account."""
    locked = wheel(project / EVIL, "good = True")
    wheel(project / "index" / EVIL, "evil = True")
    (project / "locks" / "requirements.txt").write_text(f"evil==1.0 --hash=sha256:{locked}\n")

    made = make(project, ".venv/.runtime", PYTHON=sys.executable)

    assert made.returncode == 2
    assert "Hash mismatch for `evil==1.0`" in made.stderr, "uv"
    assert "DO NOT MATCH THE HASHES" in made.stderr, "pip, which is asked next"
    assert not list(project.rglob("evil.py"))


def test_pip_asks_an_index_that_uv_does_not_know(project: Path) -> None:
    locked = wheel(project / "index" / EVIL, "good = True")
    (project / "locks" / "requirements.txt").write_text(f"evil==1.0 --hash=sha256:{locked}\n")

    made = make(project, ".venv/.runtime", PYTHON=sys.executable, UV_FIND_LINKS="")

    assert "set-up: uv could not; pip tries" in made.stderr
    assert len(list(project.glob(".venv/lib/*/site-packages/evil.py"))) == 1


def test_no_code_of_a_package_runs_while_it_is_installed(project: Path) -> None:
    locked = source(project / "index", project / "made")
    (project / "locks" / "requirements.txt").write_text(f"evil==1.0 --hash=sha256:{locked}\n")

    made = make(project, ".venv/.runtime", PYTHON=sys.executable)

    assert made.returncode == 2
    assert not (project / "made").exists()


def test_a_package_that_the_lock_does_not_have_is_not_installed(project: Path) -> None:
    """Slipway's own build takes hatchling from the lock and asks no index for it."""
    wheel(project / "index" / EVIL, "evil = True")
    shutil.copy(PROJECT / "pyproject.toml", project)
    text = (project / "pyproject.toml").read_text().replace('requires = ["hatchling>=1.27"]', 'requires = ["evil"]')
    (project / "pyproject.toml").write_text(text)

    made = make(project, ".venv/.runtime", PYTHON=sys.executable)

    assert made.returncode == 2
    assert not list(project.rglob("evil.py"))
