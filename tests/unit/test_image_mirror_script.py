"""The build that copies an image and the command that starts it, run for real with stand-ins of `aws` and `docker`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import aws_cdk as cdk
import pytest
from aws_cdk import aws_logs as logs

from neuron_constructs.image_builds import script_command
from neuron_constructs.inference.image_mirror import COPY_SCRIPT, ImageMirror, ImageMirrorProps

SHELLCHECK = Path(sys.executable).with_name("shellcheck")
SOURCE = f"sha256:{'ab' * 32}"
HELPERS = json.dumps({"credHelpers": {"111122223333.dkr.ecr.us-west-2.amazonaws.com": "ecr-login"}})
VARIABLES = {
    "SOURCE_IMAGE": "ghcr.io/a/engine:1.0",
    "SOURCE_NAME": "ghcr.io/a/engine",
    "TAG": "1.0",
    "REPOSITORY_NAME": "mirror",
    "REPOSITORY_URI": "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror",
    "DOCKER_CREDENTIAL_HELPERS": HELPERS,
    "AWS_REGION": "us-west-2",
}

# The repository is a file with the digest of its one image.
AWS = """\
#!/bin/bash
echo "aws $*" >> calls
case "$*" in
  *batch-get-image*) [ ! -e denied ] || { echo AccessDenied >&2; exit 254; }
    if [ -e repository ]; then cat repository; else echo None; fi ;;
  *start-build*) [ ! -e denied ] || exit 254
    echo copy:1 ;;
  *batch-get-builds*) [ "${*/copy:1/}" != "$*" ] || exit 1
    read -r status rest < statuses; echo "$rest" > statuses; echo "$status" ;;
  *) exit 2 ;;
esac
"""
DOCKER = """\
#!/bin/bash
echo "docker $*" >> calls
case "$*" in
  *" inspect "*) cat "$DOCKER_CONFIG/config.json" > config
    cat source ;;
  *" create "*) [ ! -e broken ] || { echo "unexpected EOF" >&2; exit 1; }
    if [ -e other ]; then cat other; else cat source; fi > repository ;;
  *) exit 2 ;;
esac
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which `aws`, `docker` and `sleep` are stand-ins, and ghcr.io has the image."""
    for name, text in (("aws", AWS), ("docker", DOCKER), ("sleep", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "source").write_text(f"{SOURCE}\n")
    return tmp_path


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **VARIABLES, "PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def copies(folder: Path) -> list[str]:
    """Return the calls that copy."""
    return [line for line in (folder / "calls").read_text().splitlines() if "imagetools create" in line]


def test_the_script_is_clean() -> None:
    check = subprocess.run(
        [str(SHELLCHECK), "--shell=bash", "-"], input=COPY_SCRIPT, capture_output=True, text=True, check=False
    )

    assert check.stdout == ""


def test_the_image_is_copied_by_its_digest(folder: Path) -> None:
    build = run(script_command(COPY_SCRIPT), folder)

    assert build.returncode == 0, build.stderr
    assert copies(folder) == [
        "docker buildx imagetools create --progress plain --prefer-index=false "
        f"--tag {VARIABLES['REPOSITORY_URI']}:1.0 ghcr.io/a/engine@{SOURCE}"
    ]
    assert build.stdout.endswith(f"{VARIABLES['REPOSITORY_URI']}:1.0 is {SOURCE}\n")


def test_log_ins_are_left_to_the_credential_helper(folder: Path) -> None:
    run(script_command(COPY_SCRIPT), folder)

    assert json.loads((folder / "config").read_text()) == json.loads(HELPERS)
    assert "login" not in (folder / "calls").read_text()


def test_a_second_copy_does_nothing(folder: Path) -> None:
    first, second = run(script_command(COPY_SCRIPT), folder), run(script_command(COPY_SCRIPT), folder)

    assert first.returncode == second.returncode == 0
    assert "nothing to do" in second.stdout
    assert len(copies(folder)) == 1


def test_an_image_with_another_digest_is_an_error(folder: Path) -> None:
    (folder / "other").write_text("sha256:00\n")
    build = run(script_command(COPY_SCRIPT), folder)

    assert build.returncode == 1
    assert f"The copy is sha256:00, not {SOURCE}" in build.stderr


@pytest.mark.parametrize("trouble", ["broken", "denied"])
def test_a_failure_ends_the_build(folder: Path, trouble: str) -> None:
    (folder / trouble).touch()
    build = run(script_command(COPY_SCRIPT), folder)

    assert build.returncode != 0
    assert not (folder / "repository").exists()


def command() -> str:
    """Return the command that starts a copy, for a project `copy` in us-west-2."""
    stack = cdk.Stack(cdk.App(), "Test", env=cdk.Environment(account="111122223333", region="us-west-2"))
    props = ImageMirrorProps(source_image=VARIABLES["SOURCE_IMAGE"], log_retention=logs.RetentionDays.ONE_WEEK)
    resolved = stack.resolve(ImageMirror(stack, "Mirror", props).command)
    return "".join(part if isinstance(part, str) else "copy" for part in resolved["Fn::Join"][1])


@pytest.mark.parametrize(
    ("statuses", "ends_with"), [("IN_PROGRESS IN_PROGRESS SUCCEEDED", 0), ("FAILED", 1), ("IN_PROGRESS TIMED_OUT", 1)]
)
def test_the_command_waits_for_the_end(folder: Path, statuses: str, ends_with: int) -> None:
    (folder / "statuses").write_text(f"{statuses}\n")
    started = run(command(), folder)

    assert started.returncode == ends_with, started.stderr
    assert started.stdout == f"{statuses.rsplit(maxsplit=1)[-1]}\n"
    assert "--project-name copy" in (folder / "calls").read_text()


def test_the_command_ends_where_no_build_starts(folder: Path) -> None:
    (folder / "denied").touch()
    started = run(command(), folder)

    assert started.returncode != 0
    assert "batch-get-builds" not in (folder / "calls").read_text()


def test_the_command_is_one_line() -> None:
    assert "\n" not in command()
