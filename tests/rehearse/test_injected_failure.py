"""A resource that AWS refuses, deployed with the real CDK CLI to the real emulator: it is rolled back and reported."""

import pytest
from rich.console import Console

from slipway.project import PROJECT
from slipway.rehearse import phases
from slipway.rehearse.assembly import Assembly
from slipway.rehearse.folder import LockedFolder, RunFolder
from slipway.rehearse.phases import Phase
from slipway.rehearse.progress import Progress
from slipway.rehearse.rehearsal import Rehearsal
from slipway.rehearse.report import Report
from slipway.rehearse.session import Session
from slipway.rehearse.toolchain import Toolchain
from tests.rehearse.fakes import assembly_files, processes_left_in, subject

STACK = "slipway-injected-network"
VPC = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.40.0.0/16"}}
OUTSIDE = {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "192.168.0.0/24"}}
CLEAN_UP = tuple(phase for phase in phases.PHASES if phase.cleans_up)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return RunFolder(tmp_path_factory.mktemp("rehearsal") / "injected")


@pytest.fixture(scope="module")
def report(folder: RunFolder) -> Report:
    """The rehearsal of a stack whose subnet is outside its VPC, without the phases that need an environment file."""

    def read_assembly(session: Session) -> str:
        folder.assembly.mkdir()
        for name, text in assembly_files({STACK: {"Vpc": VPC, "Subnet": OUTSIDE}}).items():
            (folder.assembly / name).write_text(text, encoding="utf-8")
        session.assembly = Assembly.read(folder.assembly)
        return ""

    plan = (
        Phase("assembly", "assembly with a defect", read_assembly),
        *(phase for phase in phases.PHASES if phase.name in ("emulator", "inventory-before", "deploy")),
        *CLEAN_UP,
    )
    with LockedFolder(folder):
        session = Session(subject(), Toolchain.of_project(PROJECT), folder, Progress(Console(force_terminal=False)))
        return Rehearsal(session, plan).run()


def test_the_run_fails_at_the_deployment_alone(report: Report) -> None:
    assert report.outcome == "failed"
    assert {phase.name for phase in report.phases if phase.outcome == "failed"} == {"deploy"}


def test_the_failed_resource_and_the_reason_are_reported(report: Report) -> None:
    (failure,) = report.failures
    assert (failure.stack, failure.logical_id, failure.type) == (STACK, "Subnet", "AWS::EC2::Subnet")
    assert "192.168.0.0/24" in failure.reason
    deploy = next(phase for phase in report.phases if phase.name == "deploy")
    assert "Subnet" in deploy.detail
    assert "192.168.0.0/24" in deploy.detail


def test_what_was_created_before_it_is_rolled_back(report: Report) -> None:
    (stack,) = report.stacks
    assert (stack.created, stack.deleted) == (1, 1)
    assert report.leftovers == ()


def test_no_process_is_left(report: Report, folder: RunFolder) -> None:
    assert report.outcome == "failed"
    assert processes_left_in(folder.root) == []
