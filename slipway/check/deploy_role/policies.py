"""The policy documents of a deployment.

With a bootstrapped account three parties act: the deployer, who may do little more than take on the roles of the
bootstrap; those roles, which upload assets and start CloudFormation; and CloudFormation's own role, which makes the
resources. The bootstrap gives that last one AdministratorAccess unless you choose another policy.
"""

import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

from slipway.assembly.bootstrap import version_parameter
from slipway.assembly.stacks import ENVIRONMENT_TAG
from slipway.check.deploy_role.needs import Needs
from slipway.check.deploy_role.tables import Scope, destroyer, scopes

Document = Mapping[str, Any]

MANAGED_POLICY_CHARACTERS = 6144
"""What IAM takes of a managed policy, without white space (IAM user guide, "IAM and AWS STS quotas")."""

BOOTSTRAP_ROLES = ("deploy", "file-publishing", "image-publishing")
"""The roles that a deployer takes on, in the names of a bootstrap (CDK guide, "Bootstrapping"). The one for look-ups is
left out: it reads every object of the account, and the CDK CLI does without (`accessStackForLookupBestEffort`)."""

DEPLOYING_ACTIONS = (
    "ContinueUpdateRollback",
    "CreateChangeSet",
    "CreateStack",
    "CreateStackRefactor",
    "DeleteChangeSet",
    "DeleteStack",
    "ExecuteChangeSet",
    "ExecuteStackRefactor",
    "RollbackStack",
    "UpdateStack",
    "UpdateTerminationProtection",
)
"""What the bootstrap lets its role for deployments do with every stack (aws-cdk, bootstrap-template.yaml)."""

_HELD_TAGS = (f"aws:ResourceTag/{ENVIRONMENT_TAG}", f"aws:RequestTag/{ENVIRONMENT_TAG}")
"""What has the environment's tag, and what is given it. Every statement that changes something allows only this
environment's value where AWS sends one. A demand for the tag would stop deployments: some resources get it only after
they are made, and some that CloudFormation needs have none."""

_EVERYWHERE = Scope(actions=("*",), resources=("*",), conditions={"StringEquals": {"aws:RequestedRegion": "{region}"}})
_BOUNDED = ("iam:CreateRole", "iam:PutRolePermissionsBoundary")


def execution_policies(needs: Needs) -> tuple[Document, ...]:
    """Return the policies of CloudFormation's own role, each small enough for a managed policy.

    The account is left open: the assembly does not know it, and a policy of an account reaches no other.
    """
    documents: list[list[Document]] = [[]]
    for statement in _statements(needs):
        for part in _parts(statement):
            if _characters([*documents[-1], part]) > MANAGED_POLICY_CHARACTERS:
                documents.append([])
            documents[-1].append(part)
    return tuple(_document(statements) for statements in documents)


