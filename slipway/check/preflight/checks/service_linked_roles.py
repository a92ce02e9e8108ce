"""PF13: the service-linked roles that AWS's services act with; a fresh account has none of them."""

from collections.abc import Iterator
from datetime import date
from functools import cache, partial

from botocore.exceptions import ClientError
from pydantic import BaseModel, ConfigDict

from slipway import catalogue
from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check
from slipway.check.preflight.needs import Needs

_Answer = partial(Answer, check="PF13")


class ServiceLinkedRole(BaseModel):
    """A role of a service in slipway/catalogue/services."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    service: str
    """The service's name, for example `fsx.amazonaws.com`."""

    role: str
    """The role's name."""

    needed_by: tuple[str, ...]
    """Resource types that need it, or `spot`: Slurm's nodes that are bought as Spot capacity."""

    made_when_first_used: bool
    """Whether the service makes it itself when the deployer may call iam:CreateServiceLinkedRole."""

    source: str
    """Where AWS says so."""

    as_of: date
    """When that was read."""


@cache
def service_linked_roles() -> tuple[ServiceLinkedRole, ...]:
    """Return all rows."""
    return tuple(ServiceLinkedRole.model_validate(row) for row in catalogue.service_linked_roles())


@check(
    "PF13",
    "service-linked roles",
    stage="existence",
    prevents="In a fresh account the first file system, node group or Spot request fails: its service has no role.",
    actions=("iam:GetRole",),
)
def roles_of_services(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look for the role of each service that the templates use."""
    users = _users(needs)
    for row in service_linked_roles():
        stacks = tuple(dict.fromkeys(stack for kind in row.needed_by for stack in users.get(kind, ())))
        if not stacks:
            continue
        answer = partial(_Answer, subject=row.role, stacks=stacks)
        if _exists(row.role, account):
            yield answer(status="passed", message="it is there")
            continue
        how = (
            f"{row.service} makes it when first used, if who deploys may call iam:CreateServiceLinkedRole; the first "
            "deployment may fail once"
            if row.made_when_first_used
            else "who launches the instances may not make it, so none will start"
        )
        yield answer(
            status="warning" if row.made_when_first_used else "failed",
            message=f"the account does not have it yet: {how}",
            fix=f"aws iam create-service-linked-role --aws-service-name {row.service}",
        )


def _users(needs: Needs) -> dict[str, list[str]]:
    """Return the stacks that use a resource type, or Spot capacity for Slurm."""
    users: dict[str, list[str]] = {}
    for stack in needs.stacks:
        for resource in stack.template.get("Resources", {}).values():
            users.setdefault(resource["Type"], []).append(stack.name)
    slurm = {(stack.name, logical_id) for stack, logical_id, _ in needs.resources(CLUSTER_TYPE)}
    users["spot"] = [
        group.stack
        for group in needs.instance_groups
        if group.purchase == "spot" and (group.stack, group.logical_id) in slurm
    ]
    return users


def _exists(role: str, account: Account) -> bool:
    try:
        account.client("iam").get_role(RoleName=role)
    except ClientError as error:
        if error.response["Error"]["Code"] == "NoSuchEntity":
            return False
        raise
    return True
