"""A customer-managed KMS key: it encrypts every resource that supports one, and policies allow its use.

The key exists already. Nothing here changes it or its policy.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct, IConstruct

from neuron_constructs.acknowledgements import has_customer_key, set_customer_key
from neuron_constructs.bucket_access import PARALLELCLUSTER_PATH


@dataclass(frozen=True)
class _Store:
    """A property by which a resource is encrypted.

    Attributes:
        name: the property, as the CDK's type of the resource names it.
        value: its value, made of the key's ARN.
        where: a property without which there is nothing to encrypt.
    """

    name: str
    value: Callable[[str], Any] = str
    where: str | None = None


def _bucket_encryption(key_arn: str) -> s3.CfnBucket.BucketEncryptionProperty:
    by_default = s3.CfnBucket.ServerSideEncryptionByDefaultProperty(sse_algorithm="aws:kms", kms_master_key_id=key_arn)
    # A bucket key: one request to KMS for many objects (Amazon S3 user guide, "Reducing the cost of SSE-KMS").
    rule = s3.CfnBucket.ServerSideEncryptionRuleProperty(
        bucket_key_enabled=True, server_side_encryption_by_default=by_default
    )
    return s3.CfnBucket.BucketEncryptionProperty(server_side_encryption_configuration=[rule])


def _repository_encryption(key_arn: str) -> ecr.CfnRepository.EncryptionConfigurationProperty:
    return ecr.CfnRepository.EncryptionConfigurationProperty(encryption_type="KMS", kms_key=key_arn)


def _secret_encryption(key_arn: str) -> list[eks.CfnCluster.EncryptionConfigProperty]:
    provider = eks.CfnCluster.ProviderProperty(key_arn=key_arn)
    return [eks.CfnCluster.EncryptionConfigProperty(provider=provider, resources=["secrets"])]


_STORES: Mapping[str, Sequence[_Store]] = {
    "AWS::CloudTrail::Trail": [_Store("kms_key_id")],
    "AWS::CodeBuild::Project": [_Store("encryption_key")],
    "AWS::ECR::Repository": [_Store("encryption_configuration", _repository_encryption)],
    "AWS::EKS::Cluster": [_Store("encryption_config", _secret_encryption)],
    "AWS::FSx::FileSystem": [_Store("kms_key_id")],
    "AWS::Lambda::Function": [_Store("kms_key_arn", where="environment")],
    "AWS::RDS::DBInstance": [
        _Store("kms_key_id"),
        _Store("performance_insights_kms_key_id", where="enable_performance_insights"),
    ],
    "AWS::S3::Bucket": [_Store("bucket_encryption", _bucket_encryption)],
    "AWS::SNS::Topic": [_Store("kms_master_key_id")],
    "AWS::SecretsManager::Secret": [_Store("kms_key_id")],
}
"""What is encrypted, by resource type; launch templates' volumes, and log groups (`EncryptLogGroups`), besides."""


@dataclass(frozen=True)
class _Use:
    """What a principal that may do something in a service needs of the key there.

    Attributes:
        action: what it may do.
        service: the service, as `kms:ViaService` names it.
        needs: what the service then does with the key in its name.
    """

    action: str
    service: str
    needs: Sequence[str]


_READ, _WRITE = ("kms:Decrypt",), ("kms:Decrypt", "kms:GenerateDataKey")

_USES = (
    _Use("s3:GetObject", "s3", _READ),
    # Parts of an upload are decrypted when they are put together (Amazon S3 user guide, "Uploading ... with SSE-KMS").
    _Use("s3:PutObject", "s3", _WRITE),
    _Use("secretsmanager:GetSecretValue", "secretsmanager", _READ),
    _Use("secretsmanager:PutSecretValue", "secretsmanager", _WRITE),
    _Use("sns:Publish", "sns", _WRITE),
)
"""What reading and writing take (each service's guide, "encryption at rest")."""

_VOLUMES = (
    "kms:CreateGrant",
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)
"""What it takes to start an instance with an encrypted volume, and to attach one (Amazon EBS user guide, "Requirements
for Amazon EBS encryption")."""