def deployer_policy(needs: Needs, account: str) -> Document:
    """Return the policy of whoever runs `cdk deploy` and `cdk destroy`.

    Args:
        needs: what is deployed.
        account: id of the account.
    """
    roles = [f"arn:aws:iam::{account}:role/{bootstrap_role(needs, role, account)}" for role in BOOTSTRAP_ROLES]
    version = f"arn:aws:ssm:{needs.region}:{account}:parameter{version_parameter(needs.qualifier)}"
    return _document(
        [
            {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": roles},
            {"Effect": "Allow", "Action": "ssm:GetParameter", "Resource": version},
            {
                "Effect": "Allow",
                "Action": ["cloudformation:Describe*", "cloudformation:GetTemplate", "cloudformation:List*"],
                "Resource": "*",
                "Condition": {"StringEquals": {"aws:RequestedRegion": needs.region}},
            },
        ]
    )


def policy_name(environment: str, part: str) -> str:
    """Return the name of a policy, a role or a user of a deployment.

    Not with the environment's prefix: CloudFormation's role may rewrite what has that, and would its own policies.

    Args:
        environment: the environment's name.
        part: `execution-1`, `deployer`, ...
    """
    return f"deploy-slipway-{environment}-{part}"


def bootstrap_role(needs: Needs, role: str, account: str) -> str:
    """Return the name of a role of the environment's bootstrap.

    Args:
        needs: what is deployed.
        role: `deploy`, `file-publishing`, ...
        account: id of the account.
    """
    return f"cdk-{needs.qualifier}-{role}-role-{account}-{needs.region}"


def deploy_role_limits(needs: Needs) -> Document:
    """Return a policy that keeps the role for deployments of the environment's own bootstrap to its stacks.

    The bootstrap allows that role all stacks of the account. A stack of another environment would be deleted with the
    rights that made it.
    """
    stacks = [f"arn:aws:cloudformation:{needs.region}:*:stack/{name}/*" for name in needs.stack_names]
    actions = [f"cloudformation:{action}" for action in DEPLOYING_ACTIONS]
    return _document([{"Effect": "Deny", "Action": actions, "NotResource": stacks}])


def destroyer_policy(needs: Needs) -> Document:
    """Return the policy that `slipway destroy` and `slipway leftovers` need beside the deployer's."""
    table = destroyer()
    rows = [_statement(list(row.actions), row, needs, {}) for row in table.changes]
    changes = [row for row in rows if row["Resource"]]
    reads = {"Effect": "Allow", "Action": list(table.reads), "Resource": "*"}
    return _document([*changes, reads])


def github_trust_policy(needs: Needs, account: str, repository: str) -> Document:
    """Return the trust policy of a role that only this environment's jobs of a GitHub repository may take on.

    Args:
        needs: what is deployed; the workflow's environment has its name.
        account: id of the account, which needs GitHub's identity provider.
        repository: `owner/name`, or `owner@id/name@id` where GitHub's tokens have the ids of both.

    Source: GitHub's documentation, "Configuring OpenID Connect in Amazon Web Services".
    """
    issuer = "token.actions.githubusercontent.com"
    return _document(
        [
            {
                "Effect": "Allow",
                "Action": "sts:AssumeRoleWithWebIdentity",
                "Principal": {"Federated": f"arn:aws:iam::{account}:oidc-provider/{issuer}"},
                "Condition": {
                    "StringEquals": {
                        f"{issuer}:aud": "sts.amazonaws.com",
                        f"{issuer}:sub": f"repo:{repository}:environment:{needs.environment}",
                    }
                },
            }
        ]
    )


def _statements(needs: Needs) -> Iterator[Document]:
    """Yield a statement for each scope that has actions, in the order of the scopes."""
    found: dict[int, list[str]] = {}
    rows = [*scopes().scopes, _EVERYWHERE]
    for action in sorted(needs.actions):
        place = next(index for index, row in enumerate(rows) if _matches(row, action))
        found.setdefault(place, []).append(action)
    for place in sorted(found):
        yield from _scoped(rows[place], found[place], needs)


def _matches(row: Scope, action: str) -> bool:
    return any(fnmatchcase(action, pattern) for pattern in row.actions)


def _scoped(row: Scope, allowed: list[str], needs: Needs) -> Iterator[Document]:
    bounded = [action for action in allowed if action in _BOUNDED] if needs.permissions_boundary else []
    free = [action for action in allowed if action not in bounded]
    if free:
        yield _statement(free, row, needs, {})
    if bounded:
        yield _statement(bounded, row, needs, {"StringEquals": {"iam:PermissionsBoundary": needs.permissions_boundary}})


def _statement(allowed: list[str], row: Scope, needs: Needs, more: Mapping[str, Any]) -> Document:
    own = {"StringEqualsIfExists": dict.fromkeys(_HELD_TAGS, needs.environment)}
    conditions = {**_filled(row.conditions, needs), **more, **own}
    resources = [*row.resources, *(row.provider_resources if needs.nests_provider else ())]
    statement = {"Effect": "Allow", "Action": allowed, "Resource": _filled(resources, needs)}
    return {**statement, "Condition": conditions}


def _filled(value: Any, needs: Needs) -> Any:
    """Put what is deployed into the names of a scope; a name that stands for several values becomes a list."""
    if isinstance(value, Mapping):
        return {key: _filled(item, needs) for key, item in value.items()}
    if isinstance(value, list):
        return list(dict.fromkeys(name for item in value for name in _names(str(item), needs)))
    lists = {"{role_services}": needs.role_services, "{linked_services}": needs.linked_services}
    return list(lists[value]) if value in lists else next(_names(str(value), needs))


def _names(form: str, needs: Needs) -> Iterator[str]:
    """Yield a name of a scope for each stack that it can belong to."""
    service = form.split(":")[2] if form.startswith("arn:") else ""
    prefixes = needs.name_prefixes(service) if "{prefix}" in form else ("",)
    stacks = needs.stack_names if "{stack}" in form else ("",)
    clusters = needs.clusters if "{cluster}" in form else ("",)
    for prefix, stack, cluster in product(prefixes, stacks, clusters):
        yield form.format(
            prefix=prefix,
            stack=stack,
            cluster=cluster,
            region=needs.region,
            environment=needs.environment,
            qualifier=needs.qualifier,
            account="*",
        )


def _parts(statement: Document) -> Iterator[Document]:
    """Yield a statement in as many pieces as the size of a managed policy wants."""
    rest = list(statement["Action"])
    while rest:
        taken = len(rest)
        while _characters([{**statement, "Action": rest[:taken]}]) > MANAGED_POLICY_CHARACTERS:
            taken -= 1
        yield {**statement, "Action": rest[:taken]}
        rest = rest[taken:]


def _document(statements: list[Document]) -> Document:
    return {"Version": "2012-10-17", "Statement": statements}


def _characters(statements: list[Document]) -> int:
    return len(json.dumps(_document(statements), separators=(",", ":")))
