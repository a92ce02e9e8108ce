"""The Kubernetes client is the image's alone: a Slurm cluster's kit works without it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.assets.sandbox import ASSETS
from tests.jobs.chain_case import environment_below

JOBS = ASSETS / "jobs"


def pins(name: str) -> dict[str, str]:
    """Return what a lock file pins, with the conditions and hashes of each pin."""
    text = (JOBS / name).read_text(encoding="utf-8").replace("\\\n", "")
    return {line.split("==")[0]: line for line in text.splitlines() if "==" in line and not line.startswith("#")}


def test_the_image_has_all_of_the_kits_packages_in_the_same_versions() -> None:
    kit, image = pins("requirements.txt"), pins("requirements-kubernetes.txt")

    assert {name: image.get(name) for name in kit} == kit
    wanted = re.findall(r"^(\S+==\S+)$", (JOBS / "requirements-kubernetes.in").read_text(encoding="utf-8"), re.M)
    assert wanted
    assert all(image[one.split("==")[0]].startswith(f"{one} ") for one in wanted)
    assert all("--hash=sha256:" in line for line in image.values())


def test_with_slurm_the_kit_works_without_the_client(tmp_path: Path) -> None:
    file = tmp_path / "environment.json"
    file.write_text(environment_below(tmp_path).model_dump_json(), encoding="utf-8")
    program = "import sys; sys.modules['kubernetes'] = None; from slipway_jobs.cli import app; app(sys.argv[1:])"
    environment = os.environ | {"PYTHONPATH": str(JOBS), "SLIPWAY_ENVIRONMENT": str(file)}

    for arguments in (["status"], ["submit", "tiny-llama", "--dry-run"]):
        process = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert process.returncode == 0, process.stderr
