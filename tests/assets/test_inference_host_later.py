"""What a host does after its set-up: the proof at each later boot, the watchdog, and what follows a failure."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from configparser import ConfigParser
from pathlib import Path

import pytest

from assets.cluster.neuron_metrics import metric_data, node
from tests.assets.inference_host import DROP_IN, FOLDER, LOG, SCRIPTS, SHARD, InferenceHost
from tests.assets.test_inference_host import SOURCES, answers

PROOF = "slipway-host-proof.service"
WATCHDOG = "slipway-host-watchdog.service"
FAILED = "slipway-host-failed.service"
UNITS = sorted(SCRIPTS.glob("*.service"))


def set_up(tmp_path: Path, source: str = "mountpoint", *, warm: int = 0) -> InferenceHost:
    """Return a host whose set-up succeeded."""
    host = InferenceHost(tmp_path, source, published=True, warm=warm)
    outcome = host.boot()
    assert outcome.status == 0, outcome.stdout + outcome.stderr
    return host


@pytest.mark.parametrize("source", SOURCES)
def test_host_from_the_warm_pool_is_proven_again(tmp_path: Path, source: str) -> None:
    host = set_up(tmp_path, source, warm=1)
    host.reboot("Pending:Wait")
    assert not host.is_proven
    outcome = host.service(PROOF)

    assert outcome.status == 0, outcome.stderr
    assert host.is_proven
    assert answers(outcome) == ["CONTINUE"]
    assert len([call for call in outcome.calls if re.fullmatch(r"systemctl start mnt-models.*\.mount", call)]) == 1
    assert not outcome.calls_of("dnf") + [call for call in outcome.calls if "s3" in call]


def test_host_that_was_rebooted_in_service_asks_for_nothing(tmp_path: Path) -> None:
    host = set_up(tmp_path)
    host.reboot("InService", wanted_version=2)
    outcome = host.service(PROOF)

    assert outcome.status == 0
    assert host.is_proven
    assert answers(outcome) == []


def empty_bucket(host: InferenceHost) -> None:
    """Take the model away."""
    shutil.rmtree(host.bucket)
    host.bucket.mkdir()


LOST: list[tuple[str, str, Callable[[InferenceHost], object]]] = [
    ("mountpoint", "found 0", lambda host: (host.root / "dev/neuron0").unlink()),
    ("mountpoint", "gave up within 0 s", lambda host: host.stub_first("systemctl", '[[ "$1" != start ]] || exit 1')),
    ("mountpoint", "config.json: [Errno 2]", empty_bucket),
    ("lustre", "is not mounted", lambda host: host.stub("mountpoint", "exit 1")),
    ("sync", f"{SHARD}: No such file", lambda host: (host.root / FOLDER.lstrip("/") / SHARD).unlink()),
    ("sync", "is not mounted", lambda host: host.stub("mountpoint", "exit 1")),
    (
        "mountpoint",
        "set up by version 1 of the launch template, the group has version 2 now",
        lambda host: host.set_group("Pending:Wait", wanted_version=2),
    ),
    ("mountpoint", "its state is Terminating", lambda host: host.set_group("Terminating")),
]


@pytest.mark.parametrize(("source", "reason", "lose"), LOST, ids=[f"{row[0]}-{row[1]}" for row in LOST])
def test_host_that_lost_something_while_it_was_stopped_is_replaced(
    tmp_path: Path, source: str, reason: str, lose: Callable[[InferenceHost], object]
) -> None:
    host = set_up(tmp_path, source, warm=1)
    host.reboot("Pending:Wait")
    lose(host)
    outcome = host.service(PROOF)

    assert outcome.status != 0
    assert not host.is_proven
    assert answers(outcome) == []

    follows = host.service(FAILED)

    assert follows.status == 0, follows.stderr
    assert answers(follows) in (["ABANDON"], ["Unhealthy"])
    assert reason in host.sent_reason()


def test_failed_host_in_service_is_reported_unhealthy(tmp_path: Path) -> None:
    host = set_up(tmp_path)
    host.set_group("InService")
    outcome = host.service(FAILED)

    assert answers(outcome) == ["Unhealthy"]
    assert [call for call in outcome.calls if "--instance-id i-0123456789abcdef0 --health-status Unhealthy" in call]


def test_host_is_replaced_even_if_its_reason_cannot_be_sent(tmp_path: Path) -> None:
    host = set_up(tmp_path)
    host.stub_first("aws", '[[ "$*" != *" logs "* && "$*" != *cloudwatch* ]] || exit 255')
    outcome = host.service(FAILED)

    assert answers(outcome) == ["ABANDON"]
    assert "the reason is in" in outcome.stderr


def test_group_that_does_not_answer_is_asked_again(tmp_path: Path) -> None:
    host = set_up(tmp_path)
    host.stub_first(
        "aws",
        '[[ "$*" != *describe-auto* ]] || (($(grep -c describe-auto "$STATE/calls") > 2)) || exit 255',
    )
    host.stub_first("aws", '[[ "$*" != *set-instance-health* ]] || exit 255')
    outcome = host.service(FAILED, SLIPWAY_REPLACE_SECONDS="60")

    assert outcome.status == 0, outcome.stderr
    assert answers(outcome)[-1] == "ABANDON"


def watch(host: InferenceHost, **environment: str) -> str:
    """Run the watchdog until it gives the host up; return what it said."""
    sleep = shutil.which("sleep")
    # A look waits in steps of a second, here of a twentieth; between looks it does not wait at all.
    host.stub("sleep", f'[[ "$1" == 0 ]] || exec "{sleep}" 0.05\n: >>"$STATE/rounds"\nprintf . >>"$STATE/rounds"')
    outcome = host.service(WATCHDOG, **{"SLIPWAY_PROBE_SECONDS": "40"} | environment)

    assert outcome.status != 0
    return outcome.stdout + outcome.stderr


AFTER_FIVE = '[[ "$(wc -c <"$STATE/rounds")" -lt 6 ]] ||'


def test_watchdog_says_nothing_while_all_is_well_and_gives_up_after_three_looks(tmp_path: Path) -> None:
    host = set_up(tmp_path)
    host.stub_first("mountpoint", f"{AFTER_FIVE} exit 1")
    said = watch(host)

    assert (host.state / "rounds").read_text() == "." * 8
    assert said.count("/mnt/models/tanuki-8b/v1 is not mounted (") == 3
    assert "FAILED at step 'watch the host'" in host.read(LOG)


def test_fault_that_passes_is_forgotten(tmp_path: Path) -> None:
    host = set_up(tmp_path)
    host.stub_first("mountpoint", 'case "$(wc -c <"$STATE/rounds")" in 2 | 3 | 5 | 6 | 8 | 9 | 10) exit 1 ;; esac')
    watch(host)

    assert (host.state / "rounds").read_text() == "." * 10


@pytest.mark.parametrize(
    ("reason", "break_host"),
    [
        ("0 of 1 Neuron devices", lambda host: (host.root / "dev/neuron0").unlink()),
        (
            "Transport endpoint is not connected",
            lambda host: host.stub("ls", 'echo "ls: cannot open: Transport endpoint is not connected" >&2; exit 2'),
        ),
        (
            "config.json' for reading: No such file or directory",
            lambda host: (host.root / FOLDER.lstrip("/") / "config.json").unlink(),
        ),
    ],
)
def test_watchdog_says_what_is_gone(tmp_path: Path, reason: str, break_host: Callable[[InferenceHost], object]) -> None:
    host = set_up(tmp_path)
    break_host(host)

    assert watch(host).count(reason) == 4


def test_read_that_hangs_is_waited_for_longer_and_not_for_ever(tmp_path: Path) -> None:
    host = set_up(tmp_path)
    host.stub("ls", f'trap "" TERM; exec "{shutil.which("sleep")}" 20')
    said = watch(host, SLIPWAY_PROBE_SECONDS="1")

    assert f"{FOLDER} does not answer within 1 s (0 of 3, silent 20 of 20)" in said


def test_watchdog_watches_only_a_host_that_takes_tasks() -> None:
    assert "ExecCondition=/usr/bin/test -e /run/slipway/host-proven\n" in (SCRIPTS / WATCHDOG).read_text()


def parsed(text: str) -> ConfigParser:
    """Return a unit's sections and settings."""
    parser = ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_run_scripts_that_are_there(unit: Path) -> None:
    parser = parsed(unit.read_text(encoding="utf-8"))
    named = re.findall(r"/opt/slipway/host/(\S+)", parser["Service"]["ExecStart"])

    assert named
    assert {name for name in named if not (SCRIPTS / name).exists()} == set()
    assert parser["Unit"].get("OnFailure") == (FAILED if unit.name in {PROOF, WATCHDOG} else None)
    if program := shutil.which("systemd-analyze"):
        check = subprocess.run([program, "verify", str(unit)], capture_output=True, text=True, check=False)
        assert unit.name not in check.stderr, check.stderr


