"""What is stopped is at zero and stays there, and runs afterwards exactly as it did."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moto import mock_aws
from moto.ecs.models import EC2ContainerServiceBackend
from moto.eks.models import EKSBackend

from slipway_pause.environment import Targets, start, stop
from slipway_pause.fleet import ComputeFleet
from slipway_pause.launches import ROLE, Launches
from slipway_pause.part import TAG, StateError
from tests.pause.world import ECS, EKS, REGION, SLURM, TARGETS, NodeGroupState, ServiceState, State, World

COUNTS = st.integers(0, 20)


@contextmanager
def refused(
    patch: pytest.MonkeyPatch, backend: type, operation: str, code: str, message: str = "not now"
) -> Iterator[None]:
    """Have AWS refuse one operation."""

    def refuse(*_: Any, **__: Any) -> None:
        raise ClientError({"Error": {"Code": code, "Message": message}}, operation)

    with patch.context() as within:
        within.setattr(backend, operation, refuse)
        yield


def test_all_that_costs_by_the_hour_for_jobs_and_requests_is_stopped(world: World) -> None:
    outcomes = stop(TARGETS, world.session)
    after = world.state()

    assert not any(outcome.failed for outcome in outcomes)
    assert after.fleet == "STOP_REQUESTED"
    assert after.services["tanuki"] == ServiceState(0, (0, 4), (True, True, True))
    assert after.services["tanuki-candidate"].desired == 0
    assert (after.node_groups["trn1"], after.node_groups["cpu"]) == (NodeGroupState(0, 0, 4), NodeGroupState(0, 0, 2))
    assert after.held == {"trn1", "cpu"}
    assert after.node_groups["core"] == State().node_groups["core"]
    assert {outcome.part for outcome in outcomes} == {
        f"compute fleet of {SLURM}",
        "inference service tanuki",
        "inference service tanuki-candidate",
        f"node group trn1 of {EKS}",
        f"node group cpu of {EKS}",
    }


def test_stopped_once_more_it_remembers_how_it_ran_the_first_time(world: World) -> None:
    before = world.state()
    stop(TARGETS, world.session)
    once = world.state()
    again = stop(TARGETS, world.session)

    assert world.state() == once
    assert not any(outcome.failed for outcome in again)
    start(TARGETS, world.session)
    world.set_fleet("RUNNING")
    assert world.state() == before


def test_a_second_start_changes_nothing(world: World) -> None:
    stop(TARGETS, world.session)
    start(TARGETS, world.session)
    started = world.state()

    assert start(TARGETS, world.session) == []
    assert world.state() == started


def test_what_nobody_stopped_is_not_started(world: World) -> None:
    world.set_fleet("STOPPED")
    before = world.state()

    assert start(TARGETS, world.session) == []
    assert world.state() == before


def test_a_fleet_that_somebody_had_stopped_stays_stopped(world: World) -> None:
    world.set_fleet("STOPPED")
    stop(TARGETS, world.session)
    start(TARGETS, world.session)

    assert world.state().fleet == "STOPPED"


def test_a_fleet_that_has_stopped_meanwhile_starts_again(world: World) -> None:
    stop(TARGETS, world.session)
    world.set_fleet("STOPPED")

    assert not any(outcome.failed for outcome in start(TARGETS, world.session))
    assert world.state().fleet == "START_REQUESTED"


def test_where_nothing_is_deployed_nothing_is_to_be_stopped(empty: World) -> None:
    assert stop(TARGETS, empty.session) == []
    assert start(TARGETS, empty.session) == []


def test_a_schedule_that_would_wake_a_service_is_held_although_it_has_no_task(world: World) -> None:
    world.client("ecs").update_service(cluster="slipway-test-inference", service="tanuki", desiredCount=0)
    stop(Targets(services=TARGETS.services), world.session)

    assert world.state().services["tanuki"].suspended == (True, True, True)
    start(Targets(services=TARGETS.services), world.session)
    assert world.state().services["tanuki"] == ServiceState(0, (1, 4))


def test_a_refusal_is_told_and_keeps_nothing_else_from_being_stopped(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refused(monkeypatch, EC2ContainerServiceBackend, "update_service", "AccessDeniedException"):
        outcomes = stop(TARGETS, world.session)

    assert {outcome.part for outcome in outcomes if outcome.failed} == {
        "inference service tanuki",
        "inference service tanuki-candidate",
    }
    assert world.state().fleet == "STOP_REQUESTED"
    assert world.state().node_groups["trn1"].desired == 0


def test_cut_off_in_the_middle_it_is_finished_by_the_next_call(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = world.state()
    with refused(monkeypatch, EC2ContainerServiceBackend, "update_service", "ThrottlingException"):
        stop(TARGETS, world.session)
    with refused(monkeypatch, EKSBackend, "update_nodegroup_config", "ResourceInUseException"):
        stop(TARGETS, world.session)
    assert not any(outcome.failed for outcome in stop(TARGETS, world.session))

    assert world.state().services["tanuki"].desired == 0
    assert world.state().node_groups["trn1"].desired == 0
    start(TARGETS, world.session)
    world.set_fleet("RUNNING")
    assert world.state() == before


def test_node_groups_that_cannot_be_listed_are_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused(monkeypatch, EKSBackend, "list_nodegroups", "AccessDeniedException"):
        [failed] = [outcome for outcome in stop(TARGETS, world.session) if outcome.failed]

    assert failed.part == f"node groups of {EKS}"


def test_a_head_node_that_never_came_up_is_told(world: World) -> None:
    world.set_fleet("UNKNOWN")

    with pytest.raises(StateError, match="its status is UNKNOWN: the head node does not answer"):
        ComputeFleet(world.client("dynamodb"), SLURM).stop()


@dataclass
class Hurried:
    """DynamoDB, when clusterstatusmgtd writes another status before the first request."""

    world: World
    statuses: list[str]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.world.client("dynamodb"), name)

    def update_item(self, **arguments: Any) -> Any:
        """Write, after clusterstatusmgtd has."""
        if self.statuses:
            self.world.set_fleet(self.statuses.pop(0))
        return self.world.client("dynamodb").update_item(**arguments)


def test_a_status_that_changes_while_it_is_written_is_read_again(world: World) -> None:
    world.set_fleet("STARTING")

    assert ComputeFleet(Hurried(world, ["RUNNING"]), SLURM).stop() == (
        "was RUNNING; the head node is asked to terminate its nodes, which takes minutes"
    )
    assert world.state().fleet == "STOP_REQUESTED"


@pytest.mark.parametrize("status", ["STOP_REQUESTED", "STOPPING", "STOPPED"])
def test_a_head_node_that_has_not_acted_is_not_taken_for_a_stopped_fleet(world: World, status: str) -> None:
    fleet = ComputeFleet(world.client("dynamodb"), SLURM)
    fleet.stop()
    world.set_fleet(status)

    assert fleet.stop() == f"is {status} already"


def test_a_status_that_changes_all_the_time_is_told(world: World) -> None:
    with pytest.raises(StateError, match="its status changes while it is written; try again"):
        ComputeFleet(Hurried(world, ["STARTING", "RUNNING", "PROTECTED"]), SLURM).stop()


def test_a_group_that_may_have_fewer_nodes_now_starts_as_many_as_it_may(world: World) -> None:
    stop(TARGETS, world.session)
    world.client("eks").update_nodegroup_config(
        clusterName=EKS, nodegroupName="Group-trn1", scalingConfig={"minSize": 0, "desiredSize": 0, "maxSize": 2}
    )
    start(TARGETS, world.session)

    assert world.state().node_groups["trn1"] == NodeGroupState(0, 2, 2)


def test_a_service_that_may_have_fewer_tasks_now_scales_within_what_it_may(world: World) -> None:
    world.client("ecs").update_service(cluster=ECS, service="tanuki", desiredCount=4)
    world.client("application-autoscaling").register_scalable_target(
        ServiceNamespace="ecs",
        ResourceId=f"service/{ECS}/tanuki",
        ScalableDimension="ecs:service:DesiredCount",
        MinCapacity=3,
        MaxCapacity=4,
    )
    stop(TARGETS, world.session)
    world.client("application-autoscaling").register_scalable_target(
        ServiceNamespace="ecs",
        ResourceId=f"service/{ECS}/tanuki",
        ScalableDimension="ecs:service:DesiredCount",
        MaxCapacity=2,
    )

    assert not any(outcome.failed for outcome in start(TARGETS, world.session))
    assert world.state().services["tanuki"] == ServiceState(2, (2, 2))


@st.composite
def services(draw: st.DrawFn) -> ServiceState:
    """A service that scales, or not."""
    least, more = draw(COUNTS), draw(COUNTS)
    if draw(st.booleans()):
        return ServiceState(draw(COUNTS))
    suspended = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    return ServiceState(draw(st.integers(least, least + more)), (least, least + more), suspended)


@st.composite
def node_groups(draw: st.DrawFn) -> NodeGroupState:
    """A node group; EKS lets none have less than one node at most."""
    least = draw(COUNTS)
    desired = draw(st.integers(least, least + 20))
    return NodeGroupState(least, desired, max(1, draw(st.integers(desired, desired + 20))))


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fleet=st.sampled_from(["RUNNING", "STARTING", "START_REQUESTED", "PROTECTED", "STOPPED", "STOPPING"]),
    services=st.fixed_dictionaries({"tanuki": services(), "tanuki-candidate": services()}),
    groups=st.fixed_dictionaries({"core": node_groups(), "trn1": node_groups(), "cpu": node_groups()}),
    stops=st.integers(1, 3),
)
def test_a_stop_undone_leaves_no_trace(
    fleet: str, services: dict[str, ServiceState], groups: dict[str, NodeGroupState], stops: int
) -> None:
    with mock_aws():
        world = World(boto3.Session(region_name=REGION))
        world.build(State(fleet, services, groups))
        before = world.state()
        for _ in range(stops):
            stop(TARGETS, world.session)
        start(TARGETS, world.session)

        ran = fleet not in {"STOPPED", "STOPPING"}
        # clusterstatusmgtd makes RUNNING of the request.
        assert world.state() == replace(before, fleet="START_REQUESTED" if ran else fleet)


def test_a_clusters_head_node_may_launch_nothing_until_it_is_resumed(world: World) -> None:
    """Its role is found in the cluster's stack, tagged while all is stopped, and as it was afterwards."""
    role = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": []}}}
    world.client("cloudformation").create_stack(
        StackName=SLURM, TemplateBody=json.dumps({"Resources": {ROLE: role}}), Capabilities=["CAPABILITY_IAM"]
    )
    [name] = [each["RoleName"] for each in world.client("iam").list_roles()["Roles"]]
    launches = Launches(world.client("cloudformation"), world.client("iam"), SLURM)

    def tags() -> dict[str, str]:
        return {tag["Key"]: tag["Value"] for tag in world.client("iam").list_role_tags(RoleName=name)["Tags"]}

    before = tags()
    outcomes = stop(TARGETS, world.session)
    assert str(outcomes[0]) == f"launches of {SLURM}: are denied to its head node"
    assert tags() == {**before, TAG: "launches"}
    assert launches.stop() is None
    assert launches.remembered() == "allowed"

    start(TARGETS, world.session)
    assert tags() == before
    assert launches.remembered() is None
    assert launches.start() is None
