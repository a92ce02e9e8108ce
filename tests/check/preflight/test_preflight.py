"""The order of the checks, what happens without credentials, and the exit codes."""

import threading
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from slipway.aws.account import Account
from slipway.check.preflight.answer import Answer, Status
from slipway.check.preflight.check import CHECKS, Ask, Check, Stage, not_checked
from slipway.check.preflight.needs import Needs
from slipway.check.preflight.preflight import Preflight, preflight
from tests.check.preflight.aws import ACCOUNT_ID, Aws, Refusal
from tests.check.preflight.conftest import NeedsFactory


def answering(status: Status | None = "passed", seen: list[str] | None = None, id_: str = "X1") -> Ask:
    """A check that gives one answer, or none, and notes that it ran."""

    def ask(_needs: Needs, _account: Account) -> Iterator[Answer]:
        if seen is not None:
            seen.append(id_)
        if status:
            yield Answer(check=id_, status=status, subject="it", message="so", fix=None)

    return ask


def made(id_: str, stage: Stage, ask: Ask) -> Check:
    return Check(id_, "title", stage, "nothing", (), ask)


def test_stages_run_one_after_the_other_and_answers_keep_the_checks_order(aws: Aws, needs_of: NeedsFactory) -> None:
    seen: list[str] = []
    stages: list[Stage] = ["capacity", "existence", "quota", "catalogue", "identity", "offline"]
    checks = [made(stage, stage, answering("passed", seen, stage)) for stage in stages]
    found = preflight(checks, needs_of("default"), aws.account())
    assert seen == list(reversed(stages))
    assert [answer.check for answer in found.answers] == stages
    assert found.account_id == ACCOUNT_ID
    assert found.exit_code(strict=True) == 0


def test_checks_of_one_stage_run_side_by_side(aws: Aws, needs_of: NeedsFactory) -> None:
    together = threading.Barrier(3, timeout=20)

    def ask(_needs: Needs, _account: Account) -> Iterator[Answer]:
        together.wait()
        yield from ()

    checks = [made(f"X{number}", "quota", ask) for number in range(3)]
    done: list[str] = []
    found = preflight(checks, needs_of("default"), aws.account(), lambda check: done.append(check.id))
    assert found.not_needed == ("X0", "X1", "X2")
    assert sorted(done) == ["X0", "X1", "X2"]


def test_without_credentials_nothing_further_is_asked(aws: Aws, needs_of: NeedsFactory) -> None:
    aws.replies["sts.GetCallerIdentity"] = Refusal("ExpiredToken")
    seen: list[str] = []
    checks = [
        made("offline", "offline", answering("passed", seen, "offline")),
        made("quota", "quota", answering("passed", seen, "quota")),
    ]
    found = preflight(checks, needs_of("default"), aws.account())
    assert seen == ["offline"]
    assert [answer.status for answer in found.answers] == ["passed", "not_checked"]
    assert "ExpiredToken" in found.answers[1].message
    assert found.account_id is None
    assert found.exit_code(strict=False) == 2


def test_an_interruption_lets_nothing_begin_that_bills(aws: Aws, needs_of: NeedsFactory) -> None:
    def interrupted(_needs: Needs, _account: Account) -> Iterator[Answer]:
        raise KeyboardInterrupt

    account = aws.account()
    with pytest.raises(KeyboardInterrupt):
        preflight([made("X1", "quota", interrupted)], needs_of("default"), account)
    assert account.interrupted.is_set()


def test_offline_checks_alone_need_no_credentials(aws: Aws, needs_of: NeedsFactory) -> None:
    found = preflight([made("X1", "offline", answering())], needs_of("default"), aws.account())
    assert found.exit_code(strict=False) == 0
    assert not aws.calls


@pytest.mark.parametrize(
    ("statuses", "lenient", "strict"),
    [
        (["passed"], 0, 0),
        (["passed", "warning"], 0, 1),
        (["passed", "not_checked"], 0, 1),
        (["not_checked", "failed"], 1, 1),
        (["not_checked", "not_checked"], 2, 2),
        (["not_checked", "offline: passed"], 2, 2),
        (["not_checked", "offline: failed"], 1, 1),
        ([], 0, 0),
    ],
)
def test_exit_codes(statuses: list[str], lenient: int, strict: int) -> None:
    """What needs no permission makes up for nothing that AWS refused."""
    said = [status.rpartition(": ") for status in statuses]
    found = Preflight(
        environment="tiny",
        region="us-west-2",
        account_id=ACCOUNT_ID,
        stacks=(),
        answers=tuple(
            Answer.model_validate({"check": offline or "X1", "status": status, "subject": "it", "message": "so"})
            for offline, _, status in said
        ),
        not_needed=(),
        asked=("X1",),
    )
    assert (found.exit_code(strict=False), found.exit_code(strict=True)) == (lenient, strict)


def test_an_answer_that_is_not_understood_costs_one_check(aws: Aws, needs_of: NeedsFactory) -> None:
    def puzzled(_needs: Needs, _account: Account) -> Iterator[Answer]:
        yield Answer(check="X1", status="passed", subject="it", message="so")
        raise KeyError("Zones")

    checks = [made("X1", "quota", puzzled), made("X2", "quota", answering("passed", id_="X2"))]
    found = preflight(checks, needs_of("default"), aws.account())
    assert [answer.status for answer in found.answers] == ["passed", "not_checked", "passed"]
    assert "KeyError('Zones')" in found.answers[1].message


def test_an_answer_that_is_not_of_aws_costs_one_check(aws: Aws, needs_of: NeedsFactory) -> None:
    """A proxy's page, for example: botocore cannot read it."""

    def page(_parameters: object) -> None:
        raise ResponseParserError("invalid XML received: <!doctype html>")

    aws.replies["ec2.DescribeAvailabilityZones"] = page
    found = preflight([CHECKS["PF01"], CHECKS["PF03"]], needs_of("default"), aws.account())
    (answer,) = found.of("not_checked")
    assert (answer.check, answer.fix) == ("PF03", "run the preflight again")


def test_what_the_organization_refuses_only_the_organization_can_allow() -> None:
    message = "not authorized, with an explicit deny in a service control policy"
    error = ClientError({"Error": {"Code": "UnauthorizedOperation", "Message": message}}, "DescribeKeyPairs")
    answer = not_checked("PF11", "it", error)
    assert answer.fix == "ask who keeps the organization's policies to allow ec2:DescribeKeyPairs"


def test_credentials_that_aws_does_not_take_are_shown_it_once(aws: Aws, needs_of: NeedsFactory) -> None:
    aws.replies["sts.GetCallerIdentity"] = Refusal("ExpiredToken")
    account = aws.account()
    preflight([CHECKS["PF01"], CHECKS["PF03"]], needs_of("default"), account)
    assert [call.name for call in aws.calls] == ["sts.GetCallerIdentity"]


def test_a_listing_is_asked_for_once_by_all_threads(aws: Aws) -> None:
    account = aws.account()
    threads = [threading.Thread(target=account.listing, args=("ec2", "describe_vpcs", "Vpcs")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [call.name for call in aws.calls] == ["ec2.DescribeVpcs"]
