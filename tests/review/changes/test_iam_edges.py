"""Rewrites of policies that mean the same or less, and small ones that mean more."""

import json
from typing import Any

import pytest

from tests.review.changes.broader import ROLE, allowed, broader, resource

NOTHING = {"Ref": "AWS::NoValue"}
EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
READ = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*"}
DENY = {"Effect": "Deny", "Action": "iam:*", "Resource": "*"}
ENDPOINT = "AWS::EC2::VPCEndpoint"


def _on(operator: str, *values: str, name: str = "aws:x") -> dict[str, Any]:
    return allowed(Condition={operator: {name: list(values)}})


def _trust(principal: Any) -> dict[str, Any]:
    row = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": principal}
    return resource("AWS::IAM::Role", AssumeRolePolicyDocument={"Statement": [row]})


def _chosen(one: Any, other: Any) -> dict[str, Any]:
    return {"Fn::If": ["Wanted", one, other]}


def _maybe(resources: dict[str, Any]) -> dict[str, Any]:
    return {**resources, "One": {**resources["One"], "Condition": "Wanted"}}


BROADER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "another folder": (allowed(Resource="arn:aws:s3:::b/Data/*"), allowed(Resource="arn:aws:s3:::b/data/*")),
    "a wildcard within an action": (allowed(), allowed(Action="s3:Get*Object")),
    "one letter more": (allowed(), allowed(Action="s3:GetObjec?")),
    "fewer exceptions": (_on("StringNotEquals", "a", "b"), _on("StringNotEquals", "a")),
    "a wider pattern": (_on("StringLike", "ab*"), _on("StringLike", "a*")),
    "a wider range": (_on("IpAddress", "10.0.0.0/16"), _on("IpAddress", "10.0.0.0/8")),
    "also without the key": (_on("StringEquals", "a"), _on("StringEqualsIfExists", "a")),
    "perhaps everything": (allowed(READ), allowed(READ, _chosen(EVERYTHING, NOTHING))),
    "one way or the other": (allowed(READ), allowed(_chosen(READ, EVERYTHING))),
    "one of two documents": (
        {**resource("AWS::IAM::Role", AssumeRolePolicyDocument={"Statement": []})},
        {
            **resource(
                "AWS::IAM::Role", AssumeRolePolicyDocument=_chosen({"Statement": [EVERYTHING]}, {"Statement": []})
            )
        },
    ),
    "a condition that may not be": (
        _on("StringEquals", "a"),
        allowed(Condition=_chosen({"StringEquals": {"aws:x": ["a"]}}, NOTHING)),
    ),
    "a denial that may not be": (allowed(EVERYTHING, DENY), allowed(EVERYTHING, _chosen(DENY, NOTHING))),
    "no longer under a condition of the template": (
        allowed(_chosen(READ, NOTHING), READ | {"Action": "s3:List*"}),
        allowed(READ),
    ),
    "no longer in a policy that may not be": (_maybe(allowed()), allowed()),
    "a denial in a policy that may not be": (
        allowed(EVERYTHING, DENY),
        {**allowed(EVERYTHING), **_maybe(allowed(DENY))},
    ),
    "a policy that is text": (
        resource("AWS::Logs::ResourcePolicy", PolicyDocument='{"Statement":[]}'),
        resource(
            "AWS::Logs::ResourcePolicy", PolicyDocument=json.dumps({"Statement": [{**EVERYTHING, "Principal": "*"}]})
        ),
    ),
    "no longer what a deployment makes": (
        allowed(Condition={"StringEquals": {"Fn::GetAtt": ["ConditionJson", "Value"]}}),
        allowed(),
    ),
    "no policy at an endpoint": (
        resource(ENDPOINT, PolicyDocument={"Statement": [{**READ, "Principal": "*"}]}),
        resource(ENDPOINT),
    ),
}

SAME_OR_LESS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "actions in another case": (allowed(Action="s3:getobject"), allowed()),
    "a key in another case": (
        _on("Bool", "true", name="aws:MultiFactorAuthPresent"),
        _on("Bool", "true", name="aws:multifactorauthpresent"),
    ),
    "nothing beside an action": (allowed(), allowed(Action=["s3:GetObject", NOTHING])),
    "what a deployment makes": (
        allowed(),
        allowed(Condition={"StringEquals": {"Fn::GetAtt": ["ConditionJson", "Value"]}}),
    ),
    "more exceptions": (_on("StringNotEquals", "a"), _on("StringNotEquals", "a", "b")),
    "a narrower pattern": (_on("StringLike", "a*"), _on("StringLike", "ab*")),
    "a narrower range": (_on("IpAddress", "10.0.0.0/8"), _on("IpAddress", "10.0.0.0/16")),
    "only with the key": (_on("StringEqualsIfExists", "a"), _on("StringEquals", "a")),
    "what no exception was": (
        allowed({"Effect": "Allow", "Action": "s3:GetObject", "NotResource": "arn:aws:s3:::c/*"}),
        allowed(),
    ),
    "perhaps no policy": (allowed(), _maybe(allowed())),
    "perhaps less": (allowed(READ), allowed(_chosen(READ, NOTHING))),
    "an account by its number": (_trust({"AWS": "111122223333"}), _trust({"AWS": "arn:aws:iam::111122223333:root"})),
    "this account": (
        _trust({"AWS": {"Ref": "AWS::AccountId"}}),
        _trust({"AWS": {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"}}),
    ),
    "the partition by name": (
        allowed(Resource="arn:aws:s3:::b"),
        allowed(Resource={"Fn::Sub": "arn:${AWS::Partition}:s3:::b"}),
    ),
    "a policy for an endpoint": (
        resource(ENDPOINT),
        resource(ENDPOINT, PolicyDocument={"Statement": [{**READ, "Principal": "*"}]}),
    ),
    "an endpoint": ({"Role": ROLE}, {"Role": ROLE, **resource(ENDPOINT)}),
}


@pytest.mark.parametrize("name", BROADER)
def test_more_is_told(name: str) -> None:
    assert broader(*BROADER[name])


@pytest.mark.parametrize("name", SAME_OR_LESS)
def test_the_same_or_less_is_not_told(name: str) -> None:
    assert broader(*SAME_OR_LESS[name]) == []


def test_a_condition_of_the_template_is_named() -> None:
    assert broader(allowed(READ), allowed(READ, _chosen(EVERYTHING, NOTHING))) == [
        "Allow * on * for role Role, if Wanted is true"
    ]
