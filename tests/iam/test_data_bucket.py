"""FSx alone writes the data bucket: no policy of a node, a pod, a publisher or a team does."""

from tests.assembly import Assembly
from tests.iam.account import Account
from tests.iam.simulator import ACCOUNT, Request, decide

ROLE = f"arn:aws:iam::{ACCOUNT}:role/jobs"
WRITES = ("s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion", "s3:AbortMultipartUpload", "s3:PutObjectTagging")


def test_jobs_read_the_data_bucket_and_do_not_write_it(each_assembly: Assembly) -> None:
    account = Account([each_assembly])
    existing = each_assembly.environment.storage.existing_buckets.data
    own = [made.arn for made in account.resources("AWS::S3::Bucket") if made.logical_id.startswith("Data")]
    (data,) = [f"arn:aws:s3:::{existing}"] if existing else own
    policies = [
        made.resolved["PolicyDocument"]
        for made in account.resources("AWS::IAM::ManagedPolicy")
        if made.logical_id.startswith(("NodePolicy", "PublisherPolicy", "Team"))
    ]
    assert policies

    decisions = decide([Request(ROLE, action, f"{data}/wiki/a.jsonl", policies) for action in WRITES])
    assert set(decisions) == {"ImplicitlyDenied"}
    reads = [Request(ROLE, "s3:GetObject", f"{data}/wiki/a.jsonl", policies)]
    reads.append(Request(ROLE, "s3:ListBucket", data, policies))
    assert set(decide(reads)) == {"Allowed"}
