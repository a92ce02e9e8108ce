"""What cluster nodes may do in the environment's buckets."""

from dataclasses import dataclass

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct


@dataclass(frozen=True, kw_only=True)
class NodePolicyProps:
    """Properties of a `NodePolicy`."""

    script_bucket: s3.IBucket
    """Bucket of the node scripts."""

    script_prefix: str
    """Key prefix of the scripts, without slashes at its ends."""

    readable_buckets: tuple[s3.IBucket, ...]
    """Buckets that jobs read."""

    writable_buckets: tuple[s3.IBucket, ...]
    """Buckets that jobs read and write; replaced and deleted objects stay as noncurrent versions."""


class NodePolicy(Construct):
    """One managed policy for the roles of head node and compute nodes.

    Its path is `/parallelcluster/`: the provider's role may attach account policies only below it. ParallelCluster's own
    `S3Access` with write access would allow `s3:*`.
    """

    arn: str

    def __init__(self, scope: Construct, id: str, props: NodePolicyProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        policy = iam.ManagedPolicy(
            self,
            "Resource",
            path="/parallelcluster/",
            description="Slipway: S3 access of the cluster's nodes",
        )
        props.script_bucket.grant_read(policy, f"{props.script_prefix}/*")
        for bucket in props.readable_buckets:
            bucket.grant_read(policy)
        for bucket in props.writable_buckets:
            bucket.grant_read_write(policy)
        self.arn = policy.managed_policy_arn
