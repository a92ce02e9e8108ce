"""Behaviour of the inference hosts' user data: a host takes no task before it has proven itself, and says why not."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slipway import facts
from tests.assets.inference_host import (
    AMI_FSTAB,
    DROP_IN,
    FOLDER,
    LOG,
    PREFIX,
    PRIVATE_IMAGE,
    PUBLIC_IMAGE,
    SHARD,
    InferenceHost,
    user_data,
)
from tests.assets.sandbox import Outcome

USER_DATA_LIMIT_BYTES = 16 * 1024
SOURCES = ["mountpoint", "sync", "lustre"]
FSTAB = {
    "mountpoint": f"s3://llm-models/{PREFIX}/ {FOLDER} mount-s3 _netdev,nosuid,nodev,nofail,ro,allow-other,"
    "memory-target=2048 0 0",
    "sync": "LABEL=slipway /mnt/models xfs nofail,nosuid,nodev,noatime 0 0",
    "lustre": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh/models /mnt/models lustre "
    "_netdev,nofail,nosuid,nodev,ro,flock 0 0",
}


def answers(outcome: Outcome) -> list[str]:
    """What the Auto Scaling group was told."""
    calls = [call for call in outcome.calls if "complete-lifecycle-action" in call or "set-instance-health" in call]
    return [call.rsplit(" ", 1)[1] if "lifecycle-action" in call else "Unhealthy" for call in calls]


def assert_kept_out(host: InferenceHost, outcome: Outcome, step: str, reason: str) -> None:
    """The agent cannot start, the host is given up, and the reason is in its log, on the console and in CloudWatch."""
    assert outcome.status != 0
    assert not host.is_proven
    assert "AssertPathExists=/run/slipway/host-proven" in host.read(DROP_IN)
    assert answers(outcome) == ["ABANDON"]
    for log in (host.read(LOG), host.read("/dev/console"), host.sent_reason()):
        assert f"FAILED at step '{step}'" in log
        assert reason in log
    assert len([call for call in outcome.calls if "--metric-name HostFailures" in call]) == 2
    assert "host ready" not in outcome.stdout


@pytest.mark.parametrize("source", SOURCES)
def test_host_provides_the_model_and_then_goes_into_service(tmp_path: Path, source: str) -> None:
    host = InferenceHost(tmp_path, source)
    outcome = host.boot()

    assert outcome.status == 0, outcome.stdout + outcome.stderr
    assert host.read("/etc/fstab") == f"{AMI_FSTAB}{FSTAB[source]}\n"
    assert host.read(f"{FOLDER}/config.json")
    assert host.is_proven
    assert answers(outcome) == ["CONTINUE"]
    assert host.read("/etc/ecs/ecs.config").startswith(
        "ECS_ENABLE_INF_SUPPORT=true\nECS_AWSVPC_BLOCK_IMDS=true\nECS_ENABLE_TASK_IAM_ROLE=true\n"
        "ECS_WARM_POOLS_CHECK=false\nECS_CLUSTER=cluster"
    )
    assert "host ready" in host.read(LOG)


def test_agent_is_shut_out_before_anything_else_happens(tmp_path: Path) -> None:
    host = InferenceHost(tmp_path)
    host.stub_first("aws", f'[[ -e "$ROOT{DROP_IN}" ]] || exit 99')
    outcome = host.boot()

    assert outcome.status == 0
    assert outcome.calls[0] == "systemctl daemon-reload"
    assert not [call for call in outcome.calls if "ecs.service" in call or call.endswith(" ecs")]


def test_old_mountpoint_gets_no_option_it_does_not_know(tmp_path: Path) -> None:
    host = InferenceHost(tmp_path)
    host.stub("mount-s3", "printf -- '--allow-other\\n'")

    assert host.boot().status == 0
    assert "memory-target" not in host.read("/etc/fstab")


def lose(path: str) -> Callable[[InferenceHost], object]:
    """Take a file of the bucket away."""
    return lambda host: (host.bucket / path).unlink()


def change(path: str, content: str) -> Callable[[InferenceHost], object]:
    """Change a file of the bucket."""
    return lambda host: (host.bucket / path).write_text(content, encoding="utf-8")


def empty(host: InferenceHost) -> None:
    """Leave nothing below the prefix."""
    for path in host.bucket.rglob("*"):
        if path.is_file():
            path.unlink()


VERSION_FILE = "/sys/module/neuron/version"
NEW_DRIVER = (
    "Neuron driver 2.31.7.0 with runtime library 2.26.42.0: nrt_init() fails, that library needs one below 2.29"
)
FAILED_MOUNT = '[[ "$2" != *.mount ]] || exit 1'
FAILED_COPY = '[[ "$*" != *sync* ]] || exit 1'
BROKEN: list[tuple[str, str, str, Callable[[InferenceHost], object]]] = [
    ("mountpoint", "wait for the Neuron devices", "found 0", lambda host: (host.root / "dev/neuron0").unlink()),
    ("mountpoint", "wait for the Neuron devices", "found 2", lambda host: host.write("/dev/neuron1")),
    ("mountpoint", "check the Neuron driver", NEW_DRIVER, lambda host: host.write(VERSION_FILE, "2.31.7.0\n")),
    ("mountpoint", "check the Neuron driver", "is not loaded", lambda host: (host.root / VERSION_FILE[1:]).unlink()),
    ("mountpoint", "provide the model", "gave up within 0 s", lambda host: host.stub("dnf", "exit 1")),
    ("mountpoint", "provide the model", "FAILED", lambda host: host.stub("mount-s3", "exit 1")),
    ("mountpoint", "provide the model", "start mnt-models", lambda host: host.stub_first("systemctl", FAILED_MOUNT)),
    ("mountpoint", "provide the model", "is not mounted", lambda host: host.stub("mountpoint", "exit 32")),
    ("mountpoint", "check the model's folder", "config.json: [Errno 2]", empty),
    ("mountpoint", "check the model's folder", "does not start without model.pt", change("model.pt", "")),
    ("mountpoint", "check the model's folder", f"{SHARD}: No such file", lose(SHARD)),
    ("mountpoint", "check the model's folder", "config.json holds no JSON object", change("config.json", "[]")),
    ("mountpoint", "check the model's folder", "slipway-manifest.json: [Errno 2]", lose("slipway-manifest.json")),
    ("mountpoint", "check the model's folder", "has 2 bytes instead of 4096", change("model.pt", "NN")),
    (
        "mountpoint",
        "check the model's folder",
        "files outside of the folder: ../x",
        change("slipway-manifest.json", '{"files": {"../x": {"size": 1, "sha256": "0"}}}'),
    ),
    (
        "mountpoint",
        "check the model's folder",
        "was not read within 1 s",
        lambda host: host.stub("python3", f'[[ "$*" != *model_folder* ]] || exec sleep 50\nexec {sys.executable} "$@"'),
    ),
    ("sync", "provide the model", "the bucket has no object below tanuki-8b/v1/", empty),
    ("sync", "provide the model", "slipway-manifest.json: [Errno 2]", lose("slipway-manifest.json")),
    ("sync", "provide the model", "another SHA-256", change("model.pt", "X" * 4096)),
    ("sync", "provide the model", "found 0", lambda host: host.stub_first("lsblk", "[[ $* != *MODEL* ]] || exit 0")),
    (
        "sync",
        "provide the model",
        "has content that is not ours (label 'data')",
        lambda host: (host.state / "label").write_text("data"),
    ),
    ("sync", "provide the model", "gave up within", lambda host: host.stub_first("aws", FAILED_COPY)),
    ("lustre", "provide the model", "does not fit kernel 6.1", lambda host: host.stub("modprobe", "exit 1")),
    ("lustre", "provide the model", "another SHA-256", change("model.pt", "X" * 4096)),
    ("lustre", "provide the model", "config.json: [Errno 2]", empty),
    ("lustre", "provide the model", "start mnt-models", lambda host: host.stub_first("systemctl", FAILED_MOUNT)),
]


@pytest.mark.parametrize(("source", "step", "reason", "break_host"), BROKEN, ids=[f"{r[0]}-{r[2]}" for r in BROKEN])
def test_broken_host_stays_out_and_says_why(
    tmp_path: Path, source: str, step: str, reason: str, break_host: Callable[[InferenceHost], object]
) -> None:
    host = InferenceHost(tmp_path, source, published=True)
    break_host(host)

    limits = {"SLIPWAY_COPY_SECONDS": "0"} if reason.startswith("gave up") else {}
    if "was not read" in reason:
        limits["SLIPWAY_CHECK_SECONDS"] = "1"

    assert_kept_out(host, host.boot(**limits), step, reason)


def pinned_host(directory: Path, source: str) -> InferenceHost:
    """Return a host whose roll-out pinned the manifest that its bucket has."""
    host = InferenceHost(directory, source, published=True)
    digest = hashlib.sha256((host.bucket / "slipway-manifest.json").read_bytes()).hexdigest()
    host._user_data = host._user_data.replace("SLIPWAY_MODEL_DIGEST=none", f"SLIPWAY_MODEL_DIGEST={digest}")
    return host


@pytest.mark.parametrize("source", SOURCES)
def test_a_version_that_is_as_it_was_rolled_out_is_served(tmp_path: Path, source: str) -> None:
    outcome = pinned_host(tmp_path, source).boot()

    assert outcome.status == 0, outcome.stderr


@pytest.mark.parametrize("source", SOURCES)
def test_a_file_that_was_added_to_a_version_is_refused(tmp_path: Path, source: str) -> None:
    host = pinned_host(tmp_path, source)
    (host.bucket / "modeling_llama.py").write_text("print('attack')", encoding="utf-8")

    assert_kept_out(host, host.boot(), "provide the model", "added since")


@pytest.mark.parametrize("source", SOURCES)
def test_weights_that_were_swapped_alone_are_refused(tmp_path: Path, source: str) -> None:
    host = pinned_host(tmp_path, source)
    weights = host.bucket / "model.pt"
    weights.write_bytes(b"A" * weights.stat().st_size)

    assert_kept_out(host, host.boot(), "provide the model", "model.pt")


@pytest.mark.parametrize("source", SOURCES)
def test_weights_that_were_swapped_with_their_manifest_are_refused(tmp_path: Path, source: str) -> None:
    host = pinned_host(tmp_path, source)
    rolled_out = host.bucket / "slipway-manifest.json"
    content = json.loads(rolled_out.read_text())
    swapped = b"A" * 4096
    (host.bucket / "model.pt").write_bytes(swapped)
    content["files"]["model.pt"]["sha256"] = hashlib.sha256(swapped).hexdigest()
    rolled_out.write_text(json.dumps(content))

    assert_kept_out(host, host.boot(), "provide the model", "replaced since")


def test_set_up_that_takes_too_long_as_a_whole_is_ended(tmp_path: Path) -> None:
    host = InferenceHost(tmp_path)
    host.stub("dnf", "exec sleep 50")
    host._user_data = host._user_data.replace("SLIPWAY_SETUP_SECONDS=2700", "SLIPWAY_SETUP_SECONDS=4")

    assert_kept_out(host, host.boot(SLIPWAY_INSTALL_SECONDS="40"), "provide the model", "4 s")


@pytest.mark.parametrize(
    ("broken", "reason"),
    [("s3 cp", "gave up after 5 attempts: aws"), ("sums", "FAILED")],
)
def test_scripts_that_are_not_the_synthesized_ones_do_not_run(tmp_path: Path, broken: str, reason: str) -> None:
    host = InferenceHost(tmp_path)
    if broken == "sums":
        host._user_data = host._user_data.replace("  host_setup.sh", "  host_proof.sh", 1)
    else:
        host.stub_first("aws", '[[ "$*" != *"s3 cp"* ]] || exit 1')
    outcome = host.boot()

    assert outcome.status != 0
    assert reason in outcome.stderr
    assert "this host takes no task" in host.read(LOG)
    assert "AssertPathExists" in host.read(DROP_IN)
    assert not host.is_proven
    assert answers(outcome) == []


def test_minimal_image_gets_the_aws_cli_first(tmp_path: Path) -> None:
    host = InferenceHost(tmp_path)
    (host.programs / "aws").rename(host.programs / "aws-to-be")
    host.stub_first("dnf", '[[ "$*" != *awscli-2* ]] || ln -s aws-to-be "${0%/*}/aws"')
    outcome = host.boot()

    assert outcome.status == 0, outcome.stderr
    assert outcome.calls[1] == "dnf install -y awscli-2"


@pytest.mark.parametrize(("pulls", "status"), [("", 0), ("exit 1", 0)])
def test_image_is_there_before_a_host_of_the_warm_pool_is_stopped(tmp_path: Path, pulls: str, status: int) -> None:
    host = InferenceHost(tmp_path, warm=1)
    host.stub("docker", pulls)
    outcome = host.boot()

    assert outcome.status == status
    assert outcome.calls_of("docker") == [f"docker pull --quiet {PUBLIC_IMAGE}"]
    assert "ECS_WARM_POOLS_CHECK=true" in host.read("/etc/ecs/ecs.config")
    assert ("is not pulled yet" in host.read(LOG)) == bool(pulls)


def test_pull_waits_for_docker_and_is_tried_again(tmp_path: Path) -> None:
    host = InferenceHost(tmp_path, warm=1)
    once = '[[ -e "$STATE/tried_{0}" ]] || {{ : >"$STATE/tried_{0}"; exit 1; }}'
    host.stub("docker", once.format("pull"))
    # In the order of units Docker comes after user data, which is still running: such a job is never done.
    start = "start --job-mode=ignore-dependencies docker.service"
    host.stub_first(
        "systemctl",
        f'[[ "$*" != *docker.service ]] || {{ [[ "$*" == "{start}" ]] && {once.format("start")}; }} || exit 1',
    )
    outcome = host.boot(SLIPWAY_DOCKER_SECONDS="60", SLIPWAY_IMAGE_SECONDS="60", SLIPWAY_RETRY_PAUSE_SECONDS="0")

    assert outcome.status == 0
    pulls = [call for call in outcome.calls if call.startswith(("docker", "systemctl start --job-mode"))]
    assert pulls == [f"systemctl {start}"] * 2 + [f"docker pull --quiet {PUBLIC_IMAGE}"] * 2
    assert "WARNING" not in host.read(LOG)


@pytest.mark.parametrize(
    ("runtime", "driver", "message"),
    [
        ("2.26.42.0", "2.28.0.0", None),
        ("2.26.42.0", "2.21.37.0", None),
        ("2.26.42.0", "2.29", "needs one below 2.29"),
        ("2.28.23.0", "2.29.0.0", "needs one below 2.29"),
        ("2.32.31.0", "2.26.10.0", "needs one from 2.27"),
        ("2.32.31.0", "2.27.4.0", None),
        ("2.32.31.0", "2.30.2.0", "needs one below 2.29"),
        ("2.33.10.0", "2.29.0.0", None),
        ("2.33.10.0", "2.31.7.0", None),
        ("2.33.10.0", "2.26.10.0", "needs one from 2.27"),
        (None, "2.31.7.0", None),
    ],
)
def test_host_takes_tasks_only_with_a_driver_that_the_facts_allow(
    tmp_path: Path, runtime: str | None, driver: str, message: str | None
) -> None:
    host = InferenceHost(tmp_path)
    host._user_data = user_data("mountpoint", False, 0, runtime)
    host.write(VERSION_FILE, f"{driver}\n")
    outcome = host.boot()

    assert host.is_proven == (message is None)
    assert (facts.driver_problem(driver, runtime) is None if runtime else True) == (message is None)
    assert f"Neuron driver {driver}" in host.read(LOG)
    assert (message or "host ready") in outcome.stdout + outcome.stderr


def test_password_of_a_private_registry_is_not_kept(tmp_path: Path) -> None:
    host = InferenceHost(tmp_path, warm=1)
    host._user_data = host._user_data.replace(PUBLIC_IMAGE, PRIVATE_IMAGE)
    host.stub_first("aws", '[[ "$*" != *get-login-password* ]] || { echo secret; exit; }')
    host.stub(
        "docker",
        """if [[ "$1" == login ]]; then
  mkdir -p "$DOCKER_CONFIG"
  cat >"$DOCKER_CONFIG/config.json"
