"""Mistakes in Kubernetes objects, one at a time: a manifest with an object that is changed, or left out."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from slipway.review.changes.resources import Resource
from slipway.review.wiring.kubernetes_objects import CHART, MANIFEST
from slipway.review.wiring.resources import Resources
from tests.review.wiring.network_mistakes import Mistake

Object = dict[str, Any]
Change = Callable[[Object], Iterator[Object | None]]
"""Yields an object with a mistake; None where it is left out."""

CHANGES: dict[str, tuple[tuple[str, ...], Change]] = {}

_WORKLOADS = ("Deployment", "DaemonSet")
_REFERRED = (
    *("Namespace", "ServiceAccount", "PersistentVolume", "PersistentVolumeClaim", "ConfigMap", "Role"),
    *("RoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
)
"""Kinds whose objects others need."""


def mistakes(resources: Resources) -> Iterator[Mistake]:
    """Yield an assembly with every mistake, one at a time."""
    for manifest in resources.of_type(MANIFEST):
        objects: list[Object] = json.loads(manifest.at("Manifest"))
        for index, found in enumerate(objects):
            for kind, (kinds, change) in CHANGES.items():
                if found["kind"] in kinds or not kinds:
                    for spoiled in change(found):
                        rest = [spoiled] if spoiled else []
                        text = json.dumps([*objects[:index], *rest, *objects[index + 1 :]])
                        yield _with(resources, kind, manifest, "Manifest", text)
    for association in resources.of_type("AWS::EKS::PodIdentityAssociation"):
        for name in ("ServiceAccount", "Namespace"):
            if not _is_of_a_chart(resources, association):
                wrong = _misspelled(association.at(name))
                yield _with(resources, "misspelled_in_a_pod_identity", association, name, wrong)
    for entry in resources.of_type("AWS::EKS::AccessEntry"):
        if groups := entry.at("KubernetesGroups"):
            spoiled_groups = [_misspelled(groups[0]), *groups[1:]]
            yield _with(resources, "misspelled_group_of_an_access_entry", entry, "KubernetesGroups", spoiled_groups)


def _is_of_a_chart(resources: Resources, association: Resource) -> bool:
    return association.at("Namespace") in {chart.at("Namespace") for chart in resources.of_type(CHART)}


def _with(resources: Resources, kind: str, owner: Resource, name: str, value: Any) -> Mistake:
    template = {**owner.template, "Properties": {**owner.properties, name: value}}
    spoiled = {**resources.by_key, owner.key: owner.with_template(template)}
    return Mistake(kind, owner.key, Resources(resources.stacks, spoiled))


def _of(*kinds: str) -> Callable[[Change], Change]:
    def register(change: Change) -> Change:
        CHANGES[change.__name__] = (kinds, change)
        return change

    return register


def _misspelled(text: str) -> str:
    return f"{text}-x"


def _set(found: Object, *path: Any, value: Any) -> Object:
    """Return an object with another value at a path; None takes it away."""
    spoiled = deepcopy(found)
    place: Any = spoiled
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return spoiled


def _pods(found: Object) -> Object:
    spec: Object = found["spec"]["template"]["spec"]
    return spec


_SPEC = ("spec", "template", "spec")


def _containers(found: Object) -> Iterator[tuple[tuple[Any, ...], Object]]:
    for name in ("initContainers", "containers"):
        for index, container in enumerate(_pods(found).get(name, ())):
            yield (*_SPEC, name, index), container


@_of(*_REFERRED)
def object_is_left_out(_: Object) -> Iterator[Object | None]:
    yield None


@_of()
def namespace_is_misspelled(found: Object) -> Iterator[Object | None]:
    if namespace := found["metadata"].get("namespace"):
        yield _set(found, "metadata", "namespace", value=_misspelled(namespace))


@_of(*_REFERRED)
def object_has_another_name(found: Object) -> Iterator[Object | None]:
    if found["kind"] not in ("RoleBinding", "ValidatingAdmissionPolicyBinding"):
        yield _set(found, "metadata", "name", value=_misspelled(found["metadata"]["name"]))


@_of("RoleBinding")
def binding_of_another_role(found: Object) -> Iterator[Object | None]:
    yield _set(found, "roleRef", "name", value=_misspelled(found["roleRef"]["name"]))
    yield _set(found, "roleRef", "kind", value="ClusterRole")


@_of("RoleBinding")
def binding_of_another_account(found: Object) -> Iterator[Object | None]:
    for index, subject in enumerate(found["subjects"]):
        if subject["kind"] == "ServiceAccount":
            yield _set(found, "subjects", index, "name", value=_misspelled(subject["name"]))
            yield _set(found, "subjects", index, "namespace", value=_misspelled(subject["namespace"]))


@_of("ValidatingAdmissionPolicyBinding")
def policy_that_only_warns(found: Object) -> Iterator[Object | None]:
    yield _set(found, "spec", "validationActions", value=["Warn"])
    yield _set(found, "spec", "policyName", value=_misspelled(found["spec"]["policyName"]))


@_of("Role")
def role_with_a_misspelled_word(found: Object) -> Iterator[Object | None]:
    for index, row in enumerate(found["rules"]):
        yield _set(found, "rules", index, "resources", 0, value=_misspelled(row["resources"][0]))
        yield _set(found, "rules", index, "verbs", 0, value=_misspelled(row["verbs"][0]))
        yield _set(found, "rules", index, "apiGroups", 0, value="jobset.k8s.io")


@_of(*_WORKLOADS)
def pods_of_another_account(found: Object) -> Iterator[Object | None]:
    if name := _pods(found).get("serviceAccountName"):
        yield _set(found, *_SPEC, "serviceAccountName", value=_misspelled(name))


@_of(*_WORKLOADS)
def pods_with_another_volume(found: Object) -> Iterator[Object | None]:
    for index, volume in enumerate(_pods(found).get("volumes", ())):
        for part, name in (("persistentVolumeClaim", "claimName"), ("configMap", "name"), ("secret", "secretName")):
            if part in volume:
                path = (*_SPEC, "volumes", index, part, name)
                yield _set(found, *path, value=_misspelled(volume[part][name]))
        yield _set(found, *_SPEC, "volumes", index, "name", value=_misspelled(volume["name"]))


@_of(*_WORKLOADS)
def container_that_mounts_no_volume(found: Object) -> Iterator[Object | None]:
    for path, container in _containers(found):
        for index, mount in enumerate(container.get("volumeMounts", ())):
            yield _set(found, *path, "volumeMounts", index, "name", value=_misspelled(mount["name"]))


@_of(*_WORKLOADS)
def pods_with_other_labels(found: Object) -> Iterator[Object | None]:
    yield _set(found, "spec", "template", "metadata", "labels", value={"app": "another"})
    yield _set(found, "spec", "selector", "matchLabels", value={"app": "another"})


@_of(*_WORKLOADS)
def pods_on_nodes_that_are_not_there(found: Object) -> Iterator[Object | None]:
    yield _set(found, *_SPEC, "nodeSelector", value={"slipway/node-group": "misspelled"})


@_of(*_WORKLOADS)
def pods_that_do_not_tolerate_their_nodes(found: Object) -> Iterator[Object | None]:
    spoiled = _set(found, *_SPEC, "nodeSelector", value={"slipway/node-group": "cpu"})
    yield _set(spoiled, *_SPEC, "tolerations", value=[])
    another = [{"key": "slipway/node-group", "operator": "Equal", "value": "core", "effect": "NoSchedule"}]
    yield _set(spoiled, *_SPEC, "tolerations", value=another)


@_of(*_WORKLOADS)
def container_that_asks_for_too_much(found: Object) -> Iterator[Object | None]:
    for path, container in _containers(found):
        if "memory" in container.get("resources", {}).get("limits", {}):
            yield _set(found, *path, "resources", "limits", "memory", value="1Mi")


@_of(*_WORKLOADS)
def container_that_asks_for_no_resource(found: Object) -> Iterator[Object | None]:
    for path, container in _containers(found):
        if "resources" in container:
            requests = {"aws.amazon.com/neurons": "1"}
            yield _set(found, *path, "resources", value={"requests": requests, "limits": requests})


@_of(*_WORKLOADS)
def probe_of_another_port(found: Object) -> Iterator[Object | None]:
    for path, container in _containers(found):
        for name in ("readinessProbe", "livenessProbe"):
            if "httpGet" in container.get(name, {}):
                yield _set(found, *path, name, "httpGet", "port", value=9)
                yield _set(found, *path, name, "httpGet", "port", value="web")


@_of("Service")
def service_of_other_pods(found: Object) -> Iterator[Object | None]:
    yield _set(found, "spec", "selector", value={"app": "another"})
    for index, _ in enumerate(found["spec"]["ports"]):
        yield _set(found, "spec", "ports", index, "targetPort", value="web")


@_of("PersistentVolumeClaim")
def claim_that_does_not_fit(found: Object) -> Iterator[Object | None]:
    yield _set(found, "spec", "storageClassName", value="gp3")
    yield _set(found, "spec", "accessModes", value=["ReadWriteOnce"])
    yield _set(found, "spec", "volumeName", value=_misspelled(found["spec"]["volumeName"]))
    yield _set(found, "spec", "resources", "requests", "storage", value="1Ei")


@_of("PersistentVolume")
def volume_for_another_claim(found: Object) -> Iterator[Object | None]:
    yield _set(found, "spec", "claimRef", "name", value="another")
    yield _set(found, "spec", "claimRef", "namespace", value="another")
    yield _set(found, "spec", "storageClassName", value="gp3")
    yield _set(found, "spec", "capacity", "storage", value="1Mi")


KINDS = (*CHANGES, "misspelled_in_a_pod_identity", "misspelled_group_of_an_access_entry")
"""All kinds of mistakes."""
