"""`slipway pause` and `slipway resume` on an environment in moto."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from moto.ecs.models import EC2ContainerServiceBackend
from moto.eks.models import EKSBackend
from moto.sts.models import STSBackend
from typer.testing import CliRunner, Result

from slipway.assembly.stacks import read_stacks
from slipway.cli import app
from slipway.operate.resume.bill import paused_usd_per_hour, said_paused
from slipway.operate.resume.targets import read_targets
from slipway.review.cost.estimate import estimate
from slipway_pause.environment import Targets, stop
from tests.assembly import Assembly
from tests.pause.conftest import _credentials, empty, world
from tests.pause.test_stop_and_start import refused
from tests.pause.world import ECS, EKS, SLURM, TARGETS, World
from tests.remove.teardown.fakes import write_assembly

__all__ = ["_credentials", "empty", "world"]


def service(name: str, **properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::ECS::Service", "Properties": {"ServiceName": name, **properties}}


@pytest.fixture
def assembly(tmp_path: Path, default: Assembly) -> Path:
    """The cloud assembly of the environment in moto; its Slurm cluster is as the default environment's."""
    configuration = default.resource("training", "Custom::PclusterCluster")["ClusterConfiguration"]
    cluster = {"ClusterName": SLURM, "ClusterConfiguration": configuration}
    return write_assembly(
        tmp_path / "assembly",
        {
            "slipway-test-training": {"Cluster": {"Type": "Custom::PclusterCluster", "Properties": cluster}},
            "slipway-test-kubernetes": {"Cluster": {"Type": "AWS::EKS::Cluster", "Properties": {"Name": EKS}}},
            "slipway-test-inference": {
                "Cluster": {"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": ECS}},
                "Tanuki": service("tanuki"),
                "Candidate": service("tanuki-candidate"),
                "Watcher": service("watcher", SchedulingStrategy="DAEMON"),
            },
        },
        tags={"slipway:environment": "test"},
    )


def run(command: str, assembly: Path, *options: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, [command, "--assembly", str(assembly), *options], input=typed)


def test_a_pause_and_a_resumption_leave_no_trace(world: World, assembly: Path) -> None:
    before = world.state()
    paused = run("pause", assembly, typed="y\n")
    world.set_fleet("STOPPED")
    resumed = run("resume", assembly, typed="y\n")

    assert (paused.exit_code, resumed.exit_code) == (0, 0), paused.output + resumed.output
    assert world.state() == replace(before, fleet="START_REQUESTED")
    assert "Jobs that run end with their nodes" in paused.output.partition("Stop them?")[0]
    assert "what exists continues to bill about" in paused.output
    assert "`slipway resume -e test` starts it again" in paused.output
    assert "node group trn1 of slipway-test-kubernetes: 3 nodes\n" in resumed.output
    assert "From then on it costs about" in resumed.output
    warned, _, _ = resumed.output.partition("Start them?")
    assert "until the next one nothing does, however much is spent" in warned


def test_what_the_budget_has_stopped_is_resumed(world: World, assembly: Path) -> None:
    before = world.state()
    stop(TARGETS, world.session)
    world.set_fleet("STOPPED")

    assert run("resume", assembly, "--yes").exit_code == 0
    assert world.state() == replace(before, fleet="START_REQUESTED")


def test_nothing_is_resumed_that_nobody_stopped(world: World, assembly: Path) -> None:
    before = world.state()
    result = run("resume", assembly, "--yes")

    assert result.exit_code == 2
    assert "nothing of environment test (account 123456789012, us-west-2) was stopped by its budget" in result.output
    assert world.state() == before


@pytest.mark.parametrize("typed", ["n\n", ""])
def test_without_a_yes_nothing_is_changed(world: World, assembly: Path, typed: str) -> None:
    before = world.state()

    assert run("pause", assembly, typed=typed).exit_code == 2
    assert world.state() == before
    stop(TARGETS, world.session)
    stopped = world.state()
    assert run("resume", assembly, typed=typed).exit_code == 2
    assert world.state() == stopped


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_where_nothing_is_deployed_nothing_is_done(empty: World, assembly: Path, command: str) -> None:
    result = run(command, assembly, "--yes")

    assert result.exit_code == 2
    assert "nothing of environment test" in result.output


