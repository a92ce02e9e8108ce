"""What kubectl asks before it does anything: which kinds there are, and whether the server checks fields itself.

https://kubernetes.io/docs/concepts/overview/kubernetes-api/
"""

from collections.abc import Sequence
from typing import Any

from slipway_emulator.kubernetes_api.kinds import Kind

_VERBS = ["create", "delete", "get", "list", "patch", "update"]


def version(release: str) -> dict[str, Any]:
    """Answer ``/version`` of a release such as ``1.35``."""
    major, _, minor = release.partition(".")
    return {"major": major, "minor": minor, "gitVersion": f"v{release}.0"}


def core_versions() -> dict[str, Any]:
    """Answer ``/api``."""
    return {"kind": "APIVersions", "versions": ["v1"]}


def groups(kinds: Sequence[Kind]) -> dict[str, Any]:
    """Answer ``/apis``."""
    found: dict[str, list[dict[str, str]]] = {}
    for kind in kinds:
        entry = {"groupVersion": kind.group_version, "version": kind.version}
        if kind.group and entry not in found.setdefault(kind.group, []):
            found[kind.group].append(entry)
    rows = [{"name": name, "versions": each, "preferredVersion": each[-1]} for name, each in found.items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": rows}


def resources(kinds: Sequence[Kind], group_version: str) -> dict[str, Any]:
    """Answer ``/api/v1`` and ``/apis/GROUP/VERSION``."""
    rows = [
        {
            "name": kind.plural,
            "singularName": kind.kind.lower(),
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": _VERBS,
        }
        for kind in kinds
        if kind.group_version == group_version
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": rows}


def schema_paths(kinds: Sequence[Kind]) -> dict[str, Any]:
    """Answer ``/openapi/v3``."""
    roots = dict.fromkeys(kind.root.strip("/") for kind in kinds)
    return {"paths": {root: {"serverRelativeURL": f"/openapi/v3/{root}"} for root in roots}}


def schema(kinds: Sequence[Kind], root: str) -> dict[str, Any]:
    """Answer ``/openapi/v3/ROOT``: no schemas, but that the server takes ``fieldValidation``."""
    parameters = [{"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}]
    paths = {}
    for kind in kinds:
        if kind.root == root:
            inside = "/namespaces/{namespace}" if kind.namespaced else ""
            named = {"group": kind.group, "version": kind.version, "kind": kind.kind}
            operation = {"parameters": parameters, "x-kubernetes-group-version-kind": named}
            paths[f"{kind.root}{inside}/{kind.plural}/{{name}}"] = {"patch": operation}
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "rehearsal"}, "paths": paths}
