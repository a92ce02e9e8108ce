"""Synth needs nothing but the files of this project, and says the same every time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.assembly import PROJECT, Assembly, cdk_context
from tests.conftest import AssemblyFactory


def synthesize_in_a_bare_process(name: str, directory: Path, home: Path) -> dict[str, bytes]:
    """Run app.py as the CDK CLI would, with no AWS variable and an empty home."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "CDK_OUTDIR": str(directory),
        "CDK_CONTEXT_JSON": json.dumps({**cdk_context(), "environment": name}),
        "CDK_VALIDATION": "false",
    }
    run = subprocess.run(
        [sys.executable, "app.py"], cwd=PROJECT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return {path.name: path.read_bytes() for path in directory.glob("*.template.json")}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder, empty before the first synth: jsii unpacks the CDK in it, for 5 s."""
    return tmp_path_factory.mktemp("home")


@pytest.mark.parametrize("name", ["default", "kubernetes"])
def test_two_synths_are_byte_identical_and_need_no_aws_and_no_home(
    assemblies: AssemblyFactory, tmp_path: Path, home: Path, name: str
) -> None:
    in_this_process = {path.name: path.read_bytes() for path in assemblies(name).directory.glob("*.template.json")}

    assert synthesize_in_a_bare_process(name, tmp_path / "assembly", home) == in_this_process


def test_no_template_asks_for_a_lookup_or_names_an_account(each_assembly: Assembly) -> None:
    manifest = json.loads((each_assembly.directory / "manifest.json").read_text())

    assert "missing" not in manifest
    for stack in each_assembly.templates():
        assert (
            manifest["artifacts"][stack]["environment"] == f"aws://unknown-account/{each_assembly.environment.region}"
        )
