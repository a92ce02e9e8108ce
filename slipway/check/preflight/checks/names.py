"""Names that are taken, and stacks that a deployment cannot update."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict

from slipway.aws.account import Account
from slipway.catalogue import resource_types
from slipway.check.deploy_role.names import alike_names
from slipway.check.preflight.answer import Answer, Status
from slipway.check.preflight.check import check
from slipway.check.preflight.deployed import DEPLOYED_ACTIONS, deployed_stacks, is_own, own_ids
from slipway.check.preflight.needs import Needs

_STUCK: dict[str, tuple[Status, str, str]] = {
    "ROLLBACK_COMPLETE": (
        "warning",
        "its creation failed; `cdk deploy` deletes it and begins again",
        "aws cloudformation delete-stack --stack-name {name} --region {region}",
    ),
    "ROLLBACK_FAILED": (
        "failed",
        "its creation failed, and so did taking it back: something of it cannot be deleted",
        "aws cloudformation delete-stack --stack-name {name} --region {region}",
    ),
    "DELETE_FAILED": (
        "failed",
        "its deletion failed; it can only be deleted",
        "aws cloudformation delete-stack --stack-name {name} --region {region}",
    ),
    "CREATE_FAILED": (
        "warning",
        "its creation failed and was not taken back; `cdk deploy` asks whether to, and fails without a terminal",
        "aws cloudformation rollback-stack --stack-name {name} --region {region}",
    ),
    "UPDATE_FAILED": (
        "warning",
        "an update failed and was not taken back; `cdk deploy` asks whether to, and fails without a terminal",
        "aws cloudformation rollback-stack --stack-name {name} --region {region}",
    ),
    "UPDATE_ROLLBACK_FAILED": (
        "failed",
        "an update failed, and so did taking it back",
        "aws cloudformation continue-update-rollback --stack-name {name} --region {region}",
    ),
}
"""What each state means for a deployment, and the command that ends it (CloudFormation user guide, "Stack status
codes"; the CDK CLI deletes stacks whose creation failed before it deploys)."""

_BUSY = "_IN_PROGRESS"
_NOT_YET = "REVIEW_IN_PROGRESS"
"""A change set that nobody has executed: there is no stack yet."""


class PhysicalName(BaseModel):
    """A name that a template fixes, and that AWS refuses a second time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str
    property: str
    """The property with the name."""

    listing: tuple[str, str, str]
    """boto3's service, its operation, and the names in its answer as a JMESPath expression."""

    arguments: dict[str, str]
    """What to ask with; {name} is the name."""

    remove: str
    """The command that removes what has the name; {name} and {region} are filled in."""


@cache
def physical_names() -> tuple[PhysicalName, ...]:
    """Return all rows."""
    entries = resource_types().items()
    return tuple(PhysicalName(type=name, **entry.fixed_name) for name, entry in entries if entry.fixed_name)


@check(
    "PF17",
    "Names and states of what exists",
    stage="existence",
    prevents="`AlreadyExists`, or a stack in a state that no deployment can update.",
    actions=(*DEPLOYED_ACTIONS, "eks:ListClusters", "logs:DescribeLogGroups"),
)
def names(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look for stacks, clusters and fixed names that exist and are not this environment's, or begin like its names."""
    deployed = deployed_stacks(account)
    for stack in needs.stacks:
        yield _stack(stack.name, stack.name, deployed.get(stack.name), needs, ours=False)
    own = own_ids(needs, account)
    for stack, _, properties in needs.resources("Custom::PclusterCluster"):
        name = properties["ClusterName"]
        yield _stack(name, stack.name, deployed.get(name), needs, ours=name in own)
    yield from _alike(deployed, own, needs)
    for row in physical_names():
        yield from _names(row, own, needs, account)


def _alike(deployed: Mapping[str, Mapping[str, Any]], own: frozenset[str], needs: Needs) -> Iterator[Answer]:
    """Yield the stacks of others whose resources have names that the policies of this environment cover."""
    ours = [stack.name for stack in needs.stacks]
    others = [
        name
        for name, stack in deployed.items()
        if name not in ours and not {name, stack.get("StackId")} & own and not is_own(stack, needs.environment)
    ]
    for name, beginning in alike_names(ours, others):
        yield Answer(
            check="PF17",
            status="warning",
            subject=f"stack {name}",
            message=f"names of its resources begin like ours ({beginning}): `slipway deploy-role` covers both",
            fix="give this environment another `name`, or an account of its own",
        )


def _stack(name: str, needed_by: str, found: Mapping[str, Any] | None, needs: Needs, *, ours: bool) -> Answer:
    """Return whether a stack of this name can be deployed.

    Args:
        name: of the stack.
        needed_by: the stack of the app that needs it.
        found: CloudFormation's description of it, none when there is none.
        needs: what is needed.
        ours: a resource of the environment's own is that stack.
    """
    status: Status = "passed"
    message, fix = "it does not exist yet", None
    if found is not None and found["StackStatus"] != _NOT_YET:
        state = found["StackStatus"]
        if not ours and not is_own(found, needs.environment):
            status = "failed"
            message = f"a stack of this name exists ({state}), and is not tagged as environment {needs.environment}'s"
            fix = "give the environment, or the cluster, another name; or log in to the right account"
        elif state in _STUCK:
            status, message, fix = _STUCK[state]
            message, fix = f"{state}: {message}", fix.format(name=name, region=needs.region)
        elif state.endswith(_BUSY):
            status, message = "failed", f"{state}: CloudFormation is at work on it"
            fix = "wait until it is done, and run the preflight again"
        else:
            message = f"{state}: it can be updated"
    return Answer(check="PF17", status=status, subject=f"stack {name}", message=message, fix=fix, stacks=(needed_by,))


def _names(row: PhysicalName, own: frozenset[str], needs: Needs, account: Account) -> Iterator[Answer]:
    """Yield whether each name of one kind is free, or the environment's own."""
    service, operation, items = row.listing
    for stack, _, properties in needs.resources(row.type):
        name = properties.get(row.property)
        if not isinstance(name, str):
            continue
        arguments = {key: value.format(name=name) for key, value in row.arguments.items()}
        taken = name in account.listing(service, operation, items, **arguments) and name not in own
        yield Answer(
            check="PF17",
            status="failed" if taken else "passed",
            subject=f"{row.type} {name}",
            message="it exists, and no stack of this environment has it" if taken else "the name is free, or ours",
            fix=f"if it is left over, and it is not needed:\n{row.remove.format(name=name, region=needs.region)}"
            if taken
            else None,
            stacks=(stack.name,),
        )
