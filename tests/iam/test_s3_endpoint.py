"""The S3 endpoint of the VPC carries no object into a bucket of another account."""

from dataclasses import replace

import pytest

from tests.assembly import Assembly
from tests.iam.account import Account
from tests.iam.simulator import ACCOUNT, Document, Request, decide

STRANGER = "444455556666"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/jobs"
EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
OPEN_BUCKET = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::*"}],
}


@pytest.fixture
def own_network(each_assembly: Assembly) -> Assembly:
    """Every environment whose VPC is its own: an existing one has whatever endpoint its owner gave it."""
    if each_assembly.environment.network.existing:
        pytest.skip("the endpoint of an existing VPC is its owner's")
    return each_assembly


def endpoint_policy(assembly: Assembly) -> Document:
    (endpoint,) = Account([assembly]).resources("AWS::EC2::VPCEndpoint")
    policy: Document = endpoint.resolved["PolicyDocument"]
    return policy


def through(endpoint: Document, action: str, resource: str, *, owner: str) -> Request:
    """A request of a role that may do everything; a foreign bucket takes everything from everyone."""
    return Request(
        ROLE,
        action,
        resource,
        [EVERYTHING],
        {"aws:ResourceAccount": owner},
        resource_policy=None if owner == ACCOUNT else OPEN_BUCKET,
        account=owner,
        endpoints=[endpoint],
    )


def test_nothing_is_written_into_a_bucket_of_another_account(own_network: Assembly) -> None:
    endpoint = endpoint_policy(own_network)
    attacks = [
        through(endpoint, action, resource, owner=STRANGER)
        for action, resource in (
            ("s3:PutObject", "arn:aws:s3:::stolen/weights"),
            ("s3:PutObject", "arn:aws:s3:::cloudformation-waitcondition-mine/weights"),
            ("s3:PutObjectTagging", "arn:aws:s3:::stolen/weights"),
            ("s3:AbortMultipartUpload", "arn:aws:s3:::stolen/weights"),
            ("s3:DeleteObject", "arn:aws:s3:::stolen/weights"),
            ("s3:CreateBucket", "arn:aws:s3:::stolen"),
        )
    ]

    assert set(decide(attacks)) == {"ImplicitlyDenied"}
    assert set(decide([replace(attack, endpoints=()) for attack in attacks])) == {"Allowed"}


def test_own_buckets_packages_and_signals_still_work(own_network: Assembly) -> None:
    endpoint = endpoint_policy(own_network)
    region = own_network.environment.region
    wanted = [
        ("s3:PutObject", "arn:aws:s3:::own/weights", ACCOUNT),
        ("s3:DeleteObjectVersion", "arn:aws:s3:::own/weights", ACCOUNT),
        ("s3:ListBucket", "arn:aws:s3:::own", ACCOUNT),
        # Packages of Amazon Linux, layers of Amazon ECR, and the data of another account.
        ("s3:GetObject", f"arn:aws:s3:::al2023-repos-{region}-de612dc2/core", STRANGER),
        ("s3:GetObject", f"arn:aws:s3:::prod-{region}-starport-layer-bucket/layer", STRANGER),
        ("s3:ListBucket", "arn:aws:s3:::data-of-another-team", STRANGER),
        # cfn-signal of the head node.
        ("s3:PutObject", f"arn:aws:s3:::cloudformation-waitcondition-{region}/signal", STRANGER),
    ]

    decisions = decide([through(endpoint, action, resource, owner=owner) for action, resource, owner in wanted])

    assert set(decisions) == {"Allowed"}
