"""`slipway promote` between two accounts of an S3 stand-in: only what was reviewed arrives, whole, once."""

import hashlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
import yaml
from moto import mock_aws
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway.operate.promote import copying
from slipway_jobs.publishing import bucket as bucket_module
from slipway_jobs.publishing import files as files_module
from slipway_jobs.publishing.manifest import MANIFEST_NAME
from tests.assembly import environment_path
from tests.operate.roll_out.endpoint import MODEL, publish_version

REGION = "us-west-2"
TRAINING, SERVING = "111122223333", "444455556666"
OWNERS = {"training-models": TRAINING, "serving-models": SERVING}
VERSION = "tanuki-8b/v1"
MANIFEST = f"{VERSION}/{MANIFEST_NAME}"
PART = 5 * 2**20


class Stopped(KeyboardInterrupt):
    """Ctrl-C."""


@dataclass
class Accounts:
    """A training and a serving account, with a storage stack each."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """The calls of S3 that the command made, with their headers."""
    stop_before: str = ""
    """Beginning of `Operation key` of the call at which the command is stopped."""

    def log_in(self, account: str) -> None:
        """Have credentials of an account."""
        arn = f"arn:aws:iam::{account}:role/model-promoter"
        found = boto3.client("sts", region_name=REGION).assume_role(RoleArn=arn, RoleSessionName="person")
        for name, key in (("ACCESS_KEY_ID", "AccessKeyId"), ("SECRET_ACCESS_KEY", "SecretAccessKey")):
            self.monkeypatch.setenv(f"AWS_{name}", found["Credentials"][key])
        self.monkeypatch.setenv("AWS_SESSION_TOKEN", found["Credentials"]["SessionToken"])
        # It keeps the credentials that it began with.
        self.monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)

    def deploy(self, name: str) -> None:
        bucket = f"{name}-models"
        self.log_in(OWNERS[bucket])
        template = {
            "Resources": {"Models": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": bucket}}},
            "Outputs": {"ModelBucket": {"Value": {"Ref": "Models"}}},
        }
        cloudformation = boto3.client("cloudformation", region_name=REGION)
        cloudformation.create_stack(StackName=f"slipway-{name}-storage", TemplateBody=yaml.safe_dump(template))

    @property
    def s3(self) -> Any:
        """S3 for the test, of which the command's calls are not counted."""
        return boto3.client("s3", region_name=REGION)

    def publish(self, folder: str = "v1", size: int = 0, **changes: Any) -> None:
        configuration = {**MODEL, "padding": "x" * size}
        publish_version(self.s3, "training-models", "v1", self.folder / folder, configuration=configuration, **changes)

    def objects(self, bucket: str = "serving-models") -> dict[str, bytes]:
        found = self.s3.list_objects_v2(Bucket=bucket).get("Contents", [])
        return {row["Key"]: self.s3.get_object(Bucket=bucket, Key=row["Key"])["Body"].read() for row in found}

    def run(self, account: str, *arguments: str, typed: str | None = None) -> Result:
        self.log_in(account)
        words = [str(self.file(word)) if word in {"training", "serving"} else word for word in arguments]
        return CliRunner().invoke(app, ["promote", *words], input=typed)

    def file(self, name: str) -> Path:
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump({**yaml.safe_load(environment_path("rolledout").read_text()), "name": name}))
        return file

    def review(self) -> list[str]:
        """Run the review; answer the words that it prints for the second person."""
        result = self.run(TRAINING, "-e", "training", VERSION, "--review")
        assert result.exit_code == 0, result.output
        words = shlex.split(result.output.splitlines()[-1])
        assert words[:2] == ["slipway", "promote"]
        return ["serving" if word == "ENVIRONMENT" else word for word in words[2:]]

    def promote(self, words: list[str]) -> Result:
        self.calls.clear()
        return self.run(SERVING, *words, "--yes")

    def refusal(self, words: list[str]) -> str:
        result = self.promote(words)
        assert result.exit_code == 2, result.output
        assert "Traceback" not in result.output
        return result.output

    def see(self, model: Any, params: dict[str, Any], **_: Any) -> Any:
        """Note a call, and refuse a bucket of another account than expected, as botocore's model of S3 says."""
        headers, path = params["headers"], params["url_path"]
        self.calls.append((model.name, headers))
        if self.stop_before and f"{model.name} {path}".startswith(self.stop_before):
            raise Stopped
        copied = str(headers.get("x-amz-copy-source", "")).partition("/")[0]
        for name, bucket in (
            ("x-amz-expected-bucket-owner", params["context"]["input_params"]["Bucket"]),
            ("x-amz-source-expected-bucket-owner", copied),
        ):
            if bucket and headers[name] != OWNERS[bucket]:
                error = {"Error": {"Code": "AccessDenied", "Message": "Access Denied"}, "ResponseMetadata": {}}
                return SimpleNamespace(status_code=403), error
        return None


