"""IAM: which service may assume which role, and what policies allow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from slipway import facts
from slipway.review.changes.references import references, strings
from slipway.review.changes.resources import Resource
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, rows, values_at
from slipway.review.wiring.role_uses import MANAGED_POLICIES, ROLE_USES, RoleUse
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


@rule(
    reason="The service cannot assume the role: AWS refuses the resource, or it never works.",
    fix="Let the role's trust policy allow the service `sts:AssumeRole`, and EKS Pod Identity `sts:TagSession` too.",
    source='AWS Identity and Access Management user guide, "Create a role to delegate permissions to an AWS service"; '
    'Amazon EKS user guide, "Create IAM role with trust policy required by EKS Pod Identity"',
)
def role_trusts_who_uses_it(resources: Resources) -> Iterator[Finding]:
    """A role trusts the service that assumes it for a resource."""
    for user, path, use, role in _uses(resources):
        trusting = [
            statement
            for statement in statements(role.at("AssumeRolePolicyDocument"))
            if any(_is_service(each, use.service) for each in statement.services)
        ]
        missing = [action for action in use.actions if not any(one.allows_action(action) for one in trusting)]
        if missing:
            message = f"it names {role.logical_id}, which does not let {use.service} do {', '.join(missing)}"
            yield about(user, path, message)


@rule(
    reason="EKS gives the pods no credentials: the trust policy requires other session tags.",
    fix="Write the namespace and the service account of the association.",
    source='Amazon EKS user guide, "Grant Pods access to AWS resources based on tags"',
)
def role_asks_for_the_pods_that_it_is_for(resources: Resources) -> Iterator[Finding]:
    """A Pod Identity role whose trust policy requires a namespace or service account requires the association's."""
    for association in resources.of_type("AWS::EKS::PodIdentityAssociation"):
        role = resources.resource(association.at("RoleArn"), _ROLE)
        for statement in statements(role.at("AssumeRolePolicyDocument")) if role else ():
            for part, key in (("Namespace", "namespace"), ("ServiceAccount", "service-account")):
                wanted = statement.condition("StringEquals").get(f"aws:requesttag/kubernetes-{key}")
                if wanted and str(association.at(part)).lower() not in wanted:
                    yield about(
                        association, part, f"it is {association.at(part)}, and the role requires {', '.join(wanted)}"
                    )


def _is_service(named: str, wanted: str) -> bool:
    """Whether a principal is a service; its name can have a Region in it."""
    return named == wanted or named.startswith(f"{wanted.removesuffix('.amazonaws.com')}.")


def _uses(resources: Resources) -> Iterator[tuple[Resource, str, RoleUse, Resource]]:
    for use in ROLE_USES:
        for user in resources.of_type(use.type):
            for path, value in values_at(user.properties, use.path):
                if role := resources.resource(value, _ROLE):
                    yield user, path, use, role


@rule(
    reason="AWS refuses the resource, or its nodes never join.",
    fix="Attach the AWS managed policy, or acknowledge the finding if your own policy allows the same.",
    source='Amazon EKS user guide, "Amazon EKS cluster IAM role" and "Amazon EKS node IAM role"; AWS Lambda developer '
    'guide, "Giving Lambda functions access to resources in an Amazon VPC"',
)
def role_has_what_its_service_needs(resources: Resources) -> Iterator[Finding]:
    """Roles of EKS clusters, their nodes and functions in a VPC have the policies that AWS requires."""
    for user, path, use, role in _uses(resources):
        for need in MANAGED_POLICIES:
            if (need.type, need.path) != (use.type, use.path) or (need.when and user.at(need.when) is None):
                continue
            arns = " ".join(strings(role.at("ManagedPolicyArns") or []))
            own = (
                statement
                for policy in resources.of_type("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
                if any(key == role.key for key, _ in references(policy.at("Roles")))
                for statement in statements(policy.at("PolicyDocument"))
            )
            inline = (one for policy in rows(role.at("Policies")) for one in statements(policy.get("PolicyDocument")))
            by_itself = any(statement.allows_action(need.action) for statement in (*own, *inline))
            # A customer managed policy outside of the stacks can allow it.
            has_others = any(":iam::aws:policy/" not in arn for arn in arns.split() if not arn.startswith("${"))
            if not by_itself and not has_others and not any(name in arns for name in need.one_of):
                yield about(user, path, f"{role.logical_id} has none of {', '.join(need.one_of)}")


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


@rule(
    reason="Everyone who may start a session is the user ssm-user, who may run every command as root.",
    fix="Write `runAsEnabled: true`.",
    source='AWS Systems Manager user guide, "Turn on Run As support for Linux and macOS managed nodes"',
)
def session_runs_as_its_user(resources: Resources) -> Iterator[Finding]:
    """A session document that names a default user for Run As enables Run As."""
    for document in resources.of_type("AWS::SSM::Document"):
        inputs = document.at("Content.inputs")
        if isinstance(inputs, Mapping) and "runAsDefaultUser" in inputs and inputs.get("runAsEnabled") is False:
            yield about(document, "Content.inputs.runAsEnabled", "it names a user, and Run As is off")
