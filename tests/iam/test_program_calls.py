"""What programs on hosts, nodes and in containers call, they may; and each statement of their roles is for a call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from slipway_emulator.permissions.conditions import as_list
from tests.assembly import PROJECT, SHIPPED, Assembly
from tests.conftest import AssemblyFactory
from tests.iam.account import Account, Role
from tests.iam.cluster_roles import ClusterNode
from tests.iam.program_calls import PROGRAMS, SOURCES, TABLE, calls_in, needs_of, table_of
from tests.iam.simulator import Document, Request, decide

ENVIRONMENTS = (*SHIPPED, "beside", "rolledout")
FILES = sorted({file for pattern in SOURCES for file in PROJECT.glob(pattern)})


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


def _by_aws(role: Role) -> list[Document]:
    arns = [arn for arn in role.resource.resolved.get("ManagedPolicyArns", []) if arn.startswith("arn:aws:iam::aws:")]
    return [role.resource.stack.account.managed_policy(arn) for arn in arns]


def actors(assembly: Assembly) -> Iterator[Actor]:
    """Yield the roles of an environment that the table has."""
    account = Account([assembly])
    for name, found in TABLE["roles"].items():
        if "logical_id" in found:
            for role in account.roles():
                if found["logical_id"] in role.resource.logical_id:
                    yield Actor(name, role.arn, role.policies, _by_aws(role), account)
        elif assembly.environment.name == "team":  # whose nodes' roles are recorded
            node = ClusterNode(assembly, found["node"])
            yield Actor(name, node.arn, node.policies, node.provided, account)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PROJECT)))
def test_the_table_has_the_calls_of_each_file(file: Path) -> None:
    calls, elsewhere = table_of(file)

    assert calls_in(file) - calls - elsewhere == set()


@pytest.mark.parametrize("program", [name for name, program in PROGRAMS.items() if "files" in program])
def test_the_table_has_no_call_that_nobody_makes(program: str) -> None:
    names = {file: str(file.relative_to(PROJECT)) for file in FILES}
    own = [file for file, name in names.items() if any(fnmatchcase(name, at) for at in PROGRAMS[program]["files"])]

    made = {call for file in own for call in calls_in(file)}

    assert {*PROGRAMS[program]["calls"], *PROGRAMS[program].get("elsewhere", [])} - made == set()


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_call_is_allowed(assemblies: AssemblyFactory, name: str) -> None:
    assert {actor.arn: refused for actor in actors(assemblies(name)) if (refused := actor.refused())} == {}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_table_has_every_role_with_permissions_of_ours(assemblies: AssemblyFactory, name: str) -> None:
    """What functions call the rehearsal sees; a role without a policy of ours has what AWS thinks right."""
    assembly = assemblies(name)
    found = {actor.arn for actor in actors(assembly)}
    own = {
        role.arn
        for role in Account([assembly]).roles()
        if "lambda.amazonaws.com" not in str(role.trust)
        and any(policy not in _by_aws(role) for policy in role.policies)
    }

    assert own - found == set()


def without_each(actor: Actor) -> Iterator[tuple[Document, list[Document]]]:
    """Yield each statement of Slipway's that allows something, and the policies without it."""
    for policy in actor.policies:
        for statement in policy["Statement"]:
            if policy not in actor.given and statement["Effect"] == "Allow":
                rest = {**policy, "Statement": [one for one in policy["Statement"] if one is not statement]}
                yield statement, [rest if one is policy else one for one in actor.policies]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_statement_is_for_a_call(assemblies: AssemblyFactory, name: str) -> None:
    """A statement without which every call is still allowed is too much, or a row is missing."""
    unused = {
        (actor.name, sorted(as_list(statement["Action"]))[0])
        for actor in actors(assemblies(name))
        for statement, policies in without_each(actor)
        if not actor.refused(policies)
    }

    assert unused - {(row["role"], row["action"]) for row in TABLE["unused"]} == set()
