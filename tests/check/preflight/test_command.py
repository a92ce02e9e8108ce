"""`slipway preflight`."""

import json
from collections.abc import Callable, Sequence

import pytest
from typer.testing import CliRunner, Result

from slipway.check.preflight.check import CHECKS
from slipway.cli import app
from tests.check.preflight.aws import Aws, Refusal
from tests.check.preflight.conftest import NeedsFactory
from tests.check.preflight.well import limits

OWN = ("PF01", "PF02", "PF03", "PF04", "PF06", "PF07", "PF08", "PF17", "PF21", "PF23", "PF24")
"""Checks that pass in the account of `well.py`."""

Preflight = Callable[..., Result]


@pytest.fixture
def slipway(aws: Aws, needs_of: NeedsFactory, monkeypatch: pytest.MonkeyPatch) -> Preflight:
    """Run the command on the default environment, with some checks."""
    monkeypatch.setattr("slipway.check.preflight.run.Account.in_region", lambda *_: aws.account())

    def run(*options: str, checks: Sequence[str] = OWN) -> Result:
        chosen = [word for check in checks for word in ("--check", check)]
        assembly = str(needs_of("default").assembly)
        return CliRunner().invoke(app, ["preflight", "--assembly", assembly, *chosen, *options])

    return run


def test_an_account_with_room_ends_with_0(slipway: Preflight) -> None:
    result = slipway()
    assert result.exit_code == 0, result.output
    assert "nothing stops a deployment" in result.stdout
    assert "failed:" not in result.stdout


def test_all_that_fails_is_told_at_once_with_whole_commands(slipway: Preflight, aws: Aws) -> None:
    aws.replies |= {
        "service-quotas.GetServiceQuota": limits({}, otherwise=0),
        "ssm.GetParameter": Refusal("ParameterNotFound"),
    }
    result = slipway()
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    command = (
        "  aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-2C3B7624 "
        "--desired-value 512 --region us-west-2"
    )
    assert command in lines
    assert any(line.startswith("  npx cdk bootstrap aws://") for line in lines)
    assert lines.index(command) < next(number for number, line in enumerate(lines) if line.startswith("passed"))


def test_what_aws_refuses_to_tell_is_said_plainly(slipway: Preflight, aws: Aws) -> None:
    aws.replies["ec2.DescribeVpcs"] = Refusal("UnauthorizedOperation")
    result = slipway("--json")
    found = json.loads(result.stdout)
    assert {answer["check"] for answer in found["answers"] if answer["status"] == "not_checked"} == {"PF07"}
    assert result.exit_code == 0, [answer for answer in found["answers"] if answer["status"] == "failed"]
    assert slipway("--strict").exit_code == 1
    assert "not everything could be checked" in slipway().stdout


def test_without_credentials_it_ends_with_2(slipway: Preflight, aws: Aws) -> None:
    aws.replies["sts.GetCallerIdentity"] = Refusal("ExpiredToken")
    result = slipway("--json")
    assert result.exit_code == 2
    statuses = {answer["check"]: answer["status"] for answer in json.loads(result.stdout)["answers"]}
    assert statuses.pop("PF01") == "failed"
    assert statuses.pop("PF21") in ("passed", "warning")
    assert set(statuses.values()) == {"not_checked"}


@pytest.mark.parametrize("check", ["PF01", "PF06"])
def test_credentials_that_are_not_taken_end_one_check_with_2_as_well(check: str, slipway: Preflight, aws: Aws) -> None:
    aws.replies["sts.GetCallerIdentity"] = Refusal("ExpiredToken")
    assert slipway(checks=(check,)).exit_code == 2


def test_a_caller_who_may_nothing_ends_with_2(slipway: Preflight, aws: Aws) -> None:
    aws.replies = {"sts.GetCallerIdentity": aws.replies["sts.GetCallerIdentity"], "*": Refusal("AccessDenied")}
    assert slipway(checks=(*OWN, "PF18")).exit_code == 2


def test_a_code_of_mfa_that_nobody_types_ends_with_2(slipway: Preflight, aws: Aws) -> None:
    def ask_for_a_code(_parameters: object) -> None:
        raise EOFError

    aws.replies["sts.GetCallerIdentity"] = ask_for_a_code
    result = slipway()
    assert result.exit_code == 2
    assert "asks for an MFA code" in result.stderr


def test_a_stack_is_asked_about_alone(slipway: Preflight) -> None:
    found = json.loads(slipway("--stack", "training", "--json").stdout)
    assert found["stacks"] == ["slipway-default-training"]
    assert {"PF03", "PF07", "PF08", "PF24"} & set(found["not_needed"]) == {"PF03", "PF08", "PF24"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stack", "trainin"], "there is no stack trainin. Did you mean 'training'?"),
        (["--check", "PF6"], "there is no check PF6; the checks are PF01"),
        (["--check", "PF20"], "say --prove-capacity"),
        ([word for check in OWN for word in ("--skip", check)], "no check is left"),
        (["-e", "default"], "one of them"),
    ],
)
def test_wrong_use_ends_with_2_and_says_what_to_write(options: list[str], message: str, slipway: Preflight) -> None:
    result = slipway(*options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_proof_of_capacity_asks_first(slipway: Preflight, aws: Aws) -> None:
    result = slipway("--prove-capacity", checks=("PF20",))
    assert result.exit_code == 2
    assert "Nothing was asked of AWS" in result.stderr
    assert not aws.calls


def test_the_policy_allows_exactly_what_the_checks_ask() -> None:
    statements = json.loads(CliRunner().invoke(app, ["preflight", "--policy"]).stdout)["Statement"]
    allowed = [action for statement in statements for action in statement["Action"]]
    asked = {action for check in CHECKS.values() if check.stage != "capacity" for action in check.actions}
    assert sorted(allowed) == sorted(asked)


def test_a_policy_can_be_one_that_only_reads() -> None:
    result = CliRunner().invoke(app, ["preflight", "--policy", "--skip", "PF19"])
    (statement,) = json.loads(result.stdout)["Statement"]
    assert statement["Sid"] == "SlipwayPreflightRead"
