"""Kubernetes objects as they are written in a manifest."""

from typing import Any

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


def namespaced_object(api_version: str, kind: str, name: str, *, namespace: str, **fields: Any) -> Manifest:
    """Return an object of a namespace; other arguments as for `cluster_object`."""
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


def service_account(name: str, namespace: str) -> Manifest:
    """Return a service account as the subject of a binding."""
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def group(name: str) -> Manifest:
    """Return a group of people as the subject of a binding."""
    return {"kind": "Group", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


def bound_role(name: str, rules: list[Manifest], *, namespace: str, subject: Manifest) -> list[Manifest]:
    """Return a role in a namespace and its binding.

    Args:
        name: name of role and binding.
        rules: what the role allows.
        namespace: where it allows it.
        subject: who gets it.
    """
    return [
        namespaced_object("rbac.authorization.k8s.io/v1", "Role", name, namespace=namespace, rules=rules),
        namespaced_object(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            name,
            namespace=namespace,
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            subjects=[subject],
        ),
    ]
