"""What programs on hosts, nodes and in containers call, they may; and each statement of their roles is for a call."""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from slipway_emulator.permissions.conditions import as_list
from tests.assembly import PROJECT, SHIPPED
from tests.conftest import AssemblyFactory
from tests.iam.account import Account
from tests.iam.program_calls import PROGRAMS, SOURCES, TABLE, calls_in, table_of
from tests.iam.program_roles import actors, by_aws, without_each

ENVIRONMENTS = (*SHIPPED, "beside", "rolledout")
FILES = sorted({file for pattern in SOURCES for file in PROJECT.glob(pattern)})


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
        if "lambda.amazonaws.com" not in str(role.trust) and any(policy not in by_aws(role) for policy in role.policies)
    }

    assert own - found == set()


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
