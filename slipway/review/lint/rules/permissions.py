"""Rules about what the nodes' roles may do."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from slipway import facts
from slipway.assembly.cluster import Cluster
from slipway.assembly.sections import Section, UnknownValue, is_open
from slipway.config.problems import Finding, listed
from slipway.review.lint.registry import rule

_GUIDE = "https://docs.aws.amazon.com/parallelcluster/latest/ug"
_IAM_GUIDE = f"{_GUIDE}/iam-roles-in-parallelcluster-v3.html"


@rule(
    Cluster.nodes,
    severity="error",
    reason="Every job and every user of the cluster has the rights of its node.",
    fix="Name the buckets in Iam.S3Access, or attach a policy of your own that names what the nodes use.",
    source="https://docs.aws.amazon.com/IAM/latest/UserGuide/best-practices.html#grant-least-privilege",
)
def policies_are_narrow(cluster: Cluster, node: Section) -> Iterator[Finding]:
    """No node has a policy for a whole service or account."""
    for policy in node.section("Iam").items("AdditionalIamPolicies"):
        name = (policy.written("Policy") or "").rpartition("/")[2]
        broad = next((row for row in facts.broad_policies().values() if fnmatchcase(name, row.name)), None)
        if broad:
            yield policy.finding(f"{name} allows {broad.grants}", "Policy")


@rule(
    Cluster.nodes,
    severity="error",
    reason=(
        "The provider's role may attach a short list of policies. Anything else is AccessDenied after minutes of "
        "creation, and no validator of ParallelCluster notices."
    ),
    fix="Give a policy of your own the path /parallelcluster/ or a name that begins with `parallelcluster`.",
    source=f"{_IAM_GUIDE}; cloudformation/policies/parallelcluster-policies.yaml (IAM admin policy)",
)
def policies_attachable_by_provider(cluster: Cluster, node: Section) -> Iterator[Finding]:
    """A cluster that AWS's CloudFormation provider makes has only policies that the provider may attach."""
    if cluster.context.made_by_provider is None:
        raise UnknownValue("whether AWS's CloudFormation provider makes the cluster")
    if not cluster.context.made_by_provider:
        return
    for policy in node.section("Iam").items("AdditionalIamPolicies"):
        arn = cluster.context.policy_arn(policy.written("Policy") or "")
        if not any(fnmatchcase(arn, pattern) for pattern in cluster.limits.attachable_policies):
            yield policy.finding(f"the provider may not attach {arn}", "Policy")


@rule(
    Cluster.nodes,
    severity="error",
    reason="The nodes read, and with EnableWriteAccess overwrite, every bucket of the account.",
    fix="Name the buckets that the nodes use, one item each.",
    source=f"{_GUIDE}/HeadNode-v3.html (Iam, S3Access)",
)
def s3_access_names_buckets(cluster: Cluster, node: Section) -> Iterator[Finding]:
    """S3Access names buckets, without wildcards."""
    for access in node.section("Iam").items("S3Access"):
        bucket = access.written("BucketName") or ""
        if "*" in bucket:
            yield access.finding(f"BucketName {bucket} stands for many buckets", "BucketName")


@rule(
    Cluster.nodes,
    severity="error",
    reason="ParallelCluster does not look whether the bucket exists: nodes fail when they first read from it.",
    fix="Name a bucket of this environment.",
    source="found by mutation: no validator of aws-parallelcluster 3.16.1 looks at S3Access",
)
def s3_access_to_own_buckets(cluster: Cluster, node: Section) -> Iterator[Finding]:
    """S3Access names buckets of this environment."""
    items = node.section("Iam").items("S3Access")
    own = cluster.context.own_buckets
    if items and own is None:
        raise UnknownValue("which buckets the environment has")
    for access in items:
        bucket = access.written("BucketName") or ""
        if own is not None and bucket not in own and "*" not in bucket:
            yield access.finding(f"{bucket} is not a bucket of this environment", "BucketName")


@rule(
    Cluster.nodes,
    severity="warning",
    reason="A mistake in one job overwrites or deletes what all others have written.",
    fix="Add `KeyName: outputs/*` with the prefix that the nodes write to, or remove EnableWriteAccess.",
    source=f"{_GUIDE}/HeadNode-v3.html (Iam, S3Access, KeyName)",
)
def s3_writing_below_a_prefix(cluster: Cluster, node: Section) -> Iterator[Finding]:
    """Where nodes may write to a bucket, a KeyName says below which prefix."""
    for access in node.section("Iam").items("S3Access"):
        everywhere = access.written("KeyName") in (None, "*", "/*")
        if access.flag("EnableWriteAccess", default=False) and everywhere:
            yield access.finding("the nodes may write everywhere in the bucket", "EnableWriteAccess")


@rule(
    Cluster.whole,
    severity="error",
    reason="An account that asks for permissions boundaries refuses every role without one: creation fails.",
    fix="Write the boundary's ARN as `Iam.PermissionsBoundary`.",
    source=f"{_GUIDE}/Iam-v3.html (PermissionsBoundary)",
)
def permissions_boundary_passed_on(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """Where the other roles have a permissions boundary, the cluster's roles have it too."""
    boundaries = cluster.context.permissions_boundaries
    if boundaries is None:
        raise UnknownValue("whether roles need a permissions boundary")
    own = root.section("Iam").written("PermissionsBoundary")
    if boundaries and own not in boundaries and not (own and is_open(own)):
        message = f"the other roles have the permissions boundary {listed(sorted(boundaries))}"
        yield root.finding(message, "Iam", "PermissionsBoundary")
