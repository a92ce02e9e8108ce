import json
from collections.abc import Mapping
from typing import Any

import pytest

from slipway.check.preflight.bootstrap_roles import command
from slipway.check.preflight.checks.permissions import principal
from slipway.check.preflight.needs import Needs
from tests.check.preflight.aws import ACCOUNT_ID, Aws, Refusal
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.well_launches import LAUNCH_REPLIES, role, simulation

USER = f"arn:aws:iam::{ACCOUNT_ID}:user/deployer"
SESSION = f"arn:aws:sts::{ACCOUNT_ID}:assumed-role/Engineer/me@example.com"


@pytest.fixture
def aws(aws: Aws) -> Aws:
    """The account, with what it answers about launches."""
    aws.replies |= LAUNCH_REPLIES
    return aws


@pytest.fixture
def needs(needs_of: NeedsFactory) -> Needs:
    return needs_of("default")


def caller(aws: Aws, arn: str) -> None:
    aws.replies["sts.GetCallerIdentity"] = {"Account": ACCOUNT_ID, "Arn": arn, "UserId": "A"}


def test_a_caller_and_a_role_that_may_pass(needs: Needs, aws: Aws, ask: Ask) -> None:
    answers = ask("PF14", needs, aws)
    assert [answer.status for answer in answers] == ["passed", "passed"]
    assert answers[0].message == "it may: 2 roles"
    assert answers[1].subject.endswith(f"cdk-hnb659fds-cfn-exec-role-{ACCOUNT_ID}-us-west-2 makes the resources")
    asked = next(call.parameters for call in aws.calls if call.operation == "SimulatePrincipalPolicy")
    assert asked["PolicySourceArn"] == USER
    assert asked["ActionNames"] == ["sts:AssumeRole"]
    assert [arn.rpartition("/")[2] for arn in asked["ResourceArns"]] == [
        f"cdk-hnb659fds-{name}-role-{ACCOUNT_ID}-us-west-2" for name in ("deploy", "file-publishing")
    ]