else
  grep -q secret "$DOCKER_CONFIG/config.json"
fi""",
    )
    outcome = host.boot()

    assert outcome.status == 0
    assert outcome.calls_of("docker") == [
        f"docker login --username AWS --password-stdin {PRIVATE_IMAGE.split('/', 1)[0]}",
        f"docker pull --quiet {PRIVATE_IMAGE}",
    ]
    assert not (host.root / "run/slipway/docker").exists()
    assert not [file for file in host.root.rglob("*") if file.is_file() and b"secret" in file.read_bytes()]
    assert "WARNING" not in host.read(LOG)
    assert "secret" not in host.read(LOG) + outcome.stdout + outcome.stderr


@pytest.mark.parametrize("variable", ["SLIPWAY_MODEL_PREFIX", "SLIPWAY_SERVICE", "SLIPWAY_LOG_GROUP"])
def test_impossible_variable_is_named(tmp_path: Path, variable: str) -> None:
    host = InferenceHost(tmp_path)
    lines = host._user_data.splitlines(keepends=True)
    host._user_data = "".join(
        f"export {variable}='two words'\n" if line.startswith(f"export {variable}=") else line for line in lines
    )

    assert_kept_out(host, host.boot(), "check the variables", f"{variable} must be set")


@pytest.mark.parametrize("source", SOURCES)
def test_rendered_user_data_fits_and_shellcheck_has_nothing_to_say(tmp_path: Path, source: str) -> None:
    script = tmp_path / "user-data"
    script.write_text(user_data(source, True, 1), encoding="utf-8")
    shellcheck = Path(sys.executable).with_name("shellcheck")
    check = subprocess.run([shellcheck, script], capture_output=True, text=True, check=False)

    assert script.stat().st_size < USER_DATA_LIMIT_BYTES / 2
    assert check.returncode == 0, check.stdout