def use_customer_key(stack: cdk.Stack, key_arn: str) -> None:
    """Encrypt with a key what a stack will hold, and let its policies use the key. The stack is still empty.

    Args:
        stack: the stack, with its Region.
        key_arn: ARN of the key, which is in that Region.
    """
    set_customer_key(stack, present=True)
    cdk.Aspects.of(stack).add(UseCustomerKey(key_arn, region=stack.region))


@jsii.implements(cdk.IAspect)
class UseCustomerKey:
    """Encrypts with a key everything below a construct that has a row, and lets its policies use the key as they must.

    A policy gets no more than what it allows already takes: objects of a bucket, for example, only through Amazon S3.
    """

    def __init__(self, key_arn: str, *, region: str) -> None:
        """Create the aspect.

        Args:
            key_arn: ARN of the key.
            region: AWS Region of everything.
        """
        self._key_arn, self._region = key_arn, region
        self._used: set[str] = set()

    def visit(self, node: IConstruct) -> None:
        """Set the key of a resource, or let a policy use it."""
        if isinstance(node, cdk.CfnResource) and has_customer_key(node):
            self._encrypt(node)
        elif isinstance(node, iam.Policy | iam.ManagedPolicy) and node.node.path not in self._used:
            self._used.add(node.node.path)
            for statement in self._uses(node):
                node.document.add_statements(statement)

    def _encrypt(self, resource: cdk.CfnResource) -> None:
        if isinstance(resource, ec2.CfnLaunchTemplate):
            data = cdk.Stack.of(resource).resolve(resource.launch_template_data)
            for index in range(len(data.get("blockDeviceMappings", ()))):
                path = f"LaunchTemplateData.BlockDeviceMappings.{index}.Ebs.KmsKeyId"
                resource.add_property_override(path, self._key_arn)
        for store in _STORES.get(resource.cfn_resource_type, ()):
            # What the CDK itself makes without a type of its own, functions without an environment, has no `where`.
            if store.where is None or getattr(resource, store.where, None):
                setattr(resource, store.name, store.value(self._key_arn))

    def _uses(self, policy: iam.Policy | iam.ManagedPolicy) -> Iterator[iam.PolicyStatement]:
        allowed = list(_allowed_actions(cdk.Stack.of(policy).resolve(policy.document.to_json())))
        needs: dict[str, set[str]] = {}
        for use in _USES:
            if any(fnmatchcase(use.action, pattern) for pattern in allowed):
                needs.setdefault(use.service, set()).update(use.needs)
        for service, actions in needs.items():
            yield key_use(self._key_arn, service, sorted(actions), region=self._region)


def key_use(key_arn: str, service: str, actions: Sequence[str], *, region: str) -> iam.PolicyStatement:
    """Return a statement that allows a key's use through one service of one Region."""
    return iam.PolicyStatement(
        actions=list(actions),
        resources=[key_arn],
        conditions={"StringEquals": {"kms:ViaService": f"{service}.{region}.amazonaws.com"}},
    )


def head_node_key_policy(scope: Construct, id: str, *, key_arn: str, region: str) -> iam.ManagedPolicy:  # noqa: A002
    """Return what the head node of a cluster needs: it attaches the shared volumes, and reads the database's password.

    ParallelCluster gives its role the right to both, and none to the key (pcluster/templates/cdk_builder_utils.py and
    queues_stack.py, 3.16.1).
    """
    policy = iam.ManagedPolicy(
        scope, id, path=PARALLELCLUSTER_PATH, description="Slipway: the head node uses the customer's key"
    )
    policy.add_statements(
        key_use(key_arn, "ec2", _VOLUMES, region=region), key_use(key_arn, "secretsmanager", _READ, region=region)
    )
    return policy


def _allowed_actions(document: Mapping[str, Any] | None) -> Iterator[str]:
    for statement in (document or {}).get("Statement", ()):
        if statement["Effect"] == "Allow":
            actions = statement.get("Action", ())
            yield from [actions] if isinstance(actions, str) else actions
