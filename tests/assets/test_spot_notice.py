"""The service of a Spot node: what it does at EC2's notice, that it does it once, and that it starts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.assets.cluster_node import NODE_NAME, PLAIN, STACK, ClusterNode
from tests.assets.instance_metadata import NOTICE, instance_metadata
from tests.assets.sandbox import ASSETS, Outcome, Sandbox

SCRIPT = ASSETS / "cluster" / "spot_notice.sh"
DRAIN = f"scontrol update nodename={NODE_NAME} state=drain reason=slipway: Spot, terminate at 2017-09-18T08:22:00Z"
# As `squeue --format='%A|%j|%k'` prints them: of the kit, and of others with and without a comment.
JOBS = "7|llama-train|llama-train\\n8|sweep|my sweep\\n9|wrap|\\n"


@pytest.fixture
def node(tmp_path: Path) -> Sandbox:
    node = Sandbox(tmp_path)
    (node.root / "opt" / "slurm").mkdir(parents=True)
    # Where the script looks for Slurm's commands first: all others are found there too.
    (node.root / "opt" / "slurm" / "bin").symlink_to(node.programs)
    node.write("/etc/parallelcluster/slurm_plugin/slurm_nodename", NODE_NAME)
    (node.root / "run").mkdir()
    for command, body in {
        "logger": "",
        "scancel": "",
        "scontrol": "",
        "sleep": "",
        "squeue": f'printf "{JOBS}"',
    }.items():
        node.stub(command, body)
    return node


def listen(node: Sandbox, *answers: tuple[int, str]) -> Outcome:
    with instance_metadata(*answers) as service:
        return node.run(SCRIPT, SLIPWAY_METADATA_SERVICE=service.address)


def test_at_the_notice_the_node_is_drained_and_the_kits_jobs_are_told(node: Sandbox) -> None:
    outcome = listen(node, (404, ""), (404, ""), (200, NOTICE))

    assert outcome.status == 0, outcome.stderr
    assert outcome.calls_of("sleep") == ["sleep 5"] * 2
    assert outcome.calls_of("scontrol") == [DRAIN]
    assert outcome.calls_of("squeue") == [
        f"squeue --noheader --nodelist={NODE_NAME} --states=RUNNING --format=%A|%j|%k",
    ]
    assert outcome.calls_of("scancel") == ["scancel --batch --signal=USR1 7"]
    assert "job 8 (sweep) is not slipway-job's" in outcome.stderr
    assert (
        f"logger --tag slipway spot notice: EC2 takes {NODE_NAME}: terminate at 2017-09-18T08:22:00Z" in outcome.calls
    )


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ('{"action":"stop","time":"2017-09-18T08:22:00Z"}', "stop at 2017-09-18T08:22:00Z"),
        ('{\n  "time": "2017-09-18T08:22:00Z",\n  "action": "terminate"\n}\n', "terminate at 2017-09-18T08:22:00Z"),
        ('{"action": "hibernate"}', "hibernate soon"),
    ],
)
def test_a_notice_is_read_however_it_is_written(node: Sandbox, document: str, reason: str) -> None:
    [drained] = listen(node, (200, document)).calls_of("scontrol")

    assert drained.endswith(f"reason=slipway: Spot, {reason}")


def test_a_service_that_starts_again_tells_nobody_twice(node: Sandbox) -> None:
    listen(node, (200, NOTICE))

    again = listen(node, (200, NOTICE))

    assert (again.status, again.calls) == (0, [])


@pytest.mark.parametrize("answer", [(404, ""), (500, ""), (401, ""), (200, ""), (200, "<html>action</html>")])
def test_what_is_no_notice_is_none(node: Sandbox, answer: tuple[int, str]) -> None:
    node.stub("sleep", 'printf x >>"$STATE/naps"; [[ "$(cat "$STATE/naps")" != xxx ]]')

    # It ends with the third nap.
    outcome = listen(node, answer)

    assert outcome.status == 1
    assert set(outcome.calls) == {"sleep 5"}


def test_it_waits_for_a_metadata_service_that_does_not_answer(node: Sandbox) -> None:
    node.stub("sleep", "exit 1")

    outcome = node.run(SCRIPT, SLIPWAY_METADATA_SERVICE="http://127.0.0.1:9/latest")

    assert (outcome.status, outcome.calls) == (1, ["sleep 5"])


@pytest.mark.parametrize("command", ["scontrol", "squeue", "scancel"])
def test_a_command_of_slurm_that_fails_is_tried_again(node: Sandbox, command: str) -> None:
    node.stub_first(command, f'[[ -e "$STATE/{command}" ]] || {{ : >"$STATE/{command}"; exit 1; }}')

    outcome = listen(node, (200, NOTICE))

    assert outcome.status == 0
    assert len(outcome.calls_of(command)) == 2
    assert "was told to save" in outcome.stderr
    assert "did not" not in outcome.stderr


def test_a_controller_that_stays_away_is_said_and_waited_for_so_long(node: Sandbox) -> None:
    for command in ("scontrol", "squeue"):
        node.stub(command, "exit 1")

    outcome = listen(node, (200, NOTICE))

    assert outcome.status == 0
    assert len(outcome.calls_of("scontrol")) == len(outcome.calls_of("squeue")) == 3
    assert f"slurmctld did not drain {NODE_NAME}" in outcome.stderr
    assert "none was told" in outcome.stderr


def test_a_node_without_jobs_is_drained(node: Sandbox) -> None:
    node.stub("squeue")

    outcome = listen(node, (200, NOTICE))

    assert outcome.calls_of("scontrol") == [DRAIN]
    assert not outcome.calls_of("scancel")


@pytest.mark.parametrize("stack", [STACK, "none"])
def test_a_spot_node_listens_for_the_notice_that_ec2_takes_it(ubuntu: ClusterNode, stack: str) -> None:
    (ubuntu.state / "life_cycle").write_text("spot", encoding="utf-8")

    outcome = ubuntu.set_up_compute(*(() if stack == STACK else (PLAIN,)), stack=stack)

    assert outcome.status == 0, outcome.stderr
    assert "systemctl enable --quiet --now slipway-spot-notice.service" in outcome.calls
    unit = ubuntu.read("/etc/systemd/system/slipway-spot-notice.service")
    started = re.findall(r"^ExecStart=/bin/bash (.*)$", unit, re.MULTILINE)
    assert [(ubuntu.root / name.lstrip("/")).is_file() for name in started] == [True]


def test_other_nodes_do_not(ubuntu: ClusterNode) -> None:
    assert not [call for call in ubuntu.set_up_compute().calls if "spot-notice" in call and "s3" not in call]
    assert not (ubuntu.root / "etc/systemd/system/slipway-spot-notice.service").exists()


@pytest.mark.parametrize(
    ("command", "body", "said"),
    [
        ("curl", '[[ "$*" != *life-cycle ]] || exit 22', "does not say whether"),
        ("systemctl", '[[ "$*" != *spot-notice* ]]', "slipway-spot-notice.service does not start"),
    ],
)
def test_a_node_that_cannot_listen_trains(ubuntu: ClusterNode, command: str, body: str, said: str) -> None:
    (ubuntu.state / "life_cycle").write_text("spot", encoding="utf-8")
    ubuntu.stub_first(command, body if command == "curl" else f"{body} || exit 1")

    outcome = ubuntu.set_up_compute()

    assert outcome.status == 0, outcome.stderr
    assert "NO SPOT NOTICE: " in outcome.stderr
    assert said in outcome.stderr
