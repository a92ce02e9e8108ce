"""User data of a node: what EKS's own bootstrap reads besides what EKS gives it.

Form and meaning: nodeadm's API, awslabs/amazon-eks-ami @81fec2e, nodeadm/doc/{api,examples}.md.
"""

from typing import Any

import yaml
from aws_cdk import aws_ec2 as ec2

from slipway import facts

_LOCAL_DISKS = {"localStorage": {"strategy": "RAID0"}}
"""Images, logs and `emptyDir` volumes of pods are on all local disks as one, which is empty with each new instance."""

_LOCKED_BYTES = 1 << 50
"""More memory than any instance has. nodeadm reads numbers as floating point and writes the nearest one: the largest
integer would come out larger than containerd accepts, and no container would start; powers of two stay as they are."""

_LIMITS = [
    # As nodeadm has it (nodeadm/internal/containerd/base-runtime-spec.json): a list of limits replaces its own.
    {"type": "RLIMIT_NOFILE", "soft": 65536, "hard": 1048576},
    {"type": "RLIMIT_MEMLOCK", "soft": _LOCKED_BYTES, "hard": _LOCKED_BYTES},
]
"""Limits of every container. Libfabric pins the buffers that EFA sends from, and wants no limit on that
(ofiwg/libfabric, prov/efa/docs/overview.md; Bottlerocket lifts it where there is EFA, bottlerocket-core-kit#140).
Containers get the limit of containerd, which systemd sets to 8 MiB where nobody says otherwise, and a pod can ask for
no other one; the capability that lifts it does not reach containers that are not root
(NVIDIA/nvidia-container-toolkit#2037). EFA's own installer lifts it for people who log in, which containers do not."""


def node_user_data(instance: facts.InstanceType, *, efa: bool) -> ec2.UserData | None:
    """Return the user data, or nothing where EKS's own is all that a node needs.

    EKS adds a NodeConfig of its own (cluster, labels, taints), and nodeadm merges all there are. There is nothing else
    to set: the device plugins choose EFA interfaces near a pod's Neuron devices without options of the kubelet, and
    libfabric does without huge pages where there are none.

    Args:
        instance: the instance type.
        efa: whether the nodes get EFA.
    """
    spec: dict[str, Any] = {}
    if efa:
        spec["containerd"] = {"baseRuntimeSpec": {"process": {"rlimits": _LIMITS}}}
    if instance.nvme_volumes:
        spec["instance"] = _LOCAL_DISKS
    if not spec:
        return None
    body = yaml.safe_dump({"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}, sort_keys=False)
    user_data = ec2.MultipartUserData()
    user_data.add_part(ec2.MultipartBody.from_raw_body(content_type="application/node.eks.aws", body=body))
    return user_data
