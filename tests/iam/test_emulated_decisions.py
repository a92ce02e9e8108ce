"""The emulator's IAM decides as the policy simulator does, over made-up policies and requests of every kind."""

import json
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

from slipway_emulator.permissions import evaluation
from tests.iam.simulator import ACCOUNT, Document, Request, decide

ROLE = f"arn:aws:iam::{ACCOUNT}:role/jobs"
REQUESTS = 1500
ACTIONS = {
    "s3:GetObject": ["arn:aws:s3:::data/a", "arn:aws:s3:::data/b/c", "arn:aws:s3:::models/jobs"],
    "s3:PutObject": ["arn:aws:s3:::data/a", "arn:aws:s3:::models/a"],
    "ec2:CreateTags": [f"arn:aws:ec2:us-west-2:{ACCOUNT}:volume/*", f"arn:aws:ec2:us-west-2:{ACCOUNT}:volume/vol-0a"],
    "sts:AssumeRole": [f"arn:aws:iam::{ACCOUNT}:role/other"],
    "kms:Decrypt": [f"arn:aws:kms:us-west-2:{ACCOUNT}:key/1234abcd-12ab-34cd-56ef-1234567890ab"],
}
KEYS: Mapping[str, list[str]] = {
    "aws:RequestedRegion": ["us-west-2", "us-east-1"],
    "aws:PrincipalTag/team": ["red", "blue", "Red"],
    "aws:SecureTransport": ["true", "false"],
    "aws:SourceIp": ["10.0.0.7", "10.1.0.7", "192.168.0.1"],
    "aws:CurrentTime": ["2026-01-01T00:00:00Z", "2026-06-01T12:00:00Z"],
    "aws:MultiFactorAuthAge": ["10", "3600"],
    "aws:SourceArn": [f"arn:aws:sns:us-west-2:{ACCOUNT}:topic", f"arn:aws:sqs:us-west-2:{ACCOUNT}:queue"],
    "aws:UserAgent": ["cli", "console"],
}
OPERATORS: Mapping[str, tuple[list[str], list[str]]] = {
    "String": (
        ["Equals", "NotEquals", "Like", "NotLike", "EqualsIgnoreCase", "NotEqualsIgnoreCase"],
        ["aws:RequestedRegion", "aws:PrincipalTag/team", "aws:UserAgent"],
    ),
    "Bool": ([""], ["aws:SecureTransport"]),
    "": (["IpAddress", "NotIpAddress"], ["aws:SourceIp"]),
    "Date": (["Equals", "NotEquals", "LessThan", "GreaterThanEquals"], ["aws:CurrentTime"]),
    "Numeric": (["Equals", "NotEquals", "LessThanEquals", "GreaterThan"], ["aws:MultiFactorAuthAge"]),
    "Arn": (["Equals", "NotEquals", "Like", "NotLike"], ["aws:SourceArn"]),
    "Null": ([""], list(KEYS)),
}
WANTED: Mapping[str, list[str]] = {
    "aws:RequestedRegion": ["us-west-2", "us-*", "us-????-1", "${aws:PrincipalTag/team}"],
    "aws:PrincipalTag/team": ["red", "r*", "blue", "*"],
    "aws:SecureTransport": ["true", "false"],
    "aws:SourceIp": ["10.0.0.0/16", "192.168.0.1/32"],
    "aws:CurrentTime": ["2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"],
    "aws:MultiFactorAuthAge": ["10", "100", "3600"],
    "aws:SourceArn": ["arn:aws:sns:*:*:*", f"arn:aws:sqs:us-west-2:{ACCOUNT}:queue", "arn:aws:*:us-west-2:*:t*"],
    "aws:UserAgent": ["cli", "c?i", "${aws:RequestedRegion, 'cli'}"],
}
PATTERNS = ["*", "arn:aws:s3:::data/*", "arn:aws:s3:::data/?", "arn:aws:s3:::models/${aws:PrincipalTag/team}"]


