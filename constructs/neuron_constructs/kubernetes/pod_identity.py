"""Rights of pods in the account: a role for one service account of one cluster, by EKS Pod Identity."""

from collections.abc import Sequence

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct


def pod_role(
    scope: Construct,
    id: str,  # noqa: A002
    *,
    cluster: eks.ICluster,
    namespace: str,
    service_account: str,
    policies: Sequence[iam.IManagedPolicy],
) -> iam.Role:
    """Return a role that the pods of a service account hold from their start.

    A pod that is already there when the association comes does not get it: whatever starts such pods depends on the
    role.

    Args:
        scope: parent construct.
        id: construct id.
        cluster: the cluster; it runs the add-on `eks-pod-identity-agent`.
        namespace: the service account's namespace.
        service_account: its name. Neither it nor the namespace need exist yet.
        policies: what the pods may do.
    """
    role = service_account_role(
        scope, id, cluster=cluster, namespace=namespace, service_account=service_account, policies=policies
    )
    association = eks.CfnPodIdentityAssociation(
        role,
        "Association",
        cluster_name=cluster.cluster_name,
        namespace=namespace,
        service_account=service_account,
        role_arn=role.role_arn,
    )
    # The rights come first: the association is what pods wait for.
    association.node.add_dependency(*policies)
    return role


def service_account_role(
    scope: Construct,
    id: str,  # noqa: A002
    *,
    cluster: eks.ICluster,
    namespace: str,
    service_account: str,
    policies: Sequence[iam.IManagedPolicy],
) -> iam.Role:
    """Return the role of `pod_role` without its association, for an EKS add-on, which makes its own.

    Args:
        scope: parent construct.
        id: construct id.
        cluster: the cluster.
        namespace: the service account's namespace.
        service_account: its name.
        policies: what the pods may do.
    """
    # Without the conditions every association in the account could name the role; the tags are those of
    # https://docs.aws.amazon.com/eks/latest/userguide/pod-id-abac.html#pod-id-abac-tags
    conditions = {
        "StringEquals": {
            "aws:RequestTag/eks-cluster-arn": cluster.cluster_arn,
            "aws:RequestTag/kubernetes-namespace": namespace,
            "aws:RequestTag/kubernetes-service-account": service_account,
        }
    }
    principal = iam.ServicePrincipal("pods.eks.amazonaws.com", conditions=conditions)
    return iam.Role(
        scope,
        id,
        description=f"Pods of the service account {service_account} in {namespace}",
        assumed_by=principal.with_session_tags(),
        managed_policies=list(policies),
    )
