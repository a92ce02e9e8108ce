"""Compact schemas of Kueue's queues, with the fields that Slipway writes.

From the resource definitions of kubernetes-sigs/kueue @ff69552e (0.19.2), v1beta2, which is the stored version.
Compared field by field on 2026-11-23: the same limits or stricter ones.
"""

from typing import Any

Schema = dict[str, Any]

_API = "kueue.x-k8s.io/v1beta2"
_NAME: Schema = {"type": "string", "maxLength": 253, "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]+)*$"}
_QUANTITY: Schema = {"type": "string", "pattern": r"^[0-9]+([KMGTPE]i|[mkMGTPE])?$"}
_LABELS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}


def _object(properties: dict[str, Schema], *required: str) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def _list(items: Schema, *, least: int, most: int) -> Schema:
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _kind(kind: str, spec: Schema) -> Schema:
    metadata = _object({"name": _NAME, "namespace": _NAME, "labels": _LABELS}, "name")
    properties = {"apiVersion": {"const": _API}, "kind": {"const": kind}, "metadata": metadata, "spec": spec}
    return _object(properties, "apiVersion", "kind", "metadata", "spec")


_RESOURCE = _object({"name": {"type": "string"}, "nominalQuota": _QUANTITY}, "name", "nominalQuota")
_FLAVOR = _object({"name": _NAME, "resources": _list(_RESOURCE, least=1, most=64)}, "name", "resources")
_RESOURCE_GROUP = _object(
    {
        "coveredResources": _list({"type": "string"}, least=1, most=64),
        "flavors": _list(_FLAVOR, least=1, most=64),
    },
    "coveredResources",
    "flavors",
)

_EXPRESSION = _object({"key": {"type": "string"}, "operator": {"enum": ["Exists"]}}, "key", "operator")

QUEUE_SCHEMAS: dict[tuple[str, str], Schema] = {
    (_API, "ResourceFlavor"): _kind("ResourceFlavor", _object({"nodeLabels": _LABELS})),
    (_API, "LocalQueue"): _kind("LocalQueue", _object({"clusterQueue": _NAME}, "clusterQueue")),
    (_API, "ClusterQueue"): _kind(
        "ClusterQueue",
        _object(
            {
                "namespaceSelector": _object(
                    {"matchExpressions": _list(_EXPRESSION, least=1, most=8)}, "matchExpressions"
                ),
                "queueingStrategy": {"enum": ["StrictFIFO", "BestEffortFIFO"]},
                "resourceGroups": _list(_RESOURCE_GROUP, least=0, most=16),
            }
        ),
    ),
}
"""By API version and kind."""
