"""What holds for every decision of the emulator's IAM. tests/iam compares it with a simulator that is not ours."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipway_emulator.permissions import account
from slipway_emulator.permissions.conditions import UnknownOperatorError
from slipway_emulator.permissions.evaluation import Policies, Principal, Request, decide

ROLE = Principal("arn:aws:iam::123456789012:role/path/jobs")
BUCKET = "arn:aws:s3:::data"
_EFFECTS = st.sampled_from(["Allow", "Deny"])
_ACTIONS = st.sampled_from(["s3:GetObject", "s3:Get*", "s3:getobject", "s3:PutObject", "ec2:*", "*"])
_RESOURCES = st.sampled_from([BUCKET, f"{BUCKET}/*", f"{BUCKET}/a?", f"{BUCKET}/${{aws:userid}}", "*"])
_CONDITIONS = st.sampled_from(
    [
        {},
        {"StringEquals": {"aws:RequestedRegion": "us-west-2"}},
        {"StringNotLike": {"aws:RequestedRegion": ["us-*"]}},
        {"ForAllValues:StringEquals": {"aws:TagKeys": ["team", "owner"]}},
        {"ForAnyValue:StringEqualsIfExists": {"aws:TagKeys": ["team"]}},
        {"Null": {"aws:TagKeys": "true"}},
    ]
)
_STATEMENTS = st.builds(
    lambda effect, action, resource, condition: {
        "Effect": effect,
        "Action": action,
        "Resource": resource,
        "Condition": condition,
    },
    _EFFECTS,
    _ACTIONS,
    _RESOURCES,
    _CONDITIONS,
)
_REQUESTS = st.builds(
    Request,
    st.just(ROLE),
    st.sampled_from(["s3:GetObject", "s3:PutObject", "ec2:RunInstances"]),
    st.sampled_from([f"{BUCKET}/a1", f"{BUCKET}/b/c", BUCKET, "*"]),
    st.fixed_dictionaries(
        {},
        optional={
            "aws:requestedregion": st.sampled_from([["us-west-2"], ["eu-north-1"]]),
            "aws:tagkeys": st.sampled_from([["team"], ["team", "cost"], []]),
            "aws:userid": st.just(["a1"]),
        },
    ),
)


def document(*statements: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allowed(request: Request, *statements: Any, boundary: str | None = None, resource: str | None = None) -> bool:
    return decide(request, Policies([document(*statements)] if statements else [], boundary, resource)).allowed


@given(_REQUESTS, st.lists(_STATEMENTS, max_size=4), _STATEMENTS)
def test_another_allowance_never_takes_away_and_another_denial_never_gives(
    request: Request, statements: list[Any], another: Any
) -> None:
    before = allowed(request, *statements)
    after = allowed(request, *statements, another)

    assert after >= before if another["Effect"] == "Allow" else after <= before


@given(_REQUESTS, st.lists(_STATEMENTS, min_size=1, max_size=4))
def test_neither_order_nor_spread_over_documents_counts(request: Request, statements: list[Any]) -> None:
    apart = Policies([document(statement) for statement in reversed(statements)])

    assert decide(request, apart).allowed == allowed(request, *statements)


@given(_REQUESTS, st.lists(_STATEMENTS, max_size=3), st.lists(_STATEMENTS, min_size=1, max_size=3))
def test_a_boundary_only_narrows(request: Request, statements: list[Any], boundary: list[Any]) -> None:
    bounded = allowed(request, *statements, boundary=document(*boundary))

    assert bounded == (allowed(request, *statements) and allowed(request, *boundary))


@given(_REQUESTS, st.lists(_STATEMENTS, max_size=3))
def test_without_a_known_resource_no_less_is_allowed_than_with_any(request: Request, statements: list[Any]) -> None:
    grants = [statement for statement in statements if statement["Effect"] == "Allow"]

    assert allowed(replace(request, resource=None), *grants) >= allowed(request, *grants)


def test_nothing_is_allowed_by_no_policy() -> None:
    assert not allowed(Request(ROLE, "s3:GetObject", f"{BUCKET}/a"))


@pytest.mark.parametrize(
    ("principal", "named", "reached"),
    [
        (ROLE, {"AWS": ROLE.arn}, True),
        (ROLE, {"AWS": "arn:aws:iam::123456789012:root"}, False),
        (ROLE, {"Service": "lambda.amazonaws.com"}, False),
        (Principal(service="lambda.amazonaws.com"), {"Service": ["ec2.amazonaws.com", "lambda.amazonaws.com"]}, True),
        (Principal(service="ecs.amazonaws.com"), {"Service": "lambda.amazonaws.com"}, False),
    ],
)
def test_a_trust_policy_lets_in_whom_it_names(principal: Principal, named: Any, reached: bool) -> None:
    trust = document({"Effect": "Allow", "Principal": named, "Action": "sts:AssumeRole"})

    assert allowed(Request(principal, "sts:AssumeRole", ROLE.arn), resource=trust) == reached


def test_a_trust_policy_that_names_the_account_leaves_it_to_the_principals_policies() -> None:
    trust = document(
        {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:root"}, "Action": "sts:AssumeRole"}
    )
    grant = {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"}
    asked = Request(ROLE, "sts:AssumeRole", "arn:aws:iam::123456789012:role/other")

    assert allowed(asked, grant, resource=trust)
    assert not allowed(asked, grant)
    assert not allowed(asked, resource=trust)


def test_an_unknown_operator_is_an_error() -> None:
    grant = {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"StringIs": {"aws:userid": "a"}}}

    with pytest.raises(UnknownOperatorError, match="StringIs"):
        allowed(Request(ROLE, "s3:GetObject", BUCKET, {"aws:userid": ["a"]}), grant)


def test_a_decision_survives_roles_that_are_made_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    roles: dict[str, SimpleNamespace] = {}
    monkeypatch.setattr(account, "_iam", lambda: SimpleNamespace(roles=roles, users={}))

    def make() -> None:
        for number in range(20_000):
            roles[str(number)] = SimpleNamespace(arn=f"arn:aws:iam::123456789012:role/{number}")

    with ThreadPoolExecutor(max_workers=1) as thread:
        making = thread.submit(make)
        while not making.done():
            assert not account.role_exists("arn:aws:iam::123456789012:role/none")
        making.result()
