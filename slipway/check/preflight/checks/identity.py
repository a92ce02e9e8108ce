"""Who asks, where, and whether the CDK can deploy there."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NoConnectionError
from botocore.parsers import ResponseParserError

from slipway.assembly.stacks import read_artifacts
from slipway.aws.account import ALWAYS_ON, SWITCHED_OFF, Account
from slipway.aws.refusals import UNANSWERED
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.bootstrap_roles import command
from slipway.check.preflight.check import check
from slipway.check.preflight.needs import Needs

_OPTED_OUT = "not-opted-in"

_UNREACHABLE = (NoConnectionError, HTTPClientError, ResponseParserError)
"""What botocore raises when the answer is missing, cut off, or not AWS's. The credentials may be valid."""


@check(
    "PF01",
    "Credentials and Region",
    stage="identity",
    prevents="A deployment into the wrong account, with an expired login, or into a Region that is switched off.",
    actions=("ec2:DescribeRegions", "sts:GetCallerIdentity"),
)
def identity_and_region(needs: Needs, account: Account) -> Iterator[Answer]:
    """Ask whose credentials these are, and whether the account uses the Region."""
    try:
        caller = account.caller
    except _UNREACHABLE as error:
        yield Answer(
            check="PF01",
            status="not_checked",
            subject="credentials",
            message=f"AWS cannot be reached: {error}",
            fix="look at the network: the connection, HTTPS_PROXY, AWS_CA_BUNDLE",
        )
        return
    except UNANSWERED as error:
        yield Answer(
            check="PF01",
            status="failed",
            subject="credentials",
            message=f"AWS accepts no credentials from here: {error}",
            fix="log in, for example with the next line, or set AWS_PROFILE\naws sso login",
        )
        return
    yield Answer(
        check="PF01", status="passed", subject="credentials", message=f"account {caller.account_id}, {caller.arn}"
    )
    state = next((region["OptInStatus"] for region in _regions(account) if region["RegionName"] == needs.region), None)
    if state in (None, _OPTED_OUT):
        yield Answer(
            check="PF01",
            status="failed",
            subject=f"Region {needs.region}",
            message="the account has not opted in to it" if state else "AWS has no such Region",
            fix=f"aws account enable-region --region-name {needs.region}" if state else "correct `region` in the file",
        )
        return
    yield Answer(check="PF01", status="passed", subject=f"Region {needs.region}", message=f"it is on ({state})")


def _regions(account: Account) -> list[Any]:
    """Return all Regions as EC2 describes them; the account's own may be one that answers nobody."""
    try:
        found: list[Any] = account.client("ec2").describe_regions(AllRegions=True)["Regions"]
    except ClientError as error:
        if error.response["Error"]["Code"] not in SWITCHED_OFF:
            raise
        found = account.client("ec2", ALWAYS_ON).describe_regions(AllRegions=True)["Regions"]
    return found


@check(
    "PF02",
    "CDK bootstrap",
    stage="existence",
    prevents="`cdk deploy` ends at once: the Region is not bootstrapped, or by a CDK that is too old.",
    actions=("ssm:GetParameter", "s3:ListBucket"),
)
def bootstrap(needs: Needs, account: Account) -> Iterator[Answer]:
    """Compare the version that the stacks require with the one that stands, and look for the bucket of assets."""
    for parameter, required in sorted(_required_versions(needs).items()):
        yield _version(parameter, required, needs, account)
    for bucket in sorted(_buckets(needs, account)):
        yield _bucket(bucket, needs, account)


def _required_versions(needs: Needs) -> dict[str, int]:
    """Return the least version by the name of the SSM parameter that holds the one that stands."""
    required: dict[str, int] = {}
    names = {stack.name for stack in needs.stacks}
    for id_, artifact in read_artifacts(needs.assembly, "aws:cloudformation:stack").items():
        properties = artifact["properties"]
        if properties.get("stackName", id_) in names and "requiresBootstrapStackVersion" in properties:
            parameter = properties["bootstrapStackVersionSsmParameter"]
            required[parameter] = max(required.get(parameter, 0), properties["requiresBootstrapStackVersion"])
    return required


def _version(parameter: str, required: int, needs: Needs, account: Account) -> Answer:
    try:
        found = int(account.client("ssm").get_parameter(Name=parameter)["Parameter"]["Value"])
    except ClientError as error:
        if error.response["Error"]["Code"] != "ParameterNotFound":
            raise
        message = f"there is no parameter {parameter}: the CDK was never bootstrapped here"
    else:
        if found >= required:
            return Answer(
                check="PF02",
                status="passed",
                subject="bootstrap version",
                message=f"version {found}, {required} or newer is required",
            )
        message = f"version {found}, but {required} or newer is required"
    fix = command(needs.assembly, account)
    return Answer(check="PF02", status="failed", subject="bootstrap version", message=message, fix=fix)


def _buckets(needs: Needs, account: Account) -> set[str]:
    """Return the buckets that the stacks' templates are uploaded to."""
    names = {stack.name for stack in needs.stacks}
    urls = (
        artifact["properties"].get("stackTemplateAssetObjectUrl", "")
        for id_, artifact in read_artifacts(needs.assembly, "aws:cloudformation:stack").items()
        if artifact["properties"].get("stackName", id_) in names
    )
    return {
        url.removeprefix("s3://").partition("/")[0].replace("${AWS::AccountId}", account.caller.account_id)
        for url in urls
        if url
    }


def _bucket(bucket: str, needs: Needs, account: Account) -> Answer:
    subject = f"bucket {bucket}"
    try:
        account.client("s3").head_bucket(Bucket=bucket, ExpectedBucketOwner=account.caller.account_id)
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("404", "NoSuchBucket"):
            raise
        return Answer(
            check="PF02",
            status="failed",
            subject=subject,
            message="it does not exist: templates and assets cannot be uploaded",
            fix=command(needs.assembly, account),
        )
    return Answer(check="PF02", status="passed", subject=subject, message="it exists")
