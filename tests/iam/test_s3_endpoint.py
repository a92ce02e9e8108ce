"""The S3 endpoint of the VPC carries no object into a bucket of another account."""

from dataclasses import replace

import pytest

from slipway import facts
from tests.assembly import Assembly
from tests.conftest import AssemblyFactory
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
    """The policy of the S3 endpoint."""
    policies: list[Document] = [
        endpoint.resolved["PolicyDocument"]
        for endpoint in Account([assembly]).resources("AWS::EC2::VPCEndpoint")
        if endpoint.resolved["ServiceName"].endswith(".s3")
    ]
    (policy,) = policies
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
        ("s3:ListBucket", "arn:aws:s3:::example-shared-datasets", STRANGER),
        # cfn-signal of the head node.
        ("s3:PutObject", f"arn:aws:s3:::cloudformation-waitcondition-{region}/signal", STRANGER),
    ]

    decisions = decide([through(endpoint, action, resource, owner=owner) for action, resource, owner in wanted])

    assert set(decisions) == {"Allowed"}


def test_other_buckets_are_read_only_where_all_are(own_network: Assembly) -> None:
    endpoint, named = endpoint_policy(own_network), own_network.environment.network.s3_endpoint.readable_buckets
    foreign = [
        through(endpoint, action, resource, owner=STRANGER)
        for action, resource in (
            ("s3:ListBucket", "arn:aws:s3:::data-of-another-team"),
            ("s3:GetObject", "arn:aws:s3:::example-shared-datasets-2/shard"),
            ("s3:GetObject", "arn:aws:s3:::prod-eu-west-1-starport-layer-bucket/layer"),
        )
    ]

    assert set(decide(foreign)) == {"Allowed" if named is None else "ImplicitlyDenied"}


def test_the_policy_reads_every_bucket_of_aws_that_nodes_need(assemblies: AssemblyFactory) -> None:
    endpoint = endpoint_policy(assemblies("isolated"))
    buckets = [name.format(region="us-west-2") for name in facts.aws_buckets()]
    reads = [through(endpoint, "s3:GetObject", f"arn:aws:s3:::{name}/object", owner=STRANGER) for name in buckets]

    assert len(reads) >= 8
    assert set(decide(reads)) == {"Allowed"}
