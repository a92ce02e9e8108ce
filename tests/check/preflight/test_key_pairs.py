from pathlib import Path

import boto3
import pytest

from tests.check.preflight.aws import REGION, Aws
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.handmade import OTHERS, handmade


def test_a_key_pair_that_is_there_passes(tmp_path: Path, aws: Aws, ask: Ask) -> None:
    boto3.client("ec2", REGION).create_key_pair(KeyName="operators")
    (answer,) = ask("PF11", handmade(tmp_path, OTHERS), aws)
    assert (answer.status, answer.subject) == ("passed", "key pair operators")


def test_a_missing_key_pair_fails_with_the_command_that_imports_one(tmp_path: Path, aws: Aws, ask: Ask) -> None:
    (answer,) = ask("PF11", handmade(tmp_path, OTHERS), aws)
    assert answer.status == "failed"
    assert answer.fix is not None
    assert answer.fix.startswith("aws ec2 import-key-pair --region us-west-2 --key-name operators")


def test_the_clusters_key_pair_is_looked_for(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    (answer,) = ask("PF11", needs_of("directory"), aws)
    assert (answer.status, answer.subject) == ("failed", "key pair platform")
    assert answer.stacks == ("slipway-directory-training",)


@pytest.mark.parametrize(("kind", "status"), [("rsa", "failed"), ("ed25519", "passed")])
def test_ubuntu_takes_no_rsa_key(kind: str, status: str, needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.DescribeKeyPairs"] = {"KeyPairs": [{"KeyName": "platform", "KeyType": kind}]}
    (answer,) = ask("PF11", needs_of("directory"), aws)
    assert answer.status == status
    assert ("ParallelCluster refuses those for ubuntu2404" in answer.message) == (status == "failed")


def test_an_rsa_key_is_good_enough_for_hosts_that_are_no_clusters(tmp_path: Path, aws: Aws, ask: Ask) -> None:
    aws.replies["ec2.DescribeKeyPairs"] = {"KeyPairs": [{"KeyName": "operators", "KeyType": "rsa"}]}
    (answer,) = ask("PF11", handmade(tmp_path, OTHERS), aws)
    assert answer.status == "passed"


def test_people_without_keys_need_none(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    assert ask("PF11", needs_of("default"), aws) == []
    assert not aws.calls
