"""Findings come by the harm that they may do, and every harm has its place."""

from typing import get_args

from slipway.review.changes.model import Changes, Harm, WiderAccess
from slipway.review.report.wider_access import by_harm


def test_the_endpoint_that_becomes_public_stands_before_a_key_that_it_may_read() -> None:
    key = WiderAccess(
        stack="s", resource="key", kind="iam", harm="permissions", what="Allow secretsmanager:GetSecretValue"
    )
    public = WiderAccess(
        stack="s", resource="endpoint", kind="protection", harm="public", what="The internet reaches it"
    )

    assert by_harm(Changes(broadenings=(key, public))) == (("Becomes public", (public,)), ("Permissions", (key,)))


def test_every_harm_is_shown_in_the_order_that_the_model_documents() -> None:
    harms = get_args(Harm)
    found = tuple(WiderAccess(stack="s", resource="r", kind="iam", harm=harm, what=harm) for harm in reversed(harms))

    assert tuple(one.harm for _, group in by_harm(Changes(broadenings=found)) for one in group) == harms
