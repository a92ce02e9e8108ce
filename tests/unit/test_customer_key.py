"""With `kms` everything that CloudFormation can encrypt names the customer's key, and who reads it may use it."""

import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import pytest
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from slipway.config.encryption import Kms
from slipway.config.storage import AccountingDatabase, Home
from tests.assembly import Assembly, load, synthesize

KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
KEY_PROPERTY = re.compile(r"kms|^EncryptionKey$|^KeyArn$", re.IGNORECASE)
NOT_ENCRYPTED = {
    "AWS::ECS::Cluster": "what it encrypts, the hosts' volumes and logs, are resources of their own",
    "AWS::ECS::Service": "its tasks have no volumes of their own, and no certificates",
}
"""Resource types with a property for a key, and nothing that it would encrypt here."""

NEEDS = (
    ("s3:GetObject", "s3", {"kms:Decrypt"}),
    ("s3:PutObject", "s3", {"kms:Decrypt", "kms:GenerateDataKey"}),
    ("secretsmanager:GetSecretValue", "secretsmanager", {"kms:Decrypt"}),
    ("sns:Publish", "sns", {"kms:Decrypt", "kms:GenerateDataKey"}),
)


@pytest.fixture(scope="module", params=["default", "kubernetes"])
def encrypted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """An environment with everything on Slurm, and one on Kubernetes, with a key."""
    environment = load(request.param)
    if environment.training:
        more = {"home": Home(), "accounting_database": AccountingDatabase(), "record_object_access": True}
        environment = environment.model_copy(update={"storage": environment.storage.model_copy(update=more)})
    environment = environment.model_copy(update={"kms": Kms(key_arn=KEY)})
    return synthesize(environment, tmp_path_factory.mktemp(f"{request.param}-encrypted"))


def resources(assembly: Assembly, *types: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield type, logical id and properties."""
    for template in assembly.templates().values():
        for logical_id, resource in template["Resources"].items():
            if not types or resource["Type"] in types:
                yield resource["Type"], logical_id, resource.get("Properties", {})


@cache
def has_key(type_: str) -> bool:
    """Whether CloudFormation's schema of a resource type has a property for a key that its owner sets."""
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-west-2", type_).schema
    read_only = {name.rpartition("/")[2] for name in schema.get("readOnlyProperties", ())}
    return any(KEY_PROPERTY.search(name) and name not in read_only for name in _names(schema))


def _names(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from node.get("properties", {})
        for below in node.values():
            yield from _names(below)
    elif isinstance(node, list):
        for below in node:
            yield from _names(below)


def is_exempt(type_: str, logical_id: str, properties: Mapping[str, Any]) -> bool:
    """Whether nothing of a resource is encrypted, or it cannot be with a key."""
    no_variables = type_ == "AWS::Lambda::Function" and "Environment" not in properties
    # S3 and load balancers write their logs to buckets without a key only.
    return no_variables or type_ in NOT_ENCRYPTED or logical_id.startswith("AccessLogs")


def test_whatever_has_a_property_for_a_key_names_it(encrypted: Assembly) -> None:
    missing = [
        f"{type_} {logical_id}"
        for type_, logical_id, properties in resources(encrypted)
        if type_.startswith("AWS::") and type_ != "AWS::KMS::Key" and has_key(type_)
        if not is_exempt(type_, logical_id, properties) and KEY not in json.dumps(properties)
    ]
    assert missing == []


def test_each_volume_names_it(encrypted: Assembly) -> None:
    for _, _, properties in resources(encrypted, "AWS::EC2::LaunchTemplate"):
        for device in properties["LaunchTemplateData"]["BlockDeviceMappings"]:
            assert device["Ebs"]["KmsKeyId"] == KEY
    for _, _, properties in resources(encrypted, "Custom::PclusterCluster"):
        shared = properties["ClusterConfiguration"]["SharedStorage"]
        assert [item["EbsSettings"]["KmsKeyId"] for item in shared if item["StorageType"] == "Ebs"] == [KEY]


def test_there_is_no_other_key(encrypted: Assembly) -> None:
    assert list(resources(encrypted, "AWS::KMS::Key")) == []


def test_who_may_read_or_write_may_use_the_key_there_and_nowhere_else(encrypted: Assembly) -> None:
    checked = 0
    for _, logical_id, properties in resources(encrypted, "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
        statements = properties["PolicyDocument"]["Statement"]
        allowed = [action for row in statements if row["Effect"] == "Allow" for action in _listed(row["Action"])]
        on_key = [row for row in statements if row.get("Resource") == KEY]
        by_service = {row["Condition"]["StringEquals"]["kms:ViaService"]: set(_listed(row["Action"])) for row in on_key}
        assert len(by_service) == len(on_key)
        for action, service, needs in NEEDS:
            if any(fnmatchcase(action, pattern) for pattern in allowed):
                checked += 1
                assert needs <= by_service[f"{service}.us-west-2.amazonaws.com"], logical_id
    assert checked > 4


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def test_without_a_key_nothing_names_one(default: Assembly) -> None:
    assert "aws:kms" not in json.dumps([properties for *_, properties in resources(default, "AWS::S3::Bucket")])
