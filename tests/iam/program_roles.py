"""The roles of hosts, nodes and containers, with the calls that their programs make."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.assembly import Assembly
from tests.iam.account import Account, Role
from tests.iam.cluster_roles import ClusterNode
from tests.iam.program_calls import TABLE, needs_of
from tests.iam.simulator import Document, Request, decide


@dataclass(frozen=True)
class Actor:
    """A role of the table.

    Attributes:
        name: in the table.
        arn: its ARN.
        policies: all that it has.
        given: those of them that AWS or ParallelCluster writes.
        account: where it is.
    """

    name: str
    arn: str
    policies: Sequence[Document]
    given: Sequence[Document]
    account: Account

    def refused(self, policies: Sequence[Document] | None = None) -> list[str]:
        """Return the needs that the role's policies, or others, do not allow."""
        needs = needs_of(self.name, self.account)
        chosen = self.policies if policies is None else policies
        decisions = decide([Request(self.arn, action, on, chosen, keys) for action, on, keys in needs])
        return [need[0] for need, decision in zip(needs, decisions, strict=True) if decision != "Allowed"]


def by_aws(role: Role) -> list[Document]:
    """Return those of a role's policies that AWS writes."""
    arns = [arn for arn in role.resource.resolved.get("ManagedPolicyArns", []) if arn.startswith("arn:aws:iam::aws:")]
    return [role.resource.stack.account.managed_policy(arn) for arn in arns]


def actors(assembly: Assembly) -> Iterator[Actor]:
    """Yield the roles of an environment that the table has."""
    account = Account([assembly])
    for name, found in TABLE["roles"].items():
        if "logical_id" in found:
            for role in account.roles():
                if found["logical_id"] in role.resource.logical_id:
                    yield Actor(name, role.arn, role.policies, by_aws(role), account)
        elif assembly.environment.name == "team":  # whose nodes' roles are recorded
            node = ClusterNode(assembly, found["node"])
            yield Actor(name, node.arn, node.policies, node.provided, account)


def without_each(actor: Actor) -> Iterator[tuple[Document, list[Document]]]:
    """Yield each statement of Slipway's that allows something, and the policies without it."""
    for policy in actor.policies:
        for statement in policy["Statement"]:
            if policy not in actor.given and statement["Effect"] == "Allow":
                rest = {**policy, "Statement": [one for one in policy["Statement"] if one is not statement]}
                yield statement, [rest if one is policy else one for one in actor.policies]