def some(generator: random.Random, values: list[Any], most: int = 2) -> Any:
    """One value, or a list of several."""
    taken = generator.sample(values, generator.randint(1, min(most, len(values))))
    return taken if len(taken) > 1 or generator.random() < 0.5 else taken[0]


def condition(generator: random.Random) -> Document:
    kind, (endings, keys) = generator.choice(list(OPERATORS.items()))
    operator, key = kind + generator.choice(endings), generator.choice(keys)
    if kind == "Null":
        return {operator: {key: generator.choice(["true", "false"])}}
    if generator.random() < 0.3:
        operator += "IfExists"
    return {operator: {key: some(generator, WANTED[key])}}


def statement(generator: random.Random, action: str, resource: str) -> dict[str, Any]:
    service, name = action.split(":")
    actions = [action, "*", f"{service}:{name[:3]}*", f"{service}:{name.lower()}", "s3:ListBucket"]
    made: dict[str, Any] = {"Effect": generator.choice(["Allow", "Allow", "Allow", "Deny"])}
    made["NotAction" if generator.random() < 0.1 else "Action"] = some(generator, actions)
    if generator.random() < 0.1:  # no variable: what one without a value leaves out, the guide does not say
        made["NotResource"] = some(generator, [*PATTERNS[:3], resource])
    else:
        made["Resource"] = some(generator, [*PATTERNS, resource])
    if generator.random() < 0.5:
        made["Condition"] = condition(generator)
    return made


def policy(generator: random.Random, action: str, resource: str) -> Document:
    made = [statement(generator, action, resource) for _ in range(generator.randint(1, 2))]
    return {"Version": "2012-10-17", "Statement": made}


def resource_policy(generator: random.Random, action: str, resource: str) -> Document:
    """A bucket's, a key's or a trust policy, which names this role, its account, another or everyone."""
    principals = [{"AWS": ROLE}, {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, {"AWS": f"{ROLE}-2"}, "*"]
    made = {
        "Effect": generator.choice(["Allow", "Allow", "Deny"]),
        "Principal": generator.choice(principals),
        "Action": action,
    }
    if action != "sts:AssumeRole":
        made["Resource"] = resource
    return {"Version": "2012-10-17", "Statement": [made]}


def request(generator: random.Random) -> Request:
    action, resources = generator.choice(list(ACTIONS.items()))
    resource = generator.choice(resources)
    sent = {key: generator.choice(values) for key, values in KEYS.items() if generator.random() < 0.6}
    own = resource_policy(generator, action, resource) if generator.random() < 0.6 and action[:3] != "ec2" else None
    if action[:3] in ("sts", "kms") and own is None:
        own = resource_policy(generator, action, resource)  # without one the simulator decides nothing
    return Request(
        ROLE,
        action,
        resource,
        [policy(generator, action, resource) for _ in range(generator.randint(0, 2))],
        boundaries=[policy(generator, action, resource)] if generator.random() < 0.3 else [],
        resource_policy=own,
        if_sent=sent,
    )


def emulated(asked: Request) -> bool:
    context = {key.lower(): [str(value)] for key, value in asked.if_sent.items()}
    policies = evaluation.Policies(
        [json.dumps(document) for document in asked.policies],
        next((json.dumps(document) for document in asked.boundaries), None),
        json.dumps(asked.resource_policy) if asked.resource_policy else None,
    )
    principal = evaluation.Principal(asked.principal)
    return evaluation.decide(evaluation.Request(principal, asked.action, asked.resource, context), policies).allowed


def test_decisions_are_the_simulators() -> None:
    generator = random.Random(20261125)
    requests = [request(generator) for _ in range(REQUESTS)]

    decisions = decide(requests)

    differing = [
        (asked, decision)
        for asked, decision in zip(requests, decisions, strict=True)
        if emulated(asked) != (decision == "Allowed")
    ]
    assert Counter(decisions).keys() == {"Allowed", "ImplicitlyDenied", "ExplicitlyDenied"}
    assert min(Counter(decisions).values()) > REQUESTS / 20
    assert not differing[:3]