def test_agent_needs_the_proof_and_comes_after_it(tmp_path: Path) -> None:
    drop_in = parsed(set_up(tmp_path).read(DROP_IN))
    proof = parsed((SCRIPTS / PROOF).read_text())

    assert drop_in["Unit"]["Requires"] == drop_in["Unit"]["After"] == PROOF
    assert proof["Unit"]["Before"] == "ecs.service"


def test_readme_has_every_file_and_every_variable() -> None:
    readme = (SCRIPTS.parent / "README.md").read_text(encoding="utf-8")
    text = " ".join(readme.split())
    state = (SCRIPTS / "host_state.sh").read_text(encoding="utf-8")
    variables = set(re.findall(r"SLIPWAY_[A-Z_]+", state.split("HOST_VARIABLES=(")[1].split(")")[0]))
    scripts = "".join(path.read_text(encoding="utf-8") for path in SCRIPTS.glob("*.sh"))
    limits = set(re.findall(r"\$\{(SLIPWAY_[A-Z]+_SECONDS):-", scripts))

    assert {path.name for path in SCRIPTS.iterdir() if path.is_file() and f"{path.name}`" not in readme} == set()
    assert variables <= set(re.findall(r"^\| `(SLIPWAY_[A-Z_]+)`", readme, re.MULTILINE))
    assert {name for name in limits if f"`{name}` (" not in text} == set()


def test_metrics_of_a_host_have_cluster_and_service_as_dimensions(tmp_path: Path) -> None:
    host = set_up(tmp_path)
    here = node(str(host.root / "etc/slipway/host.conf"))

    assert (here.region, here.namespace) == ("us-west-2", "Slipway/Inference")
    data = metric_data({"NeuronDevices": [1.0]}, here.cluster, here.part, here.kind)
    assert [[dimension["Name"] for dimension in each["Dimensions"]] for each in data] == [
        ["ClusterName"],
        ["ClusterName", "ServiceName"],
    ]
    assert json.dumps(data).count("tanuki-8b") == 1
