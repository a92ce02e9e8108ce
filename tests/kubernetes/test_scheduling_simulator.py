"""The simulated scheduler places what Kubernetes places, and says why it does not place the rest."""

from decimal import Decimal
from typing import Any

import pytest

from tests.kubernetes.scheduling import Node, NotSimulated, Outcome, admitted, requests_of, schedule

NEURON = "aws.amazon.com/neuron"
GROUP = "slipway/node-group"
TAINT = {"key": NEURON, "value": "true", "effect": "NoSchedule"}


def node(name: str = "a", **changes: Any) -> Node:
    """A node of 4 cores, 8 GiB and 2 devices, without taints."""
    allocatable = {"cpu": "4", "memory": str(8 * 2**30), "pods": "3", NEURON: "2", **changes.pop("allocatable", {})}
    values = {"labels": {GROUP: "trn1"}, **changes}
    return Node(name, {resource: Decimal(amount) for resource, amount in allocatable.items()}, **values)


def pod(requests: dict[str, str] | None = None, **changes: Any) -> dict[str, Any]:
    """A pod of one container with requests and limits alike."""
    amounts = requests or {}
    return {"containers": [{"resources": {"requests": amounts, "limits": amounts}}], **changes}


def only(outcomes: list[Outcome]) -> Outcome:
    [outcome] = outcomes
    return outcome


def reasons(candidate: dict[str, Any], where: Node) -> list[str]:
    """Why a pod is pending on the only node."""
    outcome = only(schedule([candidate], [where]))
    assert outcome.node is None
    return list(outcome.reasons[where.name])


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        ({"cpu": "4001m"}, "Insufficient cpu"),
        ({"memory": "8193Mi"}, "Insufficient memory"),
        ({NEURON: "3"}, f"Insufficient {NEURON}"),
        ({"vpc.amazonaws.com/efa": "1"}, "Insufficient vpc.amazonaws.com/efa"),
    ],
)
def test_too_large_is_pending(requests: dict[str, str], reason: str) -> None:
    assert reasons(pod(requests), node()) == [reason]


@pytest.mark.parametrize("requests", [{"cpu": "4000m", "memory": "8Gi", NEURON: "2"}, {"cpu": "3.5"}, {}])
def test_what_fits_is_placed(requests: dict[str, str]) -> None:
    assert only(schedule([pod(requests)], [node()])).node == "a"


def test_what_is_placed_is_taken() -> None:
    nodes = [node("a"), node("b")]
    outcomes = schedule([pod({NEURON: "2"}) for _ in range(3)], nodes)
    assert [outcome.node for outcome in outcomes] == ["a", "b", None]
    assert outcomes[2].reasons == {name: [f"Insufficient {NEURON}"] for name in ("a", "b")}


def test_pods_count() -> None:
    where = node(allocatable={"pods": "2"})
    assert [outcome.node for outcome in schedule([pod(), pod(), pod()], [where])] == ["a", "a", None]


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": NEURON, "operator": "Exists"}, True),
        ({"key": NEURON, "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": NEURON, "value": "true"}, True),
        ({"operator": "Exists"}, True),
        ({"key": NEURON, "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": NEURON, "value": "false"}, False),
        ({"key": NEURON}, False),
        ({"key": GROUP, "operator": "Exists"}, False),
    ],
)
def test_taints_keep_pods_off(toleration: dict[str, str], fits: bool) -> None:
    where = node(taints=[TAINT])
    candidate = pod({"cpu": "1"}, tolerations=[toleration])
    if fits:
        assert only(schedule([candidate], [where])).node == "a"
    else:
        assert reasons(candidate, where) == [f"had untolerated taint {{{NEURON}: true}}"]


def test_a_mild_taint_keeps_nobody_off() -> None:
    assert only(schedule([pod()], [node(taints=[{**TAINT, "effect": "PreferNoSchedule"}])])).node == "a"


def test_who_asks_for_devices_tolerates_the_taint_of_their_name() -> None:
    assert only(schedule([pod({NEURON: "1"})], [node(taints=[TAINT])])).node == "a"


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ({"operator": "In", "values": ["trn1"]}, True),
        ({"operator": "In", "values": ["cpu"]}, False),
        ({"operator": "NotIn", "values": ["cpu"]}, True),
        ({"operator": "NotIn", "values": ["trn1"]}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "DoesNotExist"}, False),
    ],
)
def test_node_affinity(expression: dict[str, Any], fits: bool) -> None:
    terms = [{"matchExpressions": [{"key": GROUP, **expression}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    outcome = only(schedule([pod(affinity=affinity)], [node()]))
    assert outcome.node == ("a" if fits else None)


def test_an_empty_term_selects_nothing() -> None:
    required: dict[str, Any] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}
    candidate = pod(affinity={"nodeAffinity": required})
    assert reasons(candidate, node()) == ["didn't match Pod's node affinity/selector"]


@pytest.mark.parametrize("selector", [{GROUP: "cpu"}, {GROUP: "trn1", "zone": "a"}])
def test_selectors_must_match(selector: dict[str, str]) -> None:
    assert reasons(pod(nodeSelector=selector), node()) == ["didn't match Pod's node affinity/selector"]


def test_the_largest_init_container_counts() -> None:
    first = {"resources": {"limits": {"cpu": "3", "memory": "1Gi"}}}
    stored = admitted({**pod({"cpu": "2"}), "initContainers": [first, first]})
    assert requests_of(stored) == {"cpu": 3, "memory": 2**30}


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        ({"requests": {NEURON: "1"}}, "equal to the limit"),
        ({"requests": {NEURON: "1"}, "limits": {NEURON: "2"}}, "equal to the limit"),
        ({"limits": {NEURON: "500m"}}, "whole"),
    ],
)
def test_devices_are_not_shared_or_overcommitted(resources: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        admitted({"containers": [{"resources": resources}]})


@pytest.mark.parametrize(
    "candidate",
    [
        pod(topologySpreadConstraints=[{"maxSkew": 1}]),
        pod(affinity={"podAntiAffinity": {}}),
        pod(nodeName="a"),
        pod(initContainers=[{"restartPolicy": "Always"}]),
        {"containers": [{"ports": [{"hostPort": 80}]}]},
        pod(tolerations=[{"key": NEURON, "operator": "Gt", "value": "1"}]),
    ],
)
def test_what_is_not_simulated_is_not_judged(candidate: dict[str, Any]) -> None:
    with pytest.raises(NotSimulated):
        schedule([candidate], [node(taints=[TAINT])])
