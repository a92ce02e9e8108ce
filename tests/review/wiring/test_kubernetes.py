"""The Kubernetes objects of every environment fit together, and nearly every mistake in one is noticed."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from neuron_constructs.kubernetes import names
from slipway.assembly.stacks import Stack
from slipway.review.wiring.kubernetes_objects import CHART, quantity
from slipway.review.wiring.pods import USER_ID_LABEL
from slipway.review.wiring.registry import Finding
from slipway.review.wiring.resources import Resources, read_assembly, resources_of
from slipway.review.wiring.rules import RULES
from tests.conftest import AssemblyFactory
from tests.review.wiring.kubernetes_mistakes import KINDS, mistakes

ENVIRONMENTS = ("kubernetes", "teams", "beside")
NOTICED = 0.95


def findings(resources: Resources) -> set[Finding]:
    """What the rules about Kubernetes find."""
    rules = [each for each in RULES.values() if each.topic in ("kubernetes", "pods")]
    return {replace(finding, rule=each.id) for each in rules for finding in each.check(resources)}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_objects_of_an_environment_fit_together(assemblies: AssemblyFactory, name: str) -> None:
    assert findings(read_assembly(assemblies(name).directory)) == set()


def test_nearly_every_mistake_in_an_object_is_noticed(assemblies: AssemblyFactory) -> None:
    made, silent = Counter[str](), Counter[str]()
    for name in ENVIRONMENTS:
        for mistake in mistakes(read_assembly(assemblies(name).directory)):
            made[mistake.kind] += 1
            silent[mistake.kind] += not findings(mistake.resources)

    assert set(made) == set(KINDS)
    assert made.total() > 300
    assert 1 - silent.total() / made.total() >= NOTICED, silent
    assert all(silent[each] / made[each] <= 1 / 4 for each in made), silent


def cluster(*objects: dict[str, Any], **others: dict[str, Any]) -> Resources:
    """Somebody's own cluster with a manifest."""
    manifest = {
        "Type": "Custom::AWSCDK-EKS-KubernetesResource",
        "Properties": {"ClusterName": "own", "Manifest": json.dumps(objects)},
    }
    template = {"Resources": {"Manifest": manifest, **others}}
    return resources_of((Stack("app", "us-west-2", template, {}, termination_protection=False),))


def pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "a", "image": "a"}]
    return {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": containers, **spec}}


def role(**row: Any) -> dict[str, Any]:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], **row}
    return {"kind": "ClusterRole", "metadata": {"name": "reader"}, "rules": [rule]}


BOUND = {
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "readers"},
    "roleRef": {"kind": "ClusterRole", "name": "reader"},
    "subjects": [{"kind": "Group", "name": "readers"}],
}
GROUP = {
    "Type": "AWS::EKS::Nodegroup",
    "Properties": {
        "ClusterName": "own",
        "Labels": {"team": "a"},
        "Taints": [{"Key": "team", "Value": "a", "Effect": "PREFER_NO_SCHEDULE"}],
    },
}
SOUND = {
    "objects of Kubernetes' own": cluster(
        pod(serviceAccountName="default"),
        {**BOUND, "roleRef": {"kind": "ClusterRole", "name": "view"}},
    ),
    "secrets that somebody makes later": cluster(
        pod(
            volumes=[
                {"name": "a", "secret": {"secretName": "later"}},
                {"name": "b", "configMap": {"name": "kube-root-ca.crt"}},
            ]
        )
    ),
    "a taint that only asks": cluster(pod(nodeSelector={"team": "a"}), Group=GROUP),
    "a label of every node": cluster(pod(nodeSelector={"kubernetes.io/arch": "amd64"}), Group=GROUP),
    "a role that a chart makes": cluster(
        {**BOUND, "roleRef": {"kind": "ClusterRole", "name": "of-a-chart"}},
        Chart={"Type": CHART, "Properties": {"ClusterName": "own", "Namespace": "charts"}},
    ),
    "a status, and verbs of all kinds": cluster(role(resources=["pods/status", "pods"], verbs=["*"]), BOUND),
    "text that CloudFormation puts together": resources_of(
        (
            Stack(
                "app",
                "us-west-2",
                {
                    "Resources": {
                        "Manifest": {
                            "Type": "Custom::AWSCDK-EKS-KubernetesResource",
                            "Properties": {"ClusterName": "own", "Manifest": {"Ref": "Parameter"}},
                        }
                    }
                },
                {},
                termination_protection=False,
            ),
        )
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_manifest_of_ones_own_passes(name: str) -> None:
    assert findings(SOUND[name]) == set()


@pytest.mark.parametrize(
    ("text", "number"), [("250m", 0.25), ("2", 2), ("1Gi", 2**30), ("1.5Ki", 1536), ("2k", 2000), ("many", None)]
)
def test_quantities(text: str, number: float | None) -> None:
    assert quantity(text) == number


def test_the_label_of_a_users_namespace_is_the_constructs() -> None:
    assert USER_ID_LABEL == names.USER_ID_LABEL
