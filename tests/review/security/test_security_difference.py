"""What another version breaks and accepts more: by tool, rule and resource, whatever the words say."""

from slipway.review.security.difference import difference
from slipway.review.security.model import Acknowledgement, Security, SecurityFinding


def finding(rule: str = "S1", resource: str = "Data", message: str = "It is open.") -> SecurityFinding:
    return SecurityFinding(
        tool="cdk-nag", rule=rule, severity="error", stack="storage", resource=resource, message=message
    )


def acknowledgement(rule: str, reason: str = "a reason") -> Acknowledgement:
    return Acknowledgement(rule=rule, stack="storage", resource="Data", reason=reason)


def test_new_and_gone_are_told_apart() -> None:
    delta = difference(
        Security(findings=(finding("S1"), finding("S2")), acknowledgements=(acknowledgement("A1"),)),
        Security(findings=(finding("S2"), finding("S3")), acknowledgements=(acknowledgement("A2"),)),
    )

    assert [entry.rule for entry in delta.new] == ["S3"]
    assert [entry.rule for entry in delta.gone] == ["S1"]
    assert [entry.rule for entry in delta.new_acknowledgements] == ["A2"]
    assert [entry.rule for entry in delta.gone_acknowledgements] == ["A1"]


def test_other_words_for_the_same_finding_are_no_change() -> None:
    delta = difference(
        Security(findings=(finding(message="up to 4 nodes"),), acknowledgements=(acknowledgement("A1", "old words"),)),
        Security(findings=(finding(message="up to 8 nodes"),), acknowledgements=(acknowledgement("A1", "new words"),)),
    )

    assert delta == difference(Security(), Security())


def test_a_second_finding_of_a_rule_on_the_same_resource_is_new() -> None:
    first, second = finding(message="queue a"), finding(message="queue b")

    delta = difference(Security(findings=(second,)), Security(findings=(first, second)))

    assert delta.new == (first,)
    assert delta.gone == ()


def test_the_same_rule_on_another_resource_is_new() -> None:
    delta = difference(Security(findings=(finding(resource="Data"),)), Security(findings=(finding(resource="Logs"),)))

    assert [entry.resource for entry in delta.new] == ["Logs"]
    assert [entry.resource for entry in delta.gone] == ["Data"]


def test_what_only_one_side_was_checked_for_is_not_known() -> None:
    delta = difference(Security(not_checked=("both", "old")), Security(not_checked=("both", "new")))

    assert delta.not_checked == ("Only of the base: old", "Only of what is planned: new")


def test_what_nobody_looked_for_is_not_gone() -> None:
    looked = Security(findings=(finding(),))

    delta = difference(looked, Security(not_run=("cdk-nag",)))

    assert (delta.gone, delta.not_run) == ((), ("cdk-nag",))
    assert difference(Security(not_run=("cdk-nag",)), looked).not_run == ("cdk-nag",)
