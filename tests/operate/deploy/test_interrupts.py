"""Ctrl-C at each phase of `slipway deploy` and `slipway destroy`: the command that is printed goes on to the end."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import boto3
import pytest

from slipway.aws.stacks import DeployedStack, deployed_stacks
from slipway.project import PROJECT
from slipway.rehearse import phases
from slipway.rehearse.deploy_roles import DeployRoles
from slipway.rehearse.isolation import only_variables
from slipway.rehearse.session import Session
from tests.assembly import environment_path
from tests.operate.endpoint.test_load import AS_IN_A_TERMINAL
from tests.rehearse.sessions import EMPTY_ACCOUNT, emulated

pytestmark = pytest.mark.nightly

NAME = "small"
LONGEST = 300.0
"""Seconds that CloudFormation may take for what it began."""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    until = (*EMPTY_ACCOUNT, phases.bootstrap)
    with emulated(environment_path(NAME), tmp_path / "run", until) as session:
        yield session


def test_ctrl_c_at_each_phase(session: Session, record_property: Callable[[str, object], None]) -> None:
    """Ctrl-C at each phase of `slipway deploy` and `slipway destroy`."""
    flags = ("--yes", "--without-export", "--with-running-jobs", "--unprotect")
    assert session.assembly

    deployed = interrupt_at_each_stack(session, ("slipway", "deploy", "-e", NAME), "CREATE_IN_PROGRESS")
    changed = change(session)
    updated = interrupt_at_each_stack(session, ("slipway", "deploy", "-e", changed), "UPDATE_IN_PROGRESS")
    destroy = ("slipway", "destroy", "-e", changed, *flags)
    destroyed = interrupt_at_each_stack(session, destroy, "DELETE_IN_PROGRESS", exit_code=2)

    assert set(deployed) == set(destroyed) == session.assembly.stack_names
    assert updated, "no update was seen"
    phases.find_leftovers(session)
    record_property("fault", "Ctrl-C at each phase of `slipway deploy` and `slipway destroy`")
    for what, at in {"creation": deployed, "update": updated, "deletion": destroyed}.items():
        record_property("seen", f"{what}: before AWS is asked, and at {len(at)} stacks; the printed command continues")
    record_property("seen", "at the end nothing is left but what is documented")


def change(session: Session) -> str:
    """Change the environment file and give the roles what that needs; answers the file."""
    phases.change(session)
    assert session.changed_assembly
    with only_variables(variables(session)):
        roles = DeployRoles(session.changed_assembly)
        roles.attach_execution_policies(roles.make_execution_policies())
    return str(session.folder.changed_environment)


def interrupt_at_each_stack(
    session: Session, command: tuple[str, ...], status: str, exit_code: int = 0
) -> tuple[str, ...]:
    """Interrupt a command before it asks AWS, then once while each stack has a status, then run it to its end.

    Each time the command that the last one printed is run. Answers the stacks in their order.

    Args:
        session: where.
        command: what.
        status: of a stack that the command works on.
        exit_code: at the end. Of `slipway destroy` it is 2: the emulator lists no placement groups, so that nobody can
            say whether one is left.
    """
    seen: list[str] = []
    before = stacks(session)
    with running(session, command) as process:
        while not Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text():
            time.sleep(0.05)  # until it synthesizes
        interrupt(process)
    assert stacks(session) == before
    while True:
        with running(session, command) as process:
            stack = first_new(session, process, status, seen)
            if stack is None:
                said, errors = process.communicate()
                assert process.returncode == exit_code, said + errors
                assert "NOT DELETED" not in said
                return tuple(seen)
            printed = re.search(r"`(slipway [^`]*)` (continues|finishes it)", interrupt(process))
        seen += [stack, *at_work(session, status, (*seen, stack))]  # the CDK CLI works on several stacks at a time
        assert printed
        command = tuple(shlex.split(printed[1]))
        wait_until_settled(session)


def running(session: Session, command: tuple[str, ...]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        (sys.executable, "-c", AS_IN_A_TERMINAL, *command[1:]),
        cwd=PROJECT,
        env=variables(session),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def variables(session: Session) -> dict[str, str]:
    assert session.emulated is not None
    return session.emulated.variables


def interrupt(process: subprocess.Popen[str]) -> str:
    """Press Ctrl-C, which reaches all processes of the terminal; answers what the command says."""
    os.killpg(process.pid, signal.SIGINT)
    said, errors = process.communicate()
    assert process.returncode == 130, said + errors
    assert "Traceback" not in errors
    return errors


def first_new(session: Session, process: subprocess.Popen[str], status: str, seen: Collection[str]) -> str | None:
    """Wait for a stack that has a status and was not seen; None: the command ended before."""
    while process.poll() is None:
        if found := at_work(session, status, seen):
            return found[0]
        time.sleep(0.05)
    return None


def at_work(session: Session, status: str, seen: Collection[str]) -> list[str]:
    """Return the stacks of the environment that have a status and were not seen."""
    assert session.assembly
    own = session.assembly.stack_names - set(seen)
    return [name for name, stack in stacks(session).items() if stack.status == status and name in own]


def wait_until_settled(session: Session) -> None:
    """Wait until CloudFormation has done what it began. A change set that nobody executes stays in review."""
    deadline = time.monotonic() + LONGEST
    busy = "DELETE_IN_PROGRESS"
    while any(stack.is_being_deployed or stack.status == busy for stack in stacks(session).values()):
        assert time.monotonic() < deadline, stacks(session)
        time.sleep(0.1)


def stacks(session: Session) -> dict[str, DeployedStack]:
    with only_variables(variables(session)):
        return deployed_stacks(boto3.client("cloudformation"))