@pytest.fixture
def accounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Accounts]:
    for module in (bucket_module, files_module, copying):
        monkeypatch.setattr(module, "PART_BYTES", PART)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        accounts = Accounts(tmp_path, monkeypatch)
        for name in ("serving", "training"):
            accounts.deploy(name)

        def session(**arguments: Any) -> boto3.Session:
            made = boto3.Session(**arguments)
            made.events.register("before-call.s3", accounts.see)
            return made

        monkeypatch.setattr("slipway.aws.account.boto3", SimpleNamespace(Session=session))
        accounts.publish(size=2 * PART + 17)
        yield accounts


def test_what_was_reviewed_arrives_and_nothing_else(accounts: Accounts) -> None:
    accounts.s3.put_object(Bucket="training-models", Key=f"{VERSION}/planted.py", Body=b"?")

    result = accounts.promote(accounts.review())

    assert result.exit_code == 0, result.output
    assert f"{VERSION} is promoted; then: slipway roll-out" in result.output
    planted = accounts.objects("training-models").keys() - accounts.objects().keys()
    assert planted == {f"{VERSION}/planted.py"}
    assert accounts.objects().items() <= accounts.objects("training-models").items()


def test_every_write_is_one_that_the_promoters_policy_allows(accounts: Accounts) -> None:
    assert accounts.promote(accounts.review()).exit_code == 0

    names = [name for name, _ in accounts.calls]
    assert names.count("UploadPartCopy") == 3
    assert names.count("CompleteMultipartUpload") == 1
    assert not [name for name in names if name.startswith(("Delete", "CopyObject"))]
    for name, headers in accounts.calls:
        assert name not in {"PutObject", "CompleteMultipartUpload"} or headers["If-None-Match"] == "*"
        assert headers["x-amz-expected-bucket-owner"] in {TRAINING, SERVING}


def test_the_same_again_writes_nothing(accounts: Accounts) -> None:
    words = accounts.review()
    accounts.promote(words)

    again = accounts.promote(words)

    assert again.exit_code == 0, again.output
    assert "is what its manifest says" in again.output
    assert {name for name, _ in accounts.calls} == {"GetObject", "ListObjectsV2", "HeadObject"}


def test_weights_and_manifest_that_were_swapped_after_the_review_are_refused(accounts: Accounts) -> None:
    words = accounts.review()
    for key in accounts.objects("training-models"):
        accounts.s3.delete_object(Bucket="training-models", Key=key)
    accounts.publish("attack", created_at="2026-11-22T22:00:00+00:00")

    assert "was reviewed: it was replaced since" in accounts.refusal(words)
    assert accounts.objects() == {}


