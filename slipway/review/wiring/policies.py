"""Statements of policies: they have the form that IAM compares, name what exists, and allow what belongs together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from slipway import facts
from slipway.review.changes.references import references, strings
from slipway.review.wiring.interfaces import CLUSTER
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, rows
from slipway.review.wiring.statements import statements, statements_about

_ROLE, _BUCKET = "AWS::IAM::Role", "AWS::S3::Bucket"
_OF_A_REGION = re.compile(r"[\w-]+\.([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com")
_ACCOUNT = re.compile(r"arn:[\w-]+:iam::(\d{12}):root")
_TOGETHER = (
    ("ecr:InitiateLayerUpload", "ecr:UploadLayerPart", "ecr:CompleteLayerUpload", "ecr:PutImage"),
    ("ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"),
    ("logs:CreateLogStream", "logs:PutLogEvents"),
    tuple(f"ssmmessages:{verb}{kind}Channel" for verb in ("Create", "Open") for kind in ("Control", "Data")),
)
_SAFE_WHEN_SENT = ("s3:if-none-match", "s3:if-match")
"""Headers that make a write refuse to overwrite (Amazon S3 user guide, "Conditional writes")."""
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
    reason="The operator compares `*` and `?` as characters: the condition never matches (`StringNotEquals`: always).",
    fix="Write `StringLike` or `ArnLike`.",
    source='AWS Identity and Access Management user guide, "IAM JSON policy elements: Condition operators"',
)
def wildcards_need_an_operator_that_reads_them(resources: Resources) -> Iterator[Finding]:
    """Values of `StringEquals` and `StringNotEquals` have no wildcards."""
    for each, path, statement in statements_about(resources):
        for operator in ("StringEquals", "StringNotEquals"):
            for key, values in statement.condition(operator).items():
                if any("*" in value or "?" in value for value in values):
                    yield about(each, path, f"{operator} compares {key} with a wildcard")


@rule(
    reason="The service of the stack's Region is another principal, and AWS denies its requests.",
    fix="Write the stack's Region, or the principal without a Region if the service has one.",
    source='Amazon CloudWatch Logs user guide, "Encrypt log data in CloudWatch Logs using AWS KMS"; '
    'Elastic Load Balancing user guide, "Enable access logs for your Application Load Balancer"',
)
def service_is_that_of_the_region(resources: Resources) -> Iterator[Finding]:
    """Service principals, and the account that writes load balancer logs, are those of the stack's Region."""
    accounts = {row.load_balancer_log_account: name for name, row in facts.regions().items()}
    for each, path, statement in statements_about(resources):
        own = resources.region_of(each)
        for service in statement.services:
            found = _OF_A_REGION.fullmatch(service)
            of_own = f"{service.partition('.')[0]}.{own}.amazonaws.com"
            if found and own in facts.regions() and of_own not in statement.services:
                yield about(each, path, f"{service} is not a service of {own}")
        for arn in statement.accounts:
            account = _ACCOUNT.fullmatch(arn)
            of_region = accounts.get(account[1]) if account else None
            if of_region and own in facts.regions() and of_region != own:
                yield about(each, path, f"{arn} writes load balancer logs in {of_region}, not in {own}")


@rule(
    severity="warning",
    reason="An inverted condition denies the requests that it should allow, and allows the others.",
    fix="Invert the condition's value.",
    source='AWS Identity and Access Management user guide, "IAM JSON policy elements: Condition operators"',
)
def denial_is_the_right_way_round(resources: Resources) -> Iterator[Finding]:
    """A `Deny` statement that checks TLS, a safe header or a principal's tag denies the requests without it."""
    tags = {str(tag.get("Key")).lower() for role in resources.of_type(_ROLE) for tag in rows(role.at("Tags"))}
    for each, path, statement in statements_about(resources):
        tls = statement.condition("Bool").get("aws:securetransport")
        if tls and ("true" in tls) is not statement.allows:
            yield about(each, path, "it applies to requests with TLS, not to those without")
        for key, values in statement.condition("Null").items() if not statement.allows else ():
            if key in _SAFE_WHEN_SENT and "false" in values:
                yield about(each, path, f"it denies requests with {key}, which overwrite nothing")
            tag = key.removeprefix("aws:principaltag/")
            if tag not in (key, *tags) and "true" in values:
                yield about(each, path, f"it denies every principal without the tag {tag}, and no role has that tag")


@rule(
    severity="warning",
    reason="A push, a pull or a session needs all of these calls: if one is denied, it fails.",
    fix="Allow them together.",
    source='Amazon ECR user guide, "IAM permissions for pushing an image" and "Pulling an image"; AWS Systems Manager '
    'user guide, "Add Session Manager permissions to an existing IAM role"',
)
def actions_that_belong_together_are_allowed(resources: Resources) -> Iterator[Finding]:
    """A policy that allows one of the calls of a push, a pull or a session allows all of them."""
    for policy in resources.of_type("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
        found = list(statements(policy.at("PolicyDocument")))
        for together in _TOGETHER:
            missing = [action for action in together if not any(one.allows_action(action) for one in found)]
            if missing and len(missing) < len(together):
                yield about(policy, "PolicyDocument", f"it lacks {', '.join(missing)}")


@rule(
    reason="AWS refuses the policy, or nobody gets the permission.",
    fix="Write the policy's own bucket into its statements.",
    source='Amazon S3 user guide, "Bucket policies for Amazon S3"',
)
def bucket_policy_is_about_its_bucket(resources: Resources) -> Iterator[Finding]:
    """The resources in a bucket's policy are the bucket and its objects."""
    for policy in resources.of_type("AWS::S3::BucketPolicy"):
        bucket = resources.resource(policy.at("Bucket"), _BUCKET)
        for statement in statements(policy.at("PolicyDocument")):
            for arn in statement.resources:
                found = resources.referred(arn.partition("/*")[0])
                if bucket and found and found[0] is not bucket:
                    message = f"it is the policy of {bucket.logical_id}, not of {found[0].logical_id}"
                    yield about(policy, "PolicyDocument", message)
