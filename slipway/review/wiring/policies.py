"""Statements of policies: their ARNs and conditions have the form that IAM compares, and name what exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from slipway.review.changes.references import references, strings
from slipway.review.wiring.interfaces import CLUSTER
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources
from slipway.review.wiring.statements import statements_about

_BUCKET = "AWS::S3::Bucket"
_ROLE_OF_CLUSTER = re.compile(r":role/parallelcluster/([^/]+)/")
_LOGS_OF_CLUSTER = re.compile(r":log-group:/aws/parallelcluster/([^:/]+)")
_SECRET = re.compile(r"arn:[\w-]+:secretsmanager:[^:]+:[^:]+:secret:(?P<name>[^:$]+)")
_SUFFIX = re.compile(r".*-[A-Za-z0-9?]{6}|.*\*")
_MADE_AT = "202611291200"
_OBJECT_ACTIONS = ("s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:GetObjectVersion", "s3:AbortMultipartUpload")
_BUCKET_ACTIONS = ("s3:ListBucket", "s3:GetBucketLocation", "s3:ListBucketMultipartUploads", "s3:GetBucketPolicy")
_OF_A_BUCKET = re.compile(r"\$\{([\w-]+/\w+)\.Arn\}(.+)")


@rule(
    severity="warning",
    reason="The statement has no effect: an action on objects does not match a bucket's ARN, and the reverse.",
    fix="Name `BUCKET_ARN/*` for actions on objects, and the bucket's ARN alone for actions on buckets.",
    source='Service Authorization Reference, "Actions, resources, and condition keys for Amazon S3"',
)
def actions_name_their_kind_of_resource(resources: Resources) -> Iterator[Finding]:
    """Statements with actions on S3 objects name objects; statements with actions on buckets name buckets."""
    for each, path, statement in statements_about(resources):
        named = statement.resources
        arns = [arn for arn in named if resources.resource(arn, _BUCKET)]
        objects = [arn for arn in named if "/" in arn.partition(".Arn}")[2] and _bucket_in(resources, arn)]
        if not named or len(arns) + len(objects) != len(named):
            continue
        about_objects = [action for action in statement.actions if action in _OBJECT_ACTIONS]
        about_buckets = [action for action in statement.actions if action in _BUCKET_ACTIONS]
        if about_objects and not objects:
            yield about(each, path, f"{about_objects[0]} applies to objects, and the statement names only a bucket")
        if about_buckets and not arns:
            yield about(each, path, f"{about_buckets[0]} applies to a bucket, and the statement names only objects")


def _bucket_in(resources: Resources, arn: str) -> bool:
    return any(resources.by_key[key].type == _BUCKET for key, _ in references(arn) if key in resources.by_key)


@rule(
    reason="The statement applies to the roles or log groups of another cluster.",
    fix="Write the cluster's `ClusterName`. Names of its log groups end in the creation time, 12 digits.",
    source="aws-parallelcluster 3.16.1, pcluster/constants.py, IAM_ROLE_PATH and CW_LOG_GROUP_NAME_PREFIX; "
    "pcluster/templates/cluster_stack.py, _add_cluster_cloudwatch_resources",
)
def policy_means_the_stacks_cluster(resources: Resources) -> Iterator[Finding]:
    """ARNs of ParallelCluster's roles and log groups in a policy are those of a cluster in the stacks."""
    names = {str(each.at("ClusterName")) for each in resources.of_type(CLUSTER)}
    groups = [f"{name}-{_MADE_AT}" for name in names]
    for each, path, statement in statements_about(resources) if names else ():
        for operator in ("StringEquals", "StringNotEquals"):
            for value in statement.condition(operator).get("aws:resourcetag/parallelcluster:cluster-name", ()):
                if value not in {name.lower() for name in names}:
                    yield about(each, path, f"the stacks have no cluster {value}")
        for text in strings(dict(statement.row)):
            role, group = _ROLE_OF_CLUSTER.search(text), _LOGS_OF_CLUSTER.search(text)
            if role and not any(fnmatchcase(name, role[1]) for name in names):
                yield about(each, path, f"the stacks have no cluster {role[1]}")
            if group and not any(fnmatchcase(name, group[1]) for name in groups):
                yield about(each, path, f"{group[1]} matches no log group of {', '.join(sorted(names))}")


@rule(
    severity="warning",
    reason="IAM compares the whole ARN, to which Secrets Manager adds a hyphen and six characters: the call is denied.",
    fix="Write the secret's whole ARN, or `-??????` after its name.",
    source='AWS Secrets Manager user guide, "IAM policy reference", Resources',
)
def secret_is_named_with_its_suffix(resources: Resources) -> Iterator[Finding]:
    """A secret's ARN in a policy ends in the six characters that Secrets Manager adds, or in wildcards."""
    for each, path, statement in statements_about(resources):
        for arn in statement.resources:
            found = _SECRET.fullmatch(arn)
            if found and not _SUFFIX.fullmatch(found["name"]):
                yield about(each, path, f"{found['name']} lacks the suffix of a secret's ARN")


@rule(
    reason="The ARN is that of no object: the calls that the statement is for are denied.",
    fix="Write a slash between the bucket's ARN and the key.",
    source='Service Authorization Reference, "Actions, resources, and condition keys for Amazon S3", Resource types',
)
def key_follows_a_slash(resources: Resources) -> Iterator[Finding]:
    """In an ARN of objects, a slash follows the bucket."""
    for each, path, statement in statements_about(resources):
        for arn in statement.resources:
            found = _OF_A_BUCKET.fullmatch(arn)
            bucket = resources.by_key.get(found[1]) if found else None
            if found and bucket and bucket.type == _BUCKET and not found[2].startswith(("/", "*")):
                yield about(each, path, f"{found[2]} follows {bucket.logical_id} without a slash")


@rule(
    reason="The operator compares `*` and `?` as characters: the condition is never true.",
    fix="Write `StringLike` or `ArnLike`.",
    source='AWS Identity and Access Management user guide, "IAM JSON policy elements: Condition operators"',
)
def wildcards_are_compared_as_such(resources: Resources) -> Iterator[Finding]:
    """Values of `StringEquals` and `StringNotEquals` have no wildcards."""
    for each, path, statement in statements_about(resources):
        for operator in ("StringEquals", "StringNotEquals"):
            for key, values in statement.condition(operator).items():
                if any("*" in value or "?" in value for value in values):
                    yield about(each, path, f"{operator} compares {key} with a wildcard")
