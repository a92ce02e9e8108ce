"""Kubernetes objects as they are written in a manifest."""

from typing import Any

from neuron_constructs.kubernetes.names import NAMESPACE

Manifest = dict[str, Any]
"""One Kubernetes object."""


def cluster_object(api_version: str, kind: str, name: str, **fields: Any) -> Manifest:
    """Return an object that belongs to no namespace.

    Args:
        api_version: API group and version, for example `storage.k8s.io/v1`.
        kind: kind of object.
        name: its name.
        fields: its other fields, by their Kubernetes names; `labels` become part of the metadata.
    """
    return _object(api_version, kind, {"name": name}, fields)


def namespaced_object(api_version: str, kind: str, name: str, *, namespace: str = NAMESPACE, **fields: Any) -> Manifest:
    """Return an object of a namespace, by default that of the jobs; arguments as for `cluster_object`."""
    return _object(api_version, kind, {"name": name, "namespace": namespace}, fields)


def _object(api_version: str, kind: str, metadata: dict[str, Any], fields: dict[str, Any]) -> Manifest:
    labels = fields.pop("labels", None)
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {**metadata, "labels": labels} if labels else metadata,
        **fields,
    }


def rule(group: str, resources: list[str], verbs: list[str]) -> Manifest:
    """Return one rule of a role.

    Args:
        group: API group; empty for the core group.
        resources: kinds in the plural, in lower case.
        verbs: what may be done with them.
    """
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def bound_role(name: str, rules: list[Manifest], *, namespace: str, account_namespace: str) -> list[Manifest]:
    """Return a role in a namespace and its binding to the service account of the same name.

    Args:
        name: name of role, binding and service account.
        rules: what the role allows.
        namespace: where it allows it.
        account_namespace: the service account's namespace.
    """
    return [
        namespaced_object("rbac.authorization.k8s.io/v1", "Role", name, namespace=namespace, rules=rules),
        namespaced_object(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            name,
            namespace=namespace,
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            subjects=[{"kind": "ServiceAccount", "name": name, "namespace": account_namespace}],
        ),
    ]
