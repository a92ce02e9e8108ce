import pytest

from slipway.aws.account import Account
from slipway.errors import FailedError
from slipway.remove.teardown.compute_nodes import ComputeNode, by_state, compute_nodes, terminate_all
from tests.remove.teardown.conftest import SlowTermination
from tests.remove.teardown.fakes import CLUSTER, start_nodes, states


def terminate(account: Account, *, timeout_seconds: float = 60) -> list[str]:
    said: list[str] = []
    terminate_all(account.client("ec2"), CLUSTER, timeout_seconds=timeout_seconds, tell=said.append)
    return said


def test_head_nodes_login_nodes_and_other_clusters_are_no_compute_nodes(account: Account) -> None:
    (node,) = start_nodes(account.client("ec2"))
    start_nodes(account.client("ec2"), node_type="HeadNode")
    start_nodes(account.client("ec2"), node_type="LoginNode")
    start_nodes(account.client("ec2"), cluster="another")

    assert compute_nodes(account.client("ec2"), CLUSTER) == [ComputeNode(node, "trn1.32xlarge", "running", "trn2")]


def test_a_terminated_node_is_none(account: Account) -> None:
    account.client("ec2").terminate_instances(InstanceIds=start_nodes(account.client("ec2")))

    assert compute_nodes(account.client("ec2"), CLUSTER) == []


def test_it_waits_until_ec2_has_let_go_of_the_last_node(account: Account, slow_termination: SlowTermination) -> None:
    nodes = start_nodes(account.client("ec2"), 2)

    said = terminate(account)

    assert states(account.client("ec2"), nodes) == {"terminated"}
    assert said == [f"{CLUSTER}: 2 nodes running", *[f"{CLUSTER}: 2 nodes shutting-down"] * 2]


def test_a_node_that_the_cluster_starts_meanwhile_is_terminated_too(
    account: Account, slow_termination: SlowTermination
) -> None:
    start_nodes(account.client("ec2"))
    late: list[str] = []

    def start_another(_line: str) -> None:
        if not late:
            late.extend(start_nodes(account.client("ec2")))

    terminate_all(account.client("ec2"), CLUSTER, timeout_seconds=60, tell=start_another)

    assert states(account.client("ec2"), late) == {"terminated"}


def test_more_nodes_than_one_request_takes_are_terminated(account: Account) -> None:
    nodes = start_nodes(account.client("ec2"), 130)

    terminate(account)

    assert states(account.client("ec2"), nodes) == {"terminated"}


def test_after_the_longest_wait_it_says_which_nodes_are_left(
    account: Account, slow_termination: SlowTermination
) -> None:
    nodes = start_nodes(account.client("ec2"), 10)

    with pytest.raises(FailedError, match=f"after 0 minutes {CLUSTER} still has 10 nodes running: i-.* and 2 more"):
        terminate(account, timeout_seconds=0)
    assert states(account.client("ec2"), nodes) == {"shutting-down"}


def test_nodes_are_counted_by_state() -> None:
    nodes = [ComputeNode("i-1", "trn2.48xlarge", state, "trn2") for state in ("running", "pending", "running")]

    assert by_state(nodes) == "1 node pending, 2 nodes running"
