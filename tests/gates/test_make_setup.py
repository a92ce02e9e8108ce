"""`make setup` with the real make and npm: what fails says why."""

import json
import shutil
import subprocess
from pathlib import Path

from tests.assembly import PROJECT


def test_npm_says_why_it_does_not_install_the_cdk_cli(tmp_path: Path) -> None:
    for name in ("Makefile", ".npmrc", "package-lock.json"):
        shutil.copy(PROJECT / name, tmp_path)
    package = json.loads((PROJECT / "package.json").read_text(encoding="utf-8"))
    package["devDependencies"]["aws-cdk"] = "1.0.0"
    (tmp_path / "package.json").write_text(json.dumps(package), encoding="utf-8")
    (tmp_path / ".venv").mkdir()
    for name in ("requirements.txt", "requirements-dev.txt", "pyproject.toml", ".venv/.installed"):
        (tmp_path / name).touch()

    made = subprocess.run(
        ["make", "node_modules/.installed"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )

    assert made.returncode == 2
    assert "npm error code EUSAGE" in made.stderr.replace("npm ERR!", "npm error")
    assert "aws-cdk@1.0.0" in made.stderr
    assert not (tmp_path / "node_modules" / ".installed").exists()
