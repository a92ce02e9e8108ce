"""PF01 and PF02."""

import itertools

import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.parsers import ResponseParserError

from tests.check.preflight.aws import ACCOUNT_ID, Aws, Refusal
from tests.check.preflight.conftest import Ask, NeedsFactory


def test_the_caller_and_the_region_are_named(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    caller, region = ask("PF01", needs_of("default"), aws)
    assert (caller.status, region.status) == ("passed", "passed")
    assert ACCOUNT_ID in caller.message
    assert "user/deployer" in caller.message
    assert region.subject == "Region us-west-2"


@pytest.mark.parametrize("code", ["ExpiredToken", "InvalidClientTokenId"])
def test_credentials_that_aws_does_not_take_fail(code: str, aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["sts.GetCallerIdentity"] = Refusal(code)
    (answer,) = ask("PF01", needs_of("default"), aws)
    assert answer.status == "failed"
    assert code in answer.message
    assert (answer.fix or "").splitlines()[-1] == "aws sso login"


@pytest.mark.parametrize(
    "error",
    [
        EndpointConnectionError(endpoint_url="https://sts.us-west-2.amazonaws.com"),
        ResponseParserError("a proxy's page"),
    ],
)
def test_no_network_says_nothing_about_the_credentials(
    error: Exception, aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    def unreachable(_parameters: object) -> None:
        raise error

    aws.replies["sts.GetCallerIdentity"] = unreachable
    (answer,) = ask("PF01", needs_of("default"), aws)
    assert answer.status == "not_checked"
    assert "AWS cannot be reached" in answer.message
    assert "sso login" not in (answer.fix or "")


@pytest.mark.parametrize(
    ("regions", "fix"),
    [
        (
            [{"RegionName": "us-west-2", "OptInStatus": "not-opted-in"}],
            "aws account enable-region --region-name us-west-2",
        ),
        ([{"RegionName": "us-east-1", "OptInStatus": "opted-in"}], "correct `region` in the file"),
    ],
)
def test_a_region_that_is_off_fails(
    regions: list[dict[str, str]], fix: str, aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    aws.replies["ec2.DescribeRegions"] = {"Regions": regions}
    region = ask("PF01", needs_of("default"), aws)[1]
    assert (region.status, region.fix) == ("failed", fix)


def test_a_region_that_is_off_takes_no_credentials_and_is_told_apart(
    aws: Aws, ask: Ask, needs_of: NeedsFactory
) -> None:
    """Its own endpoints refuse everybody; those of another Region answer."""
    off = {"RegionName": "us-west-2", "OptInStatus": "not-opted-in"}
    identity = {"Account": ACCOUNT_ID, "Arn": f"arn:aws:iam::{ACCOUNT_ID}:user/deployer", "UserId": "A"}
    asked_sts, asked_ec2 = itertools.count(), itertools.count()
    aws.replies |= {
        "sts.GetCallerIdentity": lambda _: identity if next(asked_sts) else Refusal("InvalidClientTokenId"),
        "ec2.DescribeRegions": lambda _: {"Regions": [off]} if next(asked_ec2) else Refusal("AuthFailure"),
    }
    caller, region = ask("PF01", needs_of("default"), aws)
    assert caller.status == "passed"
    assert (region.status, region.fix) == ("failed", "aws account enable-region --region-name us-west-2")


def test_a_bootstrapped_region_passes(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    version, bucket = ask("PF02", needs_of("default"), aws)
    assert (version.status, version.message) == ("passed", "version 28, 6 or newer is required")
    assert (bucket.status, bucket.subject) == ("passed", f"bucket cdk-hnb659fds-assets-{ACCOUNT_ID}-us-west-2")


def test_a_region_that_is_not_bootstrapped_fails_with_the_command(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies |= {"ssm.GetParameter": Refusal("ParameterNotFound"), "s3.HeadBucket": Refusal("404")}
    answers = ask("PF02", needs_of("default"), aws)
    assert [answer.status for answer in answers] == ["failed", "failed"]
    assert {answer.fix for answer in answers} == {f"npx cdk bootstrap aws://{ACCOUNT_ID}/us-west-2"}


def test_an_old_bootstrap_fails(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["ssm.GetParameter"] = {"Parameter": {"Value": "5"}}
    version = ask("PF02", needs_of("default"), aws)[0]
    assert (version.status, version.message) == ("failed", "version 5, but 6 or newer is required")
    # Policies on this line would take the place of those that somebody narrowed it to.
    assert version.fix == f"npx cdk bootstrap aws://{ACCOUNT_ID}/us-west-2"


def test_a_bucket_that_nobody_may_look_at_is_not_checked(aws: Aws, ask: Ask, needs_of: NeedsFactory) -> None:
    aws.replies["s3.HeadBucket"] = Refusal("403")
    version, bucket = ask("PF02", needs_of("default"), aws)
    assert (version.status, bucket.status) == ("passed", "not_checked")
    assert "s3:ListBucket" in (bucket.fix or "")
