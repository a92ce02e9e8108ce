"""The build of the training image, run with stand-ins of `aws` and `docker`, and what its Dockerfile asks of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from neuron_constructs.kubernetes.training_image_build import BUILD_SCRIPT
from slipway import facts
from tests.assets.sandbox import ASSETS
from tests.assets.training_image_context import STACK, ImageBuild, image_build

TOOLS = Path(sys.executable).parent
DOCKERFILE = (ASSETS / "kubernetes" / "training_image" / "Dockerfile").read_text(encoding="utf-8")
DIGEST = f"sha256:{'ab' * 32}"
HELPERS = json.dumps({"credHelpers": {"111122223333.dkr.ecr.us-west-2.amazonaws.com": "ecr-login"}})
URI = "111122223333.dkr.ecr.us-west-2.amazonaws.com/training"

# The repository is a file with the digest of its one image.
AWS = """\
#!/bin/bash
echo "aws $*" >> "$CALLS"
[ ! -e denied ] || { echo AccessDenied >&2; exit 254; }
case "$*" in
  *describe-images*sort_by*) if [ -e newest ]; then cat newest; else echo None; fi ;;
  *batch-get-image*imageTag="$TAG"*) if [ -e repository ]; then cat repository; else echo None; fi ;;
  *) exit 2 ;;
esac
"""
DOCKER = f"""\
#!/bin/bash
echo "docker $*" >> "$CALLS"
case "$1" in
  build) cp "$DOCKER_CONFIG/config.json" config
    [ ! -e broken ] || {{ echo "no space left on device" >&2; exit 1; }} ;;
  push) [ ! -e refused ] || {{ echo "tag is immutable" >&2; exit 1; }}
    [ -e lost ] || echo {DIGEST} > repository ;;
  *) exit 2 ;;
esac
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> ImageBuild:
    return image_build(tmp_path_factory.mktemp("assembly"))


