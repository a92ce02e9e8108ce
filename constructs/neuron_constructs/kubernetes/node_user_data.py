"""User data of a node: what EKS's own bootstrap reads besides what EKS gives it."""

from aws_cdk import aws_ec2 as ec2

from slipway import facts

_LOCAL_DISKS = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  instance:
    localStorage:
      strategy: RAID0
"""
"""Images, logs and `emptyDir` volumes of pods are on all local disks as one, which is empty with each new instance.

Form: nodeadm's API, awslabs/amazon-eks-ami, nodeadm/doc/api.md.
"""


def node_user_data(instance: facts.InstanceType) -> ec2.UserData | None:
    """Return the user data, or nothing where EKS's own is all that a node needs.

    EKS adds a NodeConfig of its own (cluster, labels, taints), and nodeadm merges all there are. There is nothing else
    to set: the device plugins choose EFA interfaces near a pod's Neuron devices without options of the kubelet, and
    libfabric does without huge pages where there are none.

    Args:
        instance: the instance type.
    """
    if not instance.nvme_volumes:
        return None
    user_data = ec2.MultipartUserData()
    user_data.add_part(ec2.MultipartBody.from_raw_body(content_type="application/node.eks.aws", body=_LOCAL_DISKS))
    return user_data
