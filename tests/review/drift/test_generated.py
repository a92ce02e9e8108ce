"""100 changes by hand of what the shipped environments deploy: each is found, has its harm, and is shown everywhere."""

import random
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from rich.console import Console

from slipway.catalogue import known
from slipway.review.drift.detect import read_drift
from slipway.review.drift.model import Drift, DriftedResource
from slipway.review.report.markdown import markdown
from slipway.review.report.terminal import print_plan
from tests.assembly import SHIPPED
from tests.conftest import AssemblyFactory
from tests.iam.account import Account, MadeResource
from tests.review.drift.account import Changed, Stacks, stack_id
from tests.review.report.plans import PLAN

COUNT = 100
EVERYBODY = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIp": "0.0.0.0/0", "Description": "for a moment"}
EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
TAGS_ONLY, DELETED, OTHER = (
    DriftedResource(
        stack="s", logical_id="r", type="t", physical_id="p", is_deleted=gone, loses_data=False, properties=properties
    ).rank
    for gone, properties in (
        (False, ()),
        (True, ()),
        (False, ({"path": "Timeout", "deployed": "1", "actual": "2"},)),
    )
)


class Generated(NamedTuple):
    """A change, and how harmful it must count at least: the rank."""

    changed: Changed
    rank: int


def changes_of(made: MadeResource) -> Iterator[Generated]:
    """Yield what somebody may do to a resource."""
    before = dict(made.resolved)

    def changed(after: Mapping[str, Any] | None, rank: int) -> Generated:
        return Generated(Changed(made.stack.name, made.logical_id, made.kind, before, after), rank)

    holds_data = known(made.kind).holds_data is not None
    yield changed(None, 0 if holds_data else DELETED)
    if isinstance(before.get("Tags"), list) and before["Tags"]:
        yield changed({**before, "Tags": before["Tags"][1:]}, TAGS_ONLY)
    if made.kind == "AWS::EC2::SecurityGroup":
        yield changed({**before, "SecurityGroupIngress": [*before.get("SecurityGroupIngress", []), EVERYBODY]}, 1)
    if made.kind in ("AWS::IAM::ManagedPolicy", "AWS::IAM::Policy"):
        statements = [*before["PolicyDocument"]["Statement"], EVERYTHING]
        yield changed({**before, "PolicyDocument": {**before["PolicyDocument"], "Statement": statements}}, DELETED - 1)
    for name, value in before.items():
        if type(value) is int:
            yield changed({**before, name: value + 1}, OTHER)


@pytest.fixture(scope="module")
def generated(assemblies: AssemblyFactory) -> list[Generated]:
    resources = [made for name in SHIPPED for made in Account([assemblies(name)]).resources()]
    choice = random.Random(19)
    found: dict[tuple[str, str], Generated] = {}
    while len(found) < COUNT:
        made = choice.choice(resources)
        one = choice.choice(list(changes_of(made)))
        found.setdefault((made.stack.name, made.logical_id), one)
    return list(found.values())


@pytest.fixture(scope="module")
def drift(generated: list[Generated]) -> Drift:
    changed = [one.changed for one in generated]
    names = dict.fromkeys(one.stack for one in changed)
    return read_drift(Stacks(changed).aws().account(), map(stack_id, names), lambda _: None)


def test_each_is_found_with_its_harm_and_the_worst_comes_first(generated: list[Generated], drift: Drift) -> None:
    expected = {(one.changed.stack, one.changed.logical_id): one.rank for one in generated}

    assert len(drift.resources) == COUNT
    assert len(set(expected.values())) >= 5, "the changes are all alike"
    assert [one for one in drift.resources if one.rank > expected[one.stack, one.logical_id]] == []
    ranks = [one.rank for one in drift.resources]
    assert ranks == sorted(ranks)


def test_tags_alone_come_last(drift: Drift) -> None:
    kinds = [{changed.path for changed in one.properties} == {"Tags"} for one in drift.resources]

    assert kinds == sorted(kinds)
    assert any(kinds)


def test_the_terminal_and_the_comment_show_each(drift: Drift) -> None:
    plan = PLAN.model_copy(update={"drift": drift})
    console = Console(width=200, record=True, color_system=None)
    with console.capture() as capture:
        print_plan(plan, console)
    terminal, comment = capture.get(), markdown(plan)

    names = [f"{one.stack}/{one.logical_id}" for one in drift.resources]
    assert [name for name in names if name not in terminal] == []
    assert [name for name in names if name not in comment] == []
    assert terminal.index(names[0]) < terminal.index(names[-1])
