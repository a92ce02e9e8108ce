"""The simulated scheduler's filters compute what Kubernetes' own functions compute, for every recipe and at random."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from kubernetes.utils.quantity import parse_quantity  # type: ignore[import-untyped]

from tests.kubernetes.job_nodes import nodes_of
from tests.kubernetes.scheduling import Amounts, Node, admitted, misfits, requests_of
from tests.kubernetes.test_scheduling import CASES, LAUNCHERS, mpi_pods_of, placed, stages_of
from tests.kubernetes.upstream import Placement, placements

pytestmark = pytest.mark.kubernetes

Pair = tuple[dict[str, Any], Node]

KEYS = st.sampled_from(["a", "b", "aws.amazon.com/neuron"])
VALUES = st.sampled_from(["x", "y", ""])
EFFECTS = ["NoSchedule", "NoExecute", "PreferNoSchedule"]
LABELS = st.dictionaries(KEYS, VALUES)
EXPRESSIONS = st.one_of(
    st.fixed_dictionaries(
        {"key": KEYS, "operator": st.sampled_from(["In", "NotIn"]), "values": st.lists(VALUES, min_size=1, max_size=2)}
    ),
    st.fixed_dictionaries({"key": KEYS, "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
)
TERMS = st.lists(
    st.fixed_dictionaries({}, optional={"matchExpressions": st.lists(EXPRESSIONS, max_size=2)}), min_size=1
)
AFFINITY = st.builds(
    lambda terms: {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}},
    TERMS,
)
TOLERATIONS = st.one_of(
    st.fixed_dictionaries(
        {"key": KEYS}, optional={"operator": st.just("Equal"), "value": VALUES, "effect": st.sampled_from(EFFECTS)}
    ),
    st.fixed_dictionaries({"operator": st.just("Exists")}, optional={"key": KEYS, "effect": st.sampled_from(EFFECTS)}),
)
TAINTS = st.fixed_dictionaries({"key": KEYS, "value": VALUES, "effect": st.sampled_from(EFFECTS)})
AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory"]), st.sampled_from(["1", "500m", "1.5", "2Gi", "100Mi", "1e3", "0"])
)
CONTAINERS = st.builds(
    lambda limits, requests, devices: {
        "name": "any",
        "resources": {"limits": {**limits, **devices}, "requests": {**requests, **devices}},
    },
    AMOUNTS,
    AMOUNTS,
    st.dictionaries(st.just("aws.amazon.com/neuron"), st.sampled_from(["1", "16"])),
)
PODS = st.fixed_dictionaries(
    {"containers": st.lists(CONTAINERS, min_size=1, max_size=2)},
    optional={
        "initContainers": st.lists(CONTAINERS, max_size=2),
        "nodeSelector": LABELS,
        "affinity": AFFINITY,
        "tolerations": st.lists(TOLERATIONS, max_size=2),
    },
)
NODES = st.builds(lambda labels, taints: Node("any", {}, labels, taints), LABELS, st.lists(TAINTS, max_size=2))


def simulated(pod: Mapping[str, Any], node: Node) -> tuple[Amounts, bool, str]:
    """Return what the simulation computes for a stored pod: requests, whether it is selected, the first taint."""
    why = list(misfits(pod, node))
    taints = [reason for reason in why if reason.startswith("had untolerated taint")]
    selected = "didn't match Pod's node affinity/selector" not in why
    return requests_of(pod), selected, taints[0].partition("{")[2].removesuffix("}") if taints else ""


def computed(placement: Placement) -> tuple[Amounts, bool, str]:
    """Return the same of Kubernetes."""
    requests = {resource: parse_quantity(amount) for resource, amount in placement.requests.items()}
    return requests, placement.selected, placement.untolerated


def compare(pairs: list[Pair]) -> None:
    stored = [(admitted(pod), node) for pod, node in pairs]
    asked = [
        ({"spec": pod}, {"metadata": {"labels": dict(node.labels)}, "spec": {"taints": list(node.taints)}})
        for pod, node in stored
    ]

    answers = zip(stored, placements(asked), strict=True)
    assert [found for found in answers if computed(found[1]) != simulated(*found[0])] == []


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_pods_of_every_recipe_on_every_kind_of_node(launcher: str) -> None:
    pairs: list[Pair] = []
    for case in CASES:
        where = placed(case, launcher)
        pods = [*stages_of(where).values(), *(mpi_pods_of(where).values() if launcher == "mpi" else ())]
        nodes = nodes_of(where.environment, {"cpu": 1, where.run.queue: 1})
        pairs += [(one, node) for [one, *_] in pods for node in nodes]

    assert len(pairs) >= 8 * len(CASES)
    compare(pairs)


# Each example starts the judge: to make a failing one smaller would take minutes.
@settings(max_examples=25, phases=[Phase.generate])
@given(st.lists(st.tuples(PODS, NODES), min_size=20, max_size=60))
def test_pods_and_nodes_at_random(pairs: list[Pair]) -> None:
    compare(pairs)
