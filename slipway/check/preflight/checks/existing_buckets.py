"""PF26: buckets that are there already give the guarantees that Slipway's own give."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from slipway.assembly.existing import BUCKET, KEY, ExistingResource
from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check, not_checked
from slipway.check.preflight.needs import Needs

_Answer = partial(Answer, check="PF26")
_DOCUMENT = "`slipway docs existing-resources`"
_NOTHING = frozenset({"NoSuchBucketPolicy", "NoSuchPublicAccessBlockConfiguration"})
"""How S3 says that a bucket has no such setting."""

_OVERWRITES = "s3:if-none-match"
"""The condition key without which a bucket's policy cannot keep a job from overwriting a version."""


@check(
    "PF26",
    "buckets that are there already",
    stage="existence",
    prevents="Jobs that cannot read their data, versions of models that can be overwritten, a new version that no "
    "endpoint notices.",
    actions=(
        "s3:GetBucketNotification",
        "s3:GetBucketPolicy",
        "s3:GetBucketPublicAccessBlock",
        "s3:GetBucketVersioning",
        "s3:GetEncryptionConfiguration",
        "s3:ListBucket",
    ),
)
def existing_buckets(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look at each setting that Slipway gives its own buckets and does not touch here."""
    keys = {resource.id for resource in needs.existing(KEY)}
    for bucket in needs.existing(BUCKET):
        client = account.client("s3")
        try:
            region = client.head_bucket(Bucket=bucket.id)["BucketRegion"]
        except ClientError as error:
            if error.response["Error"]["Code"] != "404":
                raise
            message, fix = "there is no bucket of this name", "name the right one, or make it"
            yield _Answer(status="failed", subject=f"S3 bucket {bucket.id}", message=message, fix=fix)
            continue
        if region != needs.region:
            message = f"it is in {region}, the environment in {needs.region}: FSx links buckets of its Region alone"
            fix = f"name a bucket in {needs.region}"
            yield _Answer(status="failed", subject=f"S3 bucket {bucket.id}", message=message, fix=fix)
            continue
        yield from _settings(bucket, client, keys)


def _settings(bucket: ExistingResource, client: Any, keys: set[str]) -> Iterator[Answer]:
    questions: dict[str, Callable[[], str | None]] = {
        "encryption": lambda: _other_key(client, bucket.id, keys),
        "versioning": lambda: _without_versions(client, bucket.id),
        "public access": lambda: _public(client, bucket.id),
        "policy": lambda: _policy_lacks(client, bucket),
    }
    if dict(bucket.facts).get("events"):
        questions["events"] = lambda: _tells_nobody(client, bucket.id)
    for name, ask in questions.items():
        subject = f"S3 bucket {bucket.id}, {name}"
        try:
            problem = ask()
        except UNANSWERED as error:
            yield not_checked("PF26", subject, error)
            continue
        if problem is None:
            yield _Answer(status="passed", subject=subject, message="it is as with a bucket of Slipway's")
        else:
            # Without the key no job reads an object; all else is for the bucket's owner to weigh.
            status = "failed" if name == "encryption" else "warning"
            fix = f"{_DOCUMENT} says what the bucket needs"
            yield _Answer(status=status, subject=subject, message=problem, fix=fix)


def _other_key(client: Any, bucket: str, keys: set[str]) -> str | None:
    rules = client.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
    for rule in rules:
        default: Mapping[str, str] = rule["ApplyServerSideEncryptionByDefault"]
        key = default.get("KMSMasterKeyID")
        if default["SSEAlgorithm"] != "AES256" and key not in keys:
            return (
                f"it is encrypted with {key or 'the AWS managed key'}, which is not `kms.key_arn`: jobs may not use it"
            )
    return None


def _without_versions(client: Any, bucket: str) -> str | None:
    state = client.get_bucket_versioning(Bucket=bucket).get("Status", "off")
    return None if state == "Enabled" else f"versioning is {state}: what is overwritten or deleted is gone"


def _public(client: Any, bucket: str) -> str | None:
    try:
        block = client.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
    except ClientError as error:
        block = _empty_if_unset(error)
    switched = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")
    off = [name for name in switched if not block.get(name)]
    return f"{', '.join(off)} is off: a policy or an ACL can make it public" if off else None


def _policy_lacks(client: Any, bucket: ExistingResource) -> str | None:
    try:
        document = json.loads(client.get_bucket_policy(Bucket=bucket.id)["Policy"])
    except ClientError as error:
        document = _empty_if_unset(error)
    denials = [row for row in document.get("Statement", ()) if row["Effect"] == "Deny"]
    conditions = [json.dumps(row.get("Condition", {})).lower() for row in denials]
    lacks = []
    if not any("aws:securetransport" in condition for condition in conditions):
        lacks.append("plain HTTP")
    if bucket.use == "models" and not any(_OVERWRITES in condition for condition in conditions):
        lacks.append("that a job overwrites a published version")
    return f"no statement denies {', or '.join(lacks)}" if lacks else None


def _tells_nobody(client: Any, bucket: str) -> str | None:
    told = "EventBridgeConfiguration" in client.get_bucket_notification_configuration(Bucket=bucket)
    return None if told else "Amazon EventBridge gets no events: the endpoint notices no change of what it serves"


def _empty_if_unset(error: ClientError) -> dict[str, Any]:
    if error.response["Error"]["Code"] not in _NOTHING:
        raise error
    return {}
