"""The training file system as a volume of the cluster."""

from dataclasses import dataclass

from neuron_constructs.kubernetes.names import FSX_CLAIM
from neuron_constructs.kubernetes.software.manifest import Manifest, cluster_object, namespaced_object


@dataclass(frozen=True, kw_only=True)
class LustreVolume:
    """An FSx for Lustre file system that is already there."""

    file_system_id: str
    """Its id, `fs-...`."""

    dns_name: str
    """Its DNS name."""

    mount_name: str
    """Its mount name, which Lustre clients need besides."""

    capacity_gib: int
    """Its size in GiB; Kubernetes shows it and enforces nothing."""


def volume_and_claim(volume: LustreVolume, namespace: str) -> list[Manifest]:
    """Return a namespace's persistent volume and the only claim that may have it.

    A volume is bound to one claim, so each namespace has a volume of its own, of the one file system.

    Static, and retained: the file system belongs to CloudFormation, and neither driver nor claim can make or delete
    one. Fields as in aws-fsx-csi-driver @5b22712, examples/kubernetes/static_provisioning. The job kit locks files,
    which Lustre does across nodes only with `flock`.
    """
    name, size = f"{namespace}-fsx", f"{volume.capacity_gib}Gi"
    return [
        cluster_object(
            "v1",
            "PersistentVolume",
            name,
            spec={
                "capacity": {"storage": size},
                "volumeMode": "Filesystem",
                "accessModes": ["ReadWriteMany"],
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "",
                "mountOptions": ["flock", "noatime"],
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "name": FSX_CLAIM,
                    "namespace": namespace,
                },
                "csi": {
                    "driver": "fsx.csi.aws.com",
                    "volumeHandle": volume.file_system_id,
                    "volumeAttributes": {"dnsname": volume.dns_name, "mountname": volume.mount_name},
                },
            },
        ),
        namespaced_object(
            "v1",
            "PersistentVolumeClaim",
            FSX_CLAIM,
            namespace=namespace,
            spec={
                "accessModes": ["ReadWriteMany"],
                # Empty, and not left out: a default class would make a new file system.
                "storageClassName": "",
                "volumeName": name,
                # Not the file system's size, which may grow: Kubernetes refuses to change the request of a claim
                # without a storage class. It is bound by the volume's name.
                "resources": {"requests": {"storage": "1Gi"}},
            },
        ),
    ]
