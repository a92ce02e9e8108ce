"""The wheel has every file that its packages read, and nothing else."""

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


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("dist")
    uv = str(Path(sys.executable).parent / "uv")
    options = ("--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable)
    subprocess.run([uv, "build", *options, "--out-dir", folder, PROJECT], check=True)
    (wheel,) = folder.glob("*.whl")
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
