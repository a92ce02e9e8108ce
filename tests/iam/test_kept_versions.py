"""What a job cannot destroy: the versions of objects, and the record of who touched them."""

from tests.assembly import Assembly
from tests.conftest import AssemblyFactory
from tests.iam.account import Account, MadeResource
from tests.iam.simulator import ACCOUNT, Decision, Request, decide

NODE = f"arn:aws:iam::{ACCOUNT}:role/parallelcluster/trainium/NodeRole"
ATTACKS = {
    "s3:DeleteObjectVersion": "/model/1/weights",
    "s3:BypassGovernanceRetention": "/model/1/weights",
    "s3:PutLifecycleConfiguration": "",
    "s3:PutBucketVersioning": "",
    "s3:PutBucketPolicy": "",
    "s3:DeleteBucket": "",
}


def bucket(account: Account, name: str) -> MadeResource:
    """Return the bucket whose logical id begins so."""
    (found,) = (made for made in account.resources("AWS::S3::Bucket") if made.logical_id.startswith(name))
    return found


def decisions(account: Account, target: MadeResource, actions: dict[str, str]) -> dict[str, Decision]:
    """Ask for each action what a node of the cluster may do with a bucket."""
    policies = [
        made.resolved["PolicyDocument"]
        for made in account.resources("AWS::IAM::ManagedPolicy")
        if made.resolved.get("Path") == "/parallelcluster/"
    ]
    requests = [Request(NODE, action, f"{target.arn}{key}", policies) for action, key in actions.items()]
    return dict(zip(actions, decide(requests), strict=True))


def test_a_job_deletes_no_version_and_shortens_no_retention(default: Assembly) -> None:
    account = Account([default])

    for name in ("Data", "Checkpoints", "Models"):
        assert "Allowed" not in decisions(account, bucket(account, name), ATTACKS).values()
    assert decisions(account, bucket(account, "Checkpoints"), {"s3:PutObject": "/run/1"}) == {"s3:PutObject": "Allowed"}


def test_replaced_objects_stay_as_long_as_the_file_says(directory: Assembly, default: Assembly) -> None:
    for assembly, days in ((directory, 365), (default, 30)):
        for name in ("Data", "Checkpoints", "Models"):
            made = bucket(Account([assembly]), name).resolved
            (rule,) = made["LifecycleConfiguration"]["Rules"]
            assert made["VersioningConfiguration"] == {"Status": "Enabled"}
            assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": days}


def test_each_access_to_checkpoints_and_models_is_recorded(directory: Assembly) -> None:
    account = Account([directory])
    (trail,) = (made.resolved for made in account.resources("AWS::CloudTrail::Trail"))

    (selector,) = trail["EventSelectors"]

    assert trail["IsLogging"] is True
    assert trail["EnableLogFileValidation"] is True
    # Reads and writes: the default of ReadWriteType is All.
    assert (selector.get("ReadWriteType", "All"), selector["IncludeManagementEvents"]) == ("All", False)
    assert selector["DataResources"] == [
        {
            "Type": "AWS::S3::Object",
            "Values": [f"{bucket(account, name).arn}/" for name in ("Checkpoints", "Models")],
        }
    ]


def test_a_job_cannot_touch_the_records(directory: Assembly) -> None:
    account = Account([directory])
    records = bucket(account, "ObjectAccessRecords")
    actions = {**ATTACKS, "s3:PutObject": "/AWSLogs/x", "s3:DeleteObject": "/AWSLogs/x", "s3:GetObject": "/AWSLogs/x"}

    assert "Allowed" not in decisions(account, records, actions).values()


def test_trails_of_other_accounts_write_no_records(directory: Assembly) -> None:
    account = Account([directory])
    records = bucket(account, "ObjectAccessRecords")
    (policy,) = (
        made.resolved["PolicyDocument"]
        for made in account.resources("AWS::S3::BucketPolicy")
        if made.resolved["Bucket"] == records.name
    )

    def request(owner: str) -> Request:
        context = {
            "aws:SourceArn": f"arn:aws:cloudtrail:us-east-2:{owner}:trail/audit",
            "s3:x-amz-acl": "bucket-owner-full-control",
            "aws:SecureTransport": "true",
            "s3:TlsVersion": "1.3",
        }
        key = f"{records.arn}/AWSLogs/{ACCOUNT}/log.gz"
        return Request("cloudtrail.amazonaws.com", "s3:PutObject", key, [], context, resource_policy=policy)

    assert decide([request(ACCOUNT), request("444455556666")]) == ["Allowed", "ExplicitlyDenied"]


def test_the_records_are_an_option(assemblies: AssemblyFactory) -> None:
    assert not list(Account([assemblies("default")]).resources("AWS::CloudTrail::Trail"))
