"""The API servers of all clusters: one starts with each EKS cluster and ends with it."""

import base64
from pathlib import Path
from typing import Any

from moto.eks.models import Cluster, EKSBackend

from slipway_emulator.kubernetes_api.certificate import make_certificate
from slipway_emulator.kubernetes_api.objects import Objects
from slipway_emulator.kubernetes_api.server import ApiServer

DEVIATIONS = {
    "kubernetes-api": "moto's EKS clusters have no API; a stand-in on loopback takes what kubectl sends, checks kinds,"
    " names, namespaces and the fields of built-in kinds, and runs nothing: no scheduler, controller or webhook",
    "kubernetes-patches": "the stand-in takes the manifest behind a patch of kubectl apply in the place of the object;"
    " Kubernetes merges it, and refuses changes of fields that cannot change",
}
"""What is different about these API servers, by name."""


class KubernetesApis:
    """Starts and ends API servers, and finds one by its cluster's name."""

    def __init__(self, folder: Path) -> None:
        self._context, self._certificate = make_certificate(folder)
        self._servers: dict[str, ApiServer] = {}

    def objects(self, cluster: str) -> Objects:
        """What a cluster's API holds.

        Raises:
            KeyError: There is no such cluster.
        """
        return self._servers[cluster].objects

    def stand_behind_clusters(self) -> None:
        """Give every EKS cluster of moto an API server from its creation to its deletion."""
        create, delete, apis = EKSBackend.create_cluster, EKSBackend.delete_cluster, self

        def create_cluster(self: EKSBackend, *arguments: Any, **named: Any) -> Cluster:
            cluster = create(self, *arguments, **named)
            server = apis._servers[cluster.name] = ApiServer(Objects(cluster.version), apis._context)
            cluster.endpoint = server.endpoint
            cluster.certificate_authority = {"data": base64.b64encode(apis._certificate).decode()}
            return cluster

        def delete_cluster(self: EKSBackend, name: str) -> Cluster:
            cluster = delete(self, name)
            apis._servers.pop(name).close()
            return cluster

        EKSBackend.create_cluster = create_cluster  # type: ignore[method-assign]
        EKSBackend.delete_cluster = delete_cluster  # type: ignore[method-assign]

    def close(self) -> None:
        """End all of them."""
        for server in self._servers.values():
            server.close()
