"""The wheel has every file that its packages read, and nothing else; a CDK app of another owner works with it."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.assembly import PROJECT

PACKAGES = {
    "slipway": "slipway",
    "constructs/neuron_constructs": "neuron_constructs",
    "stacks/slipway_stacks": "slipway_stacks",
    "emulator/slipway_emulator": "slipway_emulator",
    "assets/operations/slipway_pause": "slipway_pause",
}
BUNDLED = (
    *("assets", "environments", "locks", ".github/workflows", "bin", "docs"),
    *("cdk.json", "package.json", "package-lock.json", ".npmrc"),
)


UV = str(Path(sys.executable).parent / "uv")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    options = ("--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable)
    subprocess.run([UV, "build", *options, "--out-dir", folder, PROJECT], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def tracked(folder: str) -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", folder]
    found = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in found if (PROJECT / name).is_file()]


def test_it_has_the_packages_and_what_they_read(names: set[str]) -> None:
    wanted = {
        f"{package}{name.removeprefix(folder)}" for folder, package in PACKAGES.items() for name in tracked(folder)
    } | {f"slipway/bundled/{name}" for folder in BUNDLED for name in tracked(folder)}

    assert names == wanted
    assert len(wanted) > 900


EXAMPLE = PROJECT / "examples" / "served_model"


@pytest.fixture(scope="module")
def synthesized(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's template, made as its README says: in an environment with its requirements and nothing else."""
    folder = tmp_path_factory.mktemp("served-model")
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    programs = folder / ".venv" / "bin"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, folder / ".venv"], check=True)
    requirements = ("--find-links", wheel.parent, "--requirement", folder / "requirements.txt")
    subprocess.run([UV, "pip", "install", "--quiet", "--python", programs / "python", *requirements], check=True)
    ours = ("AWS_", "JSII_", "PYTHON", "VIRTUAL")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        [PROJECT / "node_modules" / ".bin" / "cdk", "synth", "--quiet"],
        cwd=folder,
        env={**kept, "PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    # cdk-nag is among what the app runs: a finding would end it with 1.
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder / "cdk.out" / "chat.template.json"


def test_somebody_elses_app_serves_a_model_with_the_wheel_alone(synthesized: Path) -> None:
    resources = json.loads(synthesized.read_text(encoding="utf-8"))["Resources"]
    kinds = {resource["Type"] for resource in resources.values()}

    assert {"AWS::FSx::FileSystem", "AWS::ECS::Service", "AWS::ElasticLoadBalancingV2::LoadBalancer"} <= kinds
    assert not [kind for kind in kinds if kind.startswith("AWS::EC2::") and ("VPC" in kind or "Subnet" in kind)]
    assert sum(resource["Type"] == "AWS::S3::Bucket" for resource in resources.values()) == 1, "the models' is theirs"
    retained = {resource["Type"] for resource in resources.values() if resource.get("DeletionPolicy") == "Retain"}
    assert retained == {"AWS::S3::Bucket", "AWS::S3::BucketPolicy"}


def test_cfn_lint_finds_nothing_in_it(synthesized: Path) -> None:
    lint = subprocess.run(
        [Path(sys.executable).with_name("cfn-lint"), "--regions", "us-west-2", "--template", synthesized],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (lint.stdout, lint.returncode) == ("", 0)


def test_its_readme_runs_the_tested_version_of_the_cdk_cli() -> None:
    package = json.loads((PROJECT / "package.json").read_text(encoding="utf-8"))
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")

    assert readme.count(f"npx aws-cdk@{package['devDependencies']['aws-cdk']} ") == readme.count("npx aws-cdk@") == 2