def test_a_refusal_is_a_failure_and_everything_else_is_stopped(
    world: World, assembly: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refused(monkeypatch, EC2ContainerServiceBackend, "update_service", "AccessDeniedException"):
        result = run("pause", assembly, "--yes")

    assert result.exit_code == 1
    assert "FAILED: inference service tanuki: " in result.output
    assert "2 of 5 parts are not as they should be" in result.output
    assert world.state().fleet == "STOP_REQUESTED"


def test_when_aws_does_not_say_what_runs_nothing_is_changed(
    world: World, assembly: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = world.state()
    with refused(monkeypatch, EKSBackend, "list_nodegroups", "AccessDeniedException"):
        result = run("pause", assembly, "--yes")

    assert result.exit_code == 2
    assert "AWS does not say what runs: node groups of slipway-test-kubernetes" in result.output
    assert world.state() == before


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_a_profile_that_does_not_exist_is_told_in_a_sentence(
    assembly: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nope")
    result = run(command, assembly, "--yes")

    assert result.exit_code == 2
    assert result.output == (
        "no AWS account: The config profile (nope) could not be found. "
        "Log in, or set AWS_PROFILE. Nothing was changed\n"
    )


def test_the_full_stop_of_aws_words_is_not_doubled(
    world: World, assembly: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refused(monkeypatch, STSBackend, "get_caller_identity", "InvalidClientTokenId", "The token is invalid."):
        result = run("pause", assembly, "--yes")

    assert result.exit_code == 2
    assert "The token is invalid. Log in, or set AWS_PROFILE. Nothing was changed" in result.output


def test_a_tag_that_somebody_else_has_written_is_told(world: World, assembly: Path) -> None:
    stop(TARGETS, world.session)
    ecs = world.client("ecs")
    [arn, *_] = ecs.list_services(cluster=ECS)["serviceArns"]
    ecs.tag_resource(resourceArn=arn, tags=[{"key": "slipway:paused", "value": "yes"}])
    before = world.state()
    result = run("resume", assembly, "--yes")

    assert result.exit_code == 2
    assert "the tag slipway:paused is not Slipway's: yes. Nothing was changed" in result.output
    assert world.state() == before


@pytest.mark.parametrize("options", [[], ["-e", "default", "--assembly", "somewhere"]])
def test_one_environment_is_named_in_one_way(options: list[str]) -> None:
    result = CliRunner().invoke(app, ["pause", *options])

    assert result.exit_code == 2
    assert "say which environment: -e NAME, or --assembly FOLDER; one of them" in result.output


def test_the_targets_are_those_that_the_budgets_function_is_given(each_assembly: Assembly) -> None:
    stacks = read_stacks(each_assembly.directory)
    functions = each_assembly.resources("operations", "AWS::Lambda::Function").values()

    for function in functions:
        written = function["Properties"]["Environment"]["Variables"]["SLIPWAY_TARGETS"]
        assert read_targets(stacks) == Targets.read(written)
    assert read_targets(stacks) != Targets()


def test_paused_it_costs_what_is_neither_a_node_of_jobs_nor_a_host_of_a_model(default: Assembly) -> None:
    cost = estimate(read_stacks(default.directory))
    hosts = [line for line in cost.lines if line.resource_type == "AWS::AutoScaling::AutoScalingGroup"]
    of_hosts = sum(line.idle_usd_per_hour or 0.0 for line in hosts)

    assert of_hosts > 0.7
    assert paused_usd_per_hour(cost) == pytest.approx(cost.idle_usd_per_hour - of_hosts)


def test_capacity_that_is_reserved_bills_on_although_no_node_runs(assemblies: Any) -> None:
    def said(assembly: Assembly) -> str:
        return said_paused(estimate(read_stacks(assembly.directory)))

    assert "without capacity reservations, which bill on in full" in said(assemblies("beside"))
    assert "reservation" not in said(assemblies("default"))