def test_a_caller_who_may_not_gets_the_policy(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["iam.SimulatePrincipalPolicy"] = simulation(frozenset({"sts:AssumeRole"}))
    answer = ask("PF14", needs, aws)[0]
    assert answer.status == "failed"
    assert answer.fix is not None
    policy = json.loads(answer.fix[answer.fix.index("{") :])
    assert policy["Statement"][0]["Action"] == "sts:AssumeRole"
    assert len(policy["Statement"][0]["Resource"]) == 2


def test_one_role_of_several_that_may_not_be_taken_on_is_named(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["iam.SimulatePrincipalPolicy"] = simulation(frozenset({"sts:AssumeRole"}), only_on="file-publishing")
    answer = ask("PF14", needs, aws)[0]
    assert answer.status == "failed"
    assert answer.message == f"it may not take on cdk-hnb659fds-file-publishing-role-{ACCOUNT_ID}-us-west-2"


def test_a_role_of_cloudformation_that_lacks_something_warns(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["iam.SimulatePrincipalPolicy"] = simulation(frozenset({"fsx:CreateFileSystem"}))
    answer = ask("PF14", needs, aws)[1]
    assert answer.status == "warning"
    assert answer.message == "IAM does not allow it 1 actions that the environment needs: fsx:CreateFileSystem"


def test_the_role_is_asked_about_one_resource_with_the_conditions_of_its_policy(
    needs: Needs, aws: Aws, ask: Ask
) -> None:
    ask("PF14", needs, aws)
    asked = [call.parameters for call in aws.calls if call.operation == "SimulatePrincipalPolicy"][1:]
    assert asked
    assert not any("*" in arn for call in asked for arn in call["ResourceArns"] if arn != "*")
    given = {entry["ContextKeyName"]: entry["ContextKeyValues"] for call in asked for entry in call["ContextEntries"]}
    assert given["aws:RequestedRegion"] == ["us-west-2"]


def test_actions_that_iam_cannot_answer_for_together_are_asked_in_its_groups(needs: Needs, aws: Aws, ask: Ask) -> None:
    """IAM's own words; nobody documents which actions these are."""
    allowed: Any = simulation(frozenset({"iam:DeleteRole"}))

    def answered(parameters: Mapping[str, Any]) -> Mapping[str, Any] | Refusal:
        alone = [name for name in parameters["ActionNames"] if name in {"iam:CreateRole", "ec2:CreateVpc"}]
        others = [name for name in parameters["ActionNames"] if name not in alone]
        if alone and others:
            groups = f"[{','.join(alone)}] and [{', '.join(others)}]"
            message = f"Invalid Input Actions: {groups} require different authorization information. Please refer to .."
            return Refusal("InvalidInput", message)
        return allowed(parameters)  # type: ignore[no-any-return]

    aws.replies["iam.SimulatePrincipalPolicy"] = answered
    answer = ask("PF14", needs, aws)[1]
    assert (answer.status, answer.message.rpartition(": ")[2]) == ("warning", "iam:DeleteRole")


def test_another_refusal_of_a_simulation_is_not_checked(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["iam.SimulatePrincipalPolicy"] = Refusal("InvalidInput", "Invalid Input Actions: [a:B]")
    assert {answer.status for answer in ask("PF14", needs, aws)} == {"not_checked"}


def decided(**parts: Any) -> Any:
    """Answer of iam.SimulatePrincipalPolicy about one resource after the other, with more in each part."""
    plain: Any = simulation()

    def reply(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        results = plain(parameters)["EvaluationResults"]
        head = {key: parts[key] for key in parts if key == "OrganizationsDecisionDetail"}
        more = {key: parts[key] for key in parts if key not in head}
        return {
            "EvaluationResults": [
                {
                    **result,
                    **head,
                    "ResourceSpecificResults": [{**part, **more} for part in result["ResourceSpecificResults"]],
                }
                for result in results
            ]
        }

    return reply


def test_what_a_boundary_forbids_does_not_pass(needs: Needs, aws: Aws, ask: Ask) -> None:
    boundary = {"AllowedByPermissionsBoundary": False}
    aws.replies["iam.SimulatePrincipalPolicy"] = decided(PermissionsBoundaryDecisionDetail=boundary)
    assert [answer.status for answer in ask("PF14", needs, aws)] == ["failed", "warning"]


def test_what_the_organization_forbids_in_a_simulation_is_not_certain(needs: Needs, aws: Aws, ask: Ask) -> None:
    """IAM says so of everything that a service control policy with a condition is about, a Region for example."""
    aws.replies["iam.SimulatePrincipalPolicy"] = decided(
        OrganizationsDecisionDetail={"AllowedByOrganizations": False}, EvalResourceDecision="implicitDeny"
    )
    answers = ask("PF14", needs, aws)
    assert {(answer.status, answer.message) for answer in answers} == {
        ("not_checked", "it depends on the organization's policies, which only a real call shows")
    }
    assert len(answers) == 2


def test_a_denial_that_hangs_on_what_only_a_call_has_is_not_checked(needs: Needs, aws: Aws, ask: Ask) -> None:
    """Whoever may take on roles with a second factor alone: the simulation does not know it."""
    aws.replies["iam.SimulatePrincipalPolicy"] = decided(
        EvalResourceDecision="implicitDeny", MissingContextValues=["aws:MultiFactorAuthPresent"]
    )
    answer = ask("PF14", needs, aws)[0]
    assert answer.status == "not_checked"
    assert answer.message == "it depends on aws:MultiFactorAuthPresent, which only a real call shows"
    assert (answer.fix or "").startswith("aws sts assume-role --role-session-name preflight --role-arn arn:aws:iam::")


def test_an_account_without_bootstrap_fails(needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["iam.GetRole"] = Refusal("NoSuchEntity")
    answers = ask("PF14", needs, aws)
    assert [answer.status for answer in answers] == ["failed"] * 3
    # The very same command as PF02's, so that it is printed once.
    assert {answer.fix for answer in answers} == {command(needs.assembly, aws.account())}


def test_the_session_of_a_role_is_the_role_with_its_path(aws: Aws) -> None:
    aws.replies["iam.GetRole"] = role
    assert principal(SESSION, aws.account()) == f"arn:aws:iam::{ACCOUNT_ID}:role/people/Engineer"
    assert principal(USER, aws.account()) == USER


@pytest.mark.parametrize(
    "arn", [f"arn:aws:iam::{ACCOUNT_ID}:root", f"arn:aws:sts::{ACCOUNT_ID}:federated-user/somebody"]
)
def test_whom_iam_does_not_simulate_is_not_checked(arn: str, needs: Needs, aws: Aws, ask: Ask) -> None:
    caller(aws, arn)
    answer = ask("PF14", needs, aws)[0]
    assert (answer.status, answer.message) == ("not_checked", "IAM simulates roles and users only")


@pytest.mark.parametrize("code", ["AccessDenied", "Throttling"])
def test_a_refused_simulation_is_not_checked(code: str, needs: Needs, aws: Aws, ask: Ask) -> None:
    aws.replies["iam.SimulatePrincipalPolicy"] = Refusal(code)
    assert {answer.status for answer in ask("PF14", needs, aws)} == {"not_checked"}
