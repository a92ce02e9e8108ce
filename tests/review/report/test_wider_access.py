"""Findings come by the harm that they may do."""

from typing import Literal

from slipway.review.changes.model import Changes, WiderAccess
from slipway.review.report.wider_access import by_harm

Kind = Literal["iam", "security_group", "cluster", "protection"]

FOUND: tuple[tuple[Kind, str, str], ...] = (
    ("protection", "Becomes public", "The endpoint can be reached from the internet"),
    ("security_group", "Becomes public", "tcp 443 from 0.0.0.0/0 to EndpointGroup"),
    ("cluster", "Becomes public", "The Kubernetes API from ::/0"),
    ("protection", "Lets requests in unproved", "Requests need no token"),
    ("iam", "Gets full rights", "Allow * on * for role HeadNode"),
    ("protection", "Data is easier to lose", "The database can be deleted"),
    ("security_group", "Network openings", "Everything from Group to 0.0.0.0/0"),
    ("security_group", "Network openings", "tcp 443 from 10.0.0.0/0 to Group"),
    ("cluster", "Settings of clusters", "Nodes have another role: Role"),
    ("iam", "Permissions", "Allow secretsmanager:GetSecretValue on ApiKey for role Endpoint"),
    ("protection", "Less protection", "The key is not rotated"),
)


def test_the_endpoint_that_becomes_public_stands_before_a_key_that_it_may_read() -> None:
    broadenings = tuple(WiderAccess(stack="s", resource="r", kind=kind, what=what) for kind, _, what in FOUND)

    found = by_harm(Changes(broadenings=tuple(reversed(broadenings))))

    assert [words for words, _ in found] == list(dict.fromkeys(words for _, words, _ in FOUND))
    assert {(one.kind, words, one.what) for words, group in found for one in group} == set(FOUND)
