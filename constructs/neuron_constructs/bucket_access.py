"""What machines may do in the environment's buckets.

ParallelCluster's own `S3Access` would allow `s3:Get*`, or `s3:*` with write access; the CDK's grants allow
`s3:GetBucket*`.
"""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct, IConstruct

from neuron_constructs.acknowledgements import acknowledge

_CHANGES = (
    "s3:DeleteObject",
    "s3:DeleteObjectVersion",
    "s3:PutObjectTagging",
    "s3:PutObjectVersionTagging",
    "s3:DeleteObjectTagging",
    "s3:DeleteObjectVersionTagging",
    "s3:PutObjectAcl",
    "s3:PutObjectVersionAcl",
)
_BUCKET_CHANGES = (
    "s3:PutBucketPolicy",
    "s3:DeleteBucketPolicy",
    "s3:PutBucketVersioning",
    "s3:PutLifecycleConfiguration",
    "s3:PutBucketNotification",
    "s3:DeleteBucket",
)
_READ = ("s3:GetObject",)
_READ_AND_ADD = ("s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload")
_READ_AND_WRITE = ("s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload")


PARALLELCLUSTER_PATH = "/parallelcluster/"
"""IAM path of policies for cluster nodes: the provider's role may attach account policies only below it."""


class BucketAccess(Construct):
    """A managed policy that allows narrow S3 actions on buckets of its stack, or of others, for roles in any stack."""

    policy: iam.ManagedPolicy

    def __init__(self, scope: Construct, id: str, *, description: str, path: str = "/") -> None:  # noqa: A002
        """Create an empty policy.

        Args:
            scope: parent construct; buckets that the app makes must be in the same stack.
            id: construct id.
            description: what the policy is for, shown in the IAM console.
            path: IAM path, with slashes at both ends.
        """
        super().__init__(scope, id)
        self.policy = iam.ManagedPolicy(self, "Resource", path=path, description=description)

    @property
    def arn(self) -> str:
        """ARN of the policy."""
        return self.policy.managed_policy_arn

    def allow_reading(self, bucket: s3.IBucket, keys: str = "*") -> None:
        """Allow reading objects whose key matches `keys` (IAM wildcards), and listing the bucket if all do."""
        self._allow(bucket, keys, _READ)

    def allow_reading_and_writing(self, bucket: s3.IBucket, prefix: str = "") -> None:
        """Allow listing, reading, writing and deleting objects; what is replaced or deleted stays as a version.

        Args:
            bucket: the bucket.
            prefix: what keys begin with; others are out of reach, and are not listed.
        """
        self._allow(bucket, f"{prefix}*", _READ_AND_WRITE, prefix)

    def allow_adding(self, bucket: s3.IBucket) -> None:
        """Allow listing, reading and writing objects; `deny_changes` is what makes them new ones."""
        self._allow(bucket, "*", _READ_AND_ADD)

    def _allow(self, bucket: s3.IBucket, keys: str, actions: Sequence[str], prefix: str = "") -> None:
        # Reading the location takes no prefix (Service Authorization Reference, Amazon S3).
        listing = ["s3:ListBucket"] if prefix else ["s3:ListBucket", "s3:GetBucketLocation"]
        only = {"StringLike": {"s3:prefix": f"{prefix}*"}} if prefix else None
        if prefix or keys == "*":
            self.policy.add_statements(
                iam.PolicyStatement(actions=listing, resources=[bucket.bucket_arn], conditions=only)
            )
        self.policy.add_statements(iam.PolicyStatement(actions=list(actions), resources=[bucket.arn_for_objects(keys)]))
        acknowledge_objects(self.policy, bucket, keys, "The objects' keys are the jobs' and the users' to choose.")


def deny_changes(bucket: s3.Bucket, role_arns: Sequence[str]) -> None:
    """Deny jobs to overwrite or delete what a bucket has; whatever their own policies say, they can only add to it.

    An object is new if the request says `If-None-Match: *`. `s3:ObjectCreationOperation` lets out the calls of an
    upload in parts before the last one, which cannot say so (Amazon S3 user guide, "Enforce conditional writes on
    Amazon S3 buckets"). Copies into the bucket cannot say so at all.

    Args:
        bucket: the bucket, with a policy.
        role_arns: ARNs of the roles that jobs hold, with wildcards. Pods are meant, too: the sessions of EKS Pod
            Identity have the tag `eks-cluster-arn` (Amazon EKS user guide, "Grant Pods access to AWS resources based on
            tags").
    """
    overwrites = {"Bool": {"s3:ObjectCreationOperation": "true"}}
    no_header = {"s3:if-none-match": "true"}
    in_role, in_pod = {"ArnLike": {"aws:PrincipalArn": list(role_arns)}}, {"aws:PrincipalTag/eks-cluster-arn": "false"}
    objects, everything = [bucket.arn_for_objects("*")], [bucket.bucket_arn, bucket.arn_for_objects("*")]
    changes = [*_CHANGES, *_BUCKET_CHANGES]
    for sid, actions, resources, conditions in (
        ("RolesOverwriteNothing", ["s3:PutObject"], objects, {**in_role, **overwrites, "Null": no_header}),
        ("PodsOverwriteNothing", ["s3:PutObject"], objects, {**overwrites, "Null": {**no_header, **in_pod}}),
        ("RolesDeleteNothing", changes, everything, in_role),
        ("PodsDeleteNothing", changes, everything, {"Null": in_pod}),
    ):
        bucket.add_to_resource_policy(
            iam.PolicyStatement(
                sid=sid,
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=actions,
                resources=resources,
                conditions=conditions,
            )
        )


def allow_reading_by_roles(bucket: s3.Bucket, role_arns: Sequence[str]) -> None:
    """Let roles of other accounts list a bucket and read its objects, where their own policies allow it, too.

    S3 keeps a role's unique id: a role of the same name that is made later gets nothing before the next deployment
    (IAM user guide, "AWS JSON policy elements: Principal").

    Args:
        bucket: the bucket. Where it is encrypted with a customer's key, that key's policy names the roles, too.
        role_arns: ARNs of the roles, which must exist.
    """
    if not role_arns:
        return
    for sid, action, resource in (
        ("OtherAccountsList", "s3:ListBucket", bucket.bucket_arn),
        ("OtherAccountsRead", "s3:GetObject", bucket.arn_for_objects("*")),
    ):
        bucket.add_to_resource_policy(
            iam.PolicyStatement(
                sid=sid,
                principals=[iam.ArnPrincipal(arn) for arn in role_arns],
                actions=[action],
                resources=[resource],
            )
        )


def acknowledge_objects(policy: IConstruct, bucket: s3.IBucket, keys: str, reason: str) -> None:
    """Accept that a policy names a bucket's objects by a wildcard.

    Args:
        policy: the policy that has the wildcard.
        bucket: the bucket, in the policy's own stack.
        keys: the wildcard behind the bucket's ARN.
        reason: why a wildcard is right here.
    """
    resource = bucket.node.default_child
    if isinstance(resource, s3.CfnBucket):
        arn = f"<{bucket.stack.get_logical_id(resource)}.Arn>"
    else:
        # A bucket of another owner has no resource here: its ARN is made of its name, and of what the stack knows.
        partition = bucket.stack.partition
        known = "<AWS::Partition>" if cdk.Token.is_unresolved(partition) else partition
        arn = f"arn:{known}:s3:::{bucket.bucket_name}"
    acknowledge(policy, {f"AwsSolutions-IAM5[Resource::{arn}/{keys}]": reason})