def test_weights_that_were_swapped_alone_never_get_a_manifest(accounts: Accounts) -> None:
    words = accounts.review()
    weights = accounts.objects("training-models")[f"{VERSION}/model.pt"]
    accounts.s3.put_object(
        Bucket="training-models", Key=f"{VERSION}/model.pt", Body=b"?" * len(weights), ChecksumAlgorithm="SHA256"
    )

    result = accounts.promote(words)

    assert result.exit_code == 1
    assert f"{VERSION}/model.pt has another SHA-256 than the manifest says" in result.output
    assert MANIFEST not in accounts.objects()
    review = accounts.run(TRAINING, "-e", "training", VERSION, "--review")
    assert (review.exit_code, "is not what its manifest says" in review.output) == (2, True)


@pytest.mark.parametrize(
    "moment",
    ["PutObject /tanuki-8b/v1/model.pt", "UploadPartCopy", "CompleteMultipartUpload", f"PutObject /{MANIFEST}"],
)
def test_a_copy_that_was_stopped_goes_on(accounts: Accounts, moment: str) -> None:
    words = accounts.review()
    accounts.stop_before = moment
    stopped = accounts.promote(words)
    assert stopped.exit_code == 130, stopped.output
    before = accounts.objects()
    assert MANIFEST not in before
    assert not accounts.s3.list_multipart_uploads(Bucket="serving-models").get("Uploads")

    accounts.stop_before = ""
    assert accounts.promote(words).exit_code == 0

    assert accounts.objects().keys() == accounts.objects("training-models").keys()
    writes = [name for name, _ in accounts.calls].count("PutObject")
    assert writes + len(before) <= len(accounts.objects())


def test_a_bucket_of_another_account_is_refused(accounts: Accounts) -> None:
    words = accounts.review()
    words[words.index(TRAINING)] = "777788889999"

    assert "is not a bucket of account 777788889999" in accounts.refusal(words)
    assert accounts.objects() == {}


def test_a_version_that_differs_stays(accounts: Accounts) -> None:
    words = accounts.review()
    accounts.s3.put_object(Bucket="serving-models", Key=MANIFEST, Body=b"{}")

    assert "a version never changes" in accounts.refusal(words)
    assert accounts.objects() == {MANIFEST: b"{}"}


@pytest.mark.parametrize("name", ["planted.py", "model.pt"])
def test_what_somebody_else_put_there_is_refused(accounts: Accounts, name: str) -> None:
    words = accounts.review()
    accounts.s3.put_object(Bucket="serving-models", Key=f"{VERSION}/{name}", Body=b"?")

    assert f"{VERSION}/{name}" in accounts.refusal(words)
    assert accounts.objects() == {f"{VERSION}/{name}": b"?"}


def test_the_own_bucket_is_no_source(accounts: Accounts) -> None:
    words = [word.replace("training-models", "serving-models") for word in accounts.review()]

    assert "is the bucket of environment serving itself" in accounts.refusal(words)


@pytest.mark.parametrize("option", ["--from", "--source-account", "--manifest-sha256"])
def test_nothing_has_a_default(accounts: Accounts, option: str) -> None:
    words = accounts.review()
    place = words.index(option)

    assert f"{option} must be" in accounts.refusal(words[:place] + words[place + 2 :])


def test_a_review_takes_no_source(accounts: Accounts) -> None:
    result = accounts.run(TRAINING, *accounts.review(), "--review")

    assert (result.exit_code, "write it without --from" in result.output) == (2, True)


def test_a_person_is_asked(accounts: Accounts) -> None:
    result = accounts.run(SERVING, *accounts.review(), typed="n\n")

    assert (result.exit_code, "not confirmed" in result.output) == (2, True)
    assert accounts.objects() == {}


def test_the_digest_is_that_of_the_manifest(accounts: Accounts) -> None:
    manifest = accounts.objects("training-models")[MANIFEST]

    assert accounts.review()[-1] == hashlib.sha256(manifest).hexdigest()


def test_parts_are_as_large_as_those_of_the_publish_stage() -> None:
    assert copying.PART_BYTES == files_module.PART_BYTES
