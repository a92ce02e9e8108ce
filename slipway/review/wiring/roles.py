"""IAM roles: services can assume them, and find the permissions that they need."""

from __future__ import annotations

from collections.abc import Iterator

from slipway.review.changes.references import strings
from slipway.review.changes.resources import Resource
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, values_at
from slipway.review.wiring.role_uses import MANAGED_POLICIES, ROLE_USES, RoleUse
from slipway.review.wiring.statements import statements, statements_of_role

_ROLE = "AWS::IAM::Role"


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
            by_itself = any(one.allows_action(need.action) for one in statements_of_role(resources, role))
            # A customer managed policy outside of the stacks can allow it.
            has_others = any(":iam::aws:policy/" not in arn for arn in arns.split() if not arn.startswith("${"))
            if not by_itself and not has_others and not any(name in arns for name in need.one_of):
                yield about(user, path, f"{role.logical_id} has none of {', '.join(need.one_of)}")
