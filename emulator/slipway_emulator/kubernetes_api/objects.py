"""The objects of one cluster, with the rules that a deployment can break: names, namespaces, schemas, kinds."""

import threading
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import kubernetes_validate  # type: ignore[import-untyped]

from slipway_emulator.kubernetes_api.kinds import Kind, builtin_kinds, kinds_of_definition
from slipway_emulator.kubernetes_api.refusal import RefusalError, not_found

Manifest = dict[str, Any]
_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_DEFINITION = "CustomResourceDefinition"
_NAMESPACE = "Namespace"


class Objects:
    """What a cluster's API holds. Every method raises RefusalError where the real one would refuse.

    Args:
        version: The cluster's Kubernetes version, such as ``1.35``.
    """

    def __init__(self, version: str) -> None:
        self.version = version
        self._kinds = {(kind.group_version, kind.plural): kind for kind in builtin_kinds()}
        self._objects: dict[tuple[str, str, str, str], Manifest] = {}
        self._ending: set[str] = set()
        self._lock = threading.RLock()
        for name in _NAMESPACES:
            self.add_namespace(name)

    # ---- kinds ---------------------------------------------------------------------------------------------

    def kinds(self) -> list[Kind]:
        """Every kind that is served."""
        with self._lock:
            return list(self._kinds.values())

    def kind(self, group_version: str, plural: str) -> Kind:
        """The kind behind a path."""
        with self._lock:
            if (group_version, plural) not in self._kinds:
                raise not_found("the server could not find the requested resource", plural)
            return self._kinds[group_version, plural]

    def serve(self, kinds: Iterable[Kind]) -> None:
        """Serve further kinds."""
        with self._lock:
            self._kinds |= {(kind.group_version, kind.plural): kind for kind in kinds}

    # ---- objects -------------------------------------------------------------------------------------------

    def add_namespace(self, name: str) -> None:
        """Make a namespace, unless it is there."""
        with self._lock:
            if ("v1", "namespaces", "", name) not in self._objects:
                namespace = {"apiVersion": "v1", "kind": _NAMESPACE, "metadata": {"name": name}}
                self.create(self.kind("v1", "namespaces"), "", namespace)

    def create(self, kind: Kind, namespace: str, manifest: Manifest) -> Manifest:
        """Keep a new object."""
        name = str(manifest["metadata"]["name"])
        self._check(kind, manifest)
        with self._lock:
            self._end_namespaces(kind)
            if kind.namespaced and ("v1", "namespaces", "", namespace) not in self._objects:
                raise not_found("namespaces", namespace)
            key = (kind.group_version, kind.plural, namespace, name)
            if key in self._objects:
                message = f'{kind.plural} "{name}" already exists'
                raise RefusalError(HTTPStatus.CONFLICT, "AlreadyExists", message)
            self._objects[key] = self._stored(manifest, namespace, uid=str(uuid4()))
            if kind.kind == _DEFINITION:
                self.serve(kinds_of_definition(manifest))
            return self._objects[key]

    def get(self, kind: Kind, namespace: str, name: str) -> Manifest:
        """Return an object."""
        with self._lock:
            self._end_namespaces(kind)
            return self._existing(kind, namespace, name)

    def replace(self, kind: Kind, namespace: str, name: str, manifest: Manifest) -> Manifest:
        """Put a manifest in the place of an object that is there."""
        self._check(kind, manifest)
        with self._lock:
            before = self._existing(kind, namespace, name)
            after = self._stored(manifest, namespace, uid=before["metadata"]["uid"])
            self._objects[kind.group_version, kind.plural, namespace, name] = after
            if kind.kind == _DEFINITION:
                self.serve(kinds_of_definition(manifest))
            return after

    def delete(self, kind: Kind, namespace: str, name: str) -> Manifest:
        """Forget an object; with a definition its kinds and their objects, with a namespace all that is in it.

        A namespace and what is in it stay until somebody asks for namespaces: Kubernetes, too, deletes them later, and
        kubectl goes on with the objects before it waits for the namespace's end.
        """
        with self._lock:
            gone = self._existing(kind, namespace, name)
            if kind.kind == _NAMESPACE:
                self._ending.add(name)
                return gone
            del self._objects[kind.group_version, kind.plural, namespace, name]
            if kind.kind == _DEFINITION:
                dropped = {(kind.group_version, kind.plural) for kind in kinds_of_definition(gone)}
                self._objects = {key: value for key, value in self._objects.items() if key[:2] not in dropped}
                self._kinds = {key: value for key, value in self._kinds.items() if key not in dropped}
            return gone

    def listed(self, kind: Kind, namespace: str, labels: Mapping[str, str], name: str | None) -> list[Manifest]:
        """Return the objects of a kind.

        Args:
            kind: Which.
            namespace: Only those in this namespace; empty for all.
            labels: Only those with these labels.
            name: Only the one with this name.
        """
        with self._lock:
            self._end_namespaces(kind)
            found = [
                value
                for (group_version, plural, inside, own_name), value in self._objects.items()
                if (group_version, plural) == (kind.group_version, kind.plural)
                and namespace in ("", inside)
                and name in (None, own_name)
            ]
        return [value for value in found if labels.items() <= value["metadata"].get("labels", {}).items()]

    def _existing(self, kind: Kind, namespace: str, name: str) -> Manifest:
        key = (kind.group_version, kind.plural, namespace, name)
        if key not in self._objects:
            raise not_found(kind.plural, name)
        return self._objects[key]

    def _end_namespaces(self, asked: Kind) -> None:
        if asked.kind == _NAMESPACE and self._ending:
            ending, self._ending = self._ending, set()
            self._objects = {
                key: value
                for key, value in self._objects.items()
                if key[2] not in ending and not (key[1] == asked.plural and key[3] in ending)
            }

    # ---- rules ---------------------------------------------------------------------------------------------

    def _check(self, kind: Kind, manifest: Manifest) -> None:
        """Check a manifest against Kubernetes' own schema; kinds of definitions and charts have none here."""
        if kind not in builtin_kinds():
            return
        try:
            kubernetes_validate.validate(manifest, self.version, strict=True)
        except kubernetes_validate.ValidationError as error:
            path = ".".join(str(part) for part in error.path)
            message = f'{kind.kind} in version "{kind.version}" cannot be handled: {path}: {error.message}'
            raise RefusalError(HTTPStatus.BAD_REQUEST, "BadRequest", message) from error

    @staticmethod
    def _stored(manifest: Manifest, namespace: str, *, uid: str) -> Manifest:
        own = {
            "uid": uid,
            "resourceVersion": "1",
            "creationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            **({"namespace": namespace} if namespace else {}),
        }
        return {**manifest, "metadata": {**manifest["metadata"], **own}}