@pytest.fixture(scope="module")
def unpacked(build: ImageBuild, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The context when the build's script starts."""
    return build.unpack(tmp_path_factory.mktemp("unpacked") / "context")


@pytest.fixture
def folder(build: ImageBuild, tmp_path: Path) -> Path:
    """The context before the build, with stand-ins of `aws` and `docker` beside it."""
    (archive,) = build.directory.glob("asset.*")
    shutil.copytree(archive, tmp_path / "context")
    for name, text in (("aws", AWS), ("docker", DOCKER)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "calls").touch()
    return tmp_path / "context"


def variables(build: ImageBuild) -> dict[str, str]:
    """Return what the build finds in its environment, references resolved."""
    return build.variables() | {
        "REPOSITORY_NAME": "training",
        "REPOSITORY_URI": URI,
        "DOCKER_CREDENTIAL_HELPERS": HELPERS,
        "AWS_REGION": "us-west-2",
    }


def run(build: ImageBuild, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run all commands of the build in one shell, as CodeBuild does."""
    return subprocess.run(
        ["bash", "-e", "-c", "\n".join(build.commands())],
        cwd=folder,
        env={
            **os.environ,
            **variables(build),
            "CALLS": str(folder.parent / "calls"),
            "PATH": f"{folder.parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def docker_calls(folder: Path) -> list[str]:
    return [line for line in (folder.parent / "calls").read_text().splitlines() if line.startswith("docker ")]


def test_the_image_is_built_with_every_argument_and_pushed(build: ImageBuild, folder: Path) -> None:
    done = run(build, folder)
    tag = build.variables()["TAG"]

    assert done.returncode == 0, done.stderr
    built, pushed = docker_calls(folder)
    assert built.endswith(f" --tag {URI}:{tag} .")
    assert "--file kubernetes/training_image/Dockerfile " in built
    arguments = dict(pair.split("=", 1) for pair in re.findall(r"--build-arg (\S+)", built))
    assert set(arguments) - {"BUILDKIT_INLINE_CACHE"} == set(re.findall(r"^ARG ([A-Z_]+)$", DOCKERFILE, re.MULTILINE))
    assert arguments["TRAINING_STACK"] == STACK
    assert pushed == f"docker push --quiet {URI}:{tag}"
    assert done.stdout.endswith(f"{URI}:{tag} is {DIGEST}\n")


def test_parts_that_did_not_change_come_from_the_newest_image(build: ImageBuild, folder: Path) -> None:
    (folder / "newest").write_text("xla-2.28.1-0a0a\n")
    run(build, folder)

    assert f" BUILDKIT_INLINE_CACHE=1 --cache-from {URI}:xla-2.28.1-0a0a --build-arg " in docker_calls(folder)[0]


def test_the_first_image_has_none_to_take_parts_from(build: ImageBuild, folder: Path) -> None:
    run(build, folder)

    assert "--cache-from" not in docker_calls(folder)[0]


def test_log_ins_are_left_to_the_credential_helper(build: ImageBuild, folder: Path) -> None:
    run(build, folder)

    assert json.loads((folder / "config").read_text()) == json.loads(HELPERS)
    assert "login" not in (folder.parent / "calls").read_text()


def test_an_image_that_is_there_is_not_built_again(build: ImageBuild, folder: Path) -> None:
    first, second = run(build, folder), run(build, folder)

    assert first.returncode == second.returncode == 0
    assert "nothing to do" in second.stdout
    assert len(docker_calls(folder)) == 2


@pytest.mark.parametrize("trouble", ["broken", "refused", "lost", "denied"])
def test_a_failure_ends_the_build(build: ImageBuild, folder: Path, trouble: str) -> None:
    (folder / trouble).touch()

    assert run(build, folder).returncode != 0
    assert not (folder / "repository").exists()


def test_the_generated_files_pin_the_stack_and_the_installer(unpacked: Path) -> None:
    lock = (unpacked / f"cluster/training_stacks/{STACK}.sh").read_text()
    release = (unpacked / "kubernetes/training_image/efa_release.sh").read_text()
    pins = facts.training_stack(STACK)

    assert all(f"{name}=={version}" in lock for name, version in pins.python_packages.items())
    assert pins.efa_installer
    assert facts.efa_installer(pins.efa_installer).sha256 in release


def test_every_mount_of_the_dockerfile_is_in_the_context_at_the_same_place(unpacked: Path) -> None:
    mounts = re.findall(r"--mount=type=bind,source=(\S+),target=/build/(\S+)", DOCKERFILE)

    assert mounts
    for source, target in mounts:
        assert source == target
        assert (unpacked / source).exists()
    assert not re.findall(r"^(COPY|ADD)", DOCKERFILE, re.MULTILINE)


def test_every_script_finds_what_it_sources(unpacked: Path) -> None:
    install = (unpacked / "kubernetes/training_image/install.sh").read_text()
    node_scripts, own_scripts = re.findall(r"^for part in (.*); do$", install, re.MULTILINE)

    assert all((unpacked / f"cluster/{name}.sh").is_file() for name in node_scripts.split())
    assert all((unpacked / f"kubernetes/training_image/{name}.sh").is_file() for name in own_scripts.split())


def test_every_part_is_a_layer_and_the_kit_the_last_one() -> None:
    install = (ASSETS / "kubernetes" / "training_image" / "install.sh").read_text(encoding="utf-8")
    parts = re.findall(r"^  ([a-z_]+)\)", install, re.MULTILINE)
    layers = re.findall(r'install\.sh ([a-z_]+) "\$\{TRAINING_STACK\}"', DOCKERFILE)

    assert layers == parts
    assert layers[-1] == "job_kit"


def test_nothing_runs_as_root_after_the_installation() -> None:
    after = DOCKERFILE.split("job_kit")[1]

    assert after.index("USER 1000:1000") < after.index("RUN ")
    assert "USER" not in after.split("USER 1000:1000")[1]


def test_hadolint_finds_nothing() -> None:
    check = subprocess.run(
        [str(TOOLS / "hadolint"), "-"], input=DOCKERFILE, capture_output=True, text=True, check=False
    )

    assert (check.returncode, check.stdout) == (0, "")


def test_the_script_is_clean() -> None:
    check = subprocess.run(
        [str(TOOLS / "shellcheck"), "--shell=bash", "-"],
        input=BUILD_SCRIPT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert check.stdout == ""


def test_sessions_of_sshd_have_the_path_of_the_containers() -> None:
    sshd = (ASSETS / "kubernetes" / "training_image" / "sshd_config").read_text(encoding="utf-8")

    assert re.findall(r"^SetEnv PATH=(\S+)$", sshd, re.MULTILINE) == re.findall(r"^ENV PATH=(\S+)", DOCKERFILE, re.M)
