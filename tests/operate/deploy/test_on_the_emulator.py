"""`slipway deploy` with the real CDK CLI against the emulator: a failure, an interrupt, and what continues it."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import boto3
import pytest

from slipway.aws.stacks import DeployedStack, deployed_stacks
from slipway.project import PROJECT
from slipway.rehearse import phases
from slipway.rehearse.isolation import only_variables
from slipway.rehearse.session import Session
from tests.assembly import environment_path
from tests.operate.endpoint.test_load import AS_IN_A_TERMINAL
from tests.rehearse.sessions import EMPTY_ACCOUNT, emulated

pytestmark = pytest.mark.rehearsal

ENVIRONMENT = "small"
CLUSTER = "trainium-small"
TRAINING = "slipway-small-training"
TEMPLATE = '{"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}'


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """An empty account, not bootstrapped; the tests go in their order."""
    with emulated(environment_path(ENVIRONMENT), tmp_path_factory.mktemp("run"), EMPTY_ACCOUNT) as session:
        yield session


COMMAND = (sys.executable, "-m", "slipway", "deploy", "-e", ENVIRONMENT)


def variables(session: Session) -> dict[str, str]:
    assert session.emulated is not None
    return session.emulated.variables


def deploy(session: Session, *choice: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (*COMMAND[:4], *(choice or COMMAND[4:])),
        cwd=PROJECT,
        env=variables(session),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_account_that_is_not_bootstrapped_is_named_with_what_to_do(session: Session) -> None:
    done = deploy(session)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "SSM parameter /cdk-bootstrap/" in done.stderr
    assert "do: `npx cdk bootstrap aws://ACCOUNT/REGION`" in done.stderr


def test_the_first_cause_is_said_not_what_failed_because_of_it(session: Session) -> None:
    phases.bootstrap(session)
    with only_variables(variables(session)):
        boto3.client("cloudformation").create_stack(StackName=CLUSTER, TemplateBody=TEMPLATE)

    done = deploy(session)

    assert done.returncode == 1, done.stdout + done.stderr
    first = next(line for line in done.stderr.splitlines() if line.startswith("failed first: "))
    assert first.startswith(f"failed first: {TRAINING}/")
    assert "(Custom::PclusterCluster), CREATE_FAILED" in first
    assert "`slipway docs troubleshooting#deployment`" in done.stderr
    with only_variables(variables(session)):
        boto3.client("cloudformation").delete_stack(StackName=CLUSTER)


def test_an_interrupt_says_what_stands_and_the_same_command_continues(session: Session) -> None:
    command = (sys.executable, "-c", AS_IN_A_TERMINAL, *COMMAND[3:])
    with subprocess.Popen(
        command, cwd=PROJECT, env=variables(session), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        # By AWS's word and not by the output's, which may come when the stack is done.
        with only_variables(variables(session)):
            wait_until(lambda stacks: TRAINING in stacks and stacks[TRAINING].is_being_deployed, process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()

    assert process.returncode == 130, said
    assert f"{TRAINING}: " in said
    assert "slipway-small-network: CREATE_COMPLETE" in said
    assert f"`slipway deploy -e {ENVIRONMENT}` continues" in said
    with only_variables(variables(session)):
        wait_until(lambda stacks: not any(stack.is_being_deployed for stack in stacks.values()))
    continued = deploy(session)
    assert continued.returncode == 0, continued.stdout + continued.stderr
    assert "deployed in " in continued.stdout
    assert "HeadNodeSession: aws ssm start-session" in continued.stdout


def wait_until(
    reached: Callable[[dict[str, DeployedStack]], bool], process: subprocess.Popen[str] | None = None
) -> None:
    cloudformation = boto3.client("cloudformation")
    while not reached(deployed_stacks(cloudformation)):
        assert process is None or process.poll() is None, "it ended before it was interrupted"
        time.sleep(0.1)


def test_the_same_again_changes_nothing_and_a_terminal_shows_a_line_for_each_stack(session: Session) -> None:
    assert session.emulated is not None
    session.emulated.ledger.poll()
    start = len(session.emulated.ledger.resources())
    terminal, end = pty.openpty()
    shown = {name: value for name, value in variables(session).items() if name not in ("CI", "NO_COLOR")}
    process = subprocess.Popen(
        COMMAND, cwd=PROJECT, env=shown | {"TERM": "xterm", "COLUMNS": "80"}, stdin=end, stdout=end, stderr=end
    )
    os.close(end)
    screen = read_all(terminal)

    assert process.wait() == 0, screen
    for stack in ("network", "storage", "training"):
        assert f"slipway-{ENVIRONMENT}-{stack}" in screen
    assert " so far, about " in screen
    session.emulated.ledger.poll()
    assert len(session.emulated.ledger.resources()) == start


def test_an_assembly_that_was_planned_is_deployed_and_nothing_is_written_beside_it(session: Session) -> None:
    planned = session.folder.assembly
    before = set(planned.parent.iterdir())

    done = deploy(session, "--assembly", str(planned))

    assert done.returncode == 0, done.stdout + done.stderr
    assert "HeadNodeSession: aws ssm start-session" in done.stdout
    assert set(planned.parent.iterdir()) == before


def test_the_status_of_what_was_deployed_is_read_from_the_real_stacks(session: Session) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "slipway", "status", "-e", ENVIRONMENT, "--json"],
        cwd=PROJECT,
        env=variables(session),
        capture_output=True,
        text=True,
        check=False,
    )

    found = json.loads(said.stdout)
    assert {row["name"] for row in found["stacks"]} >= {TRAINING, CLUSTER}
    assert any(row["group"] == "head node" for row in found["nodes"])
    assert [(row["name"], row["served"]) for row in found["models"]] == [("small-llama", None)]
    assert set(found["links"]) == {"SmallLlama", "dashboard", "shell"}
    # The emulated head node answers nothing.
    assert (set(found["unknown"]), said.returncode) == ({"jobs"}, 2), found["unknown"]


def read_all(terminal: int) -> str:
    said = b""
    while True:
        try:
            said += os.read(terminal, 65536)
        except OSError:  # the other end is closed
            return said.decode()
