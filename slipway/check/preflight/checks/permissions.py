"""PF14: the caller may take on the roles of the CDK's bootstrap, and CloudFormation's own role may make everything."""

import json
from collections.abc import Iterator, Sequence
from functools import partial

from botocore.exceptions import ClientError

from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED
from slipway.check.deploy_role.needs import UnknownTypeError
from slipway.check.deploy_role.needs import read_needs as read_deployment
from slipway.check.deploy_role.policies import execution_policies
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.bootstrap_roles import command, deployer_roles, execution_roles
from slipway.check.preflight.check import check, not_checked
from slipway.check.preflight.needs import Needs
from slipway.check.preflight.simulation import Denial, denied, denied_of_policy

_Answer = partial(Answer, check="PF14")


@check(
    "PF14",
    "permissions",
    stage="existence",
    prevents="CloudFormation stops in the middle because a role lacks a permission for the next resource.",
    actions=("iam:GetRole", "iam:SimulatePrincipalPolicy"),
)
def permissions(needs: Needs, account: Account) -> Iterator[Answer]:
    """Let IAM simulate the calls of the CDK CLI, and those of CloudFormation where the environment is known whole.

    The simulation knows policies of identities, boundaries and service control policies without conditions, not
    the trust policies of the roles: those of the bootstrap trust the account.
    """
    roles = _closed(deployer_roles(needs.assembly), account)
    missing = [role for role in roles if not _exists(role, account)]
    bootstrap = command(needs.assembly, account)
    for role in missing:
        yield _Answer(status="failed", subject=role, message="the bootstrap's role is not there", fix=bootstrap)
    deployed = tuple(role for role in roles if role not in missing)
    if deployed:
        yield from _caller(deployed, account)
    for role in _closed(execution_roles(needs.assembly), account):
        if _exists(role, account):
            yield from _execution(role, needs, account)
        else:
            yield _Answer(status="failed", subject=role, message="the bootstrap's role is not there", fix=bootstrap)


def principal(arn: str, account: Account) -> str | None:
    """Return the ARN that IAM simulates for a caller: of a role's session, the role's own, with its path.

    Returns:
        The ARN of a role or user, or none for the root user and for federated users, whom IAM does not simulate.

    Raises:
        ClientError: IAM does not return the role's path.
    """
    resource = arn.split(":", 5)[5]
    if resource.startswith("user/"):
        return arn
    if resource.startswith("assumed-role/"):
        role: str = account.client("iam").get_role(RoleName=resource.split("/")[1])["Role"]["Arn"]
        return role
    return None


def _caller(roles: tuple[str, ...], account: Account) -> Iterator[Answer]:
    caller = account.caller.arn
    answer = partial(_Answer, subject=f"{caller} takes on the bootstrap's roles")
    try:
        who = principal(caller, account)
        if who is None:
            yield answer(
                status="not_checked",
                message="IAM simulates roles and users only",
                fix="use the credentials of a role",
            )
            return
        refused = denied(account, who, ("sts:AssumeRole",), roles)
    except UNANSWERED as error:
        yield not_checked("PF14", f"{caller} takes on the bootstrap's roles", error)
        return
    if not refused:
        yield answer(status="passed", message=f"it may: {len(roles)} roles")
        return
    names = [denial.resource for denial in refused if not denial.missing]
    if not names:
        yield answer(
            status="not_checked",
            message=_undecided(refused),
            fix=f"aws sts assume-role --role-session-name preflight --role-arn {refused[0].resource}",
        )
        return
    statement = {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": names}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    yield answer(
        status="failed",
        message=f"it may not take on {', '.join(name.rpartition('/')[2] for name in names)}",
        fix=f"give {who} this policy (`slipway deploy-role` writes the whole one): {policy}",
    )


def _execution(role: str, needs: Needs, account: Account) -> Iterator[Answer]:
    """Compare what CloudFormation's role may do with what the resource types of the assembly need."""
    subject = f"{role} makes the resources"
    answer = partial(_Answer, subject=subject)
    try:
        policies = execution_policies(read_deployment(needs.assembly))
    except UnknownTypeError as error:
        yield answer(status="not_checked", message=str(error), fix="add the row, and run the preflight again")
        return
    try:
        denials = [denial for policy in policies for denial in denied_of_policy(account, role, policy)]
    except UNANSWERED as error:
        yield not_checked("PF14", subject, error)
        return
    if not denials:
        yield answer(status="passed", message="it may do what the resource types of the environment need")
        return
    refused = sorted({denial.action for denial in denials if not denial.missing})
    if not refused:
        yield answer(status="not_checked", message=_undecided(denials), fix="only a deployment shows it")
        return
    # The simulated resources are made up: a policy that names the real ones more narrowly is not a certain failure.
    yield answer(
        status="warning",
        message=f"IAM does not allow it {len(refused)} actions that the environment needs: {', '.join(refused)}",
        fix="bootstrap with --cloudformation-execution-policies and the policies that `slipway deploy-role` writes",
    )


def _undecided(denials: Sequence[Denial]) -> str:
    missing = sorted({name for denial in denials for name in denial.missing})
    return f"it depends on {', '.join(missing)}, which only a real call shows"


def _closed(arns: Sequence[str], account: Account) -> tuple[str, ...]:
    """Fill account and partition into ARNs that the assembly leaves open."""
    partition = account.caller.arn.split(":")[1]
    return tuple(
        arn.replace("${AWS::AccountId}", account.caller.account_id).replace("${AWS::Partition}", partition)
        for arn in arns
    )


def _exists(role: str, account: Account) -> bool:
    try:
        account.client("iam").get_role(RoleName=role.rpartition("/")[2])
    except ClientError as error:
        if error.response["Error"]["Code"] == "NoSuchEntity":
            return False
        raise
    return True
