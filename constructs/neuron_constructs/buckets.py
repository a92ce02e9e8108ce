"""Private buckets: encrypted, TLS only, versioned, logged."""

from dataclasses import dataclass
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, set_customer_key, skip_checkov

_ACCEPTED = {
    "NIST.800.53.R5-S3BucketReplicationEnabled": "One region by design: nodes, file system and endpoint are beside it. "
    "Replaced and deleted objects stay as versions; a copy elsewhere is the account owner's choice.",
    "NIST.800.53.R5-S3DefaultEncryptionKMS": "SSE-S3 with AWS-managed keys. FSx data repository associations, "
    "Mountpoint and access-log delivery then need no key grants, and what is kept stays readable without a key.",
}
_NO_LOG_OF_THE_LOG = "This bucket receives the access logs; logging it into itself would never end."
_ACCEPTED_WITHOUT_LOG = dict.fromkeys(
    ("AwsSolutions-S1", "NIST.800.53.R5-S3BucketLoggingEnabled"),
    _NO_LOG_OF_THE_LOG,
)


@dataclass(frozen=True, kw_only=True)
class PrivateBucketProps:
    """Properties of a `PrivateBucket`."""

    removal_policy: cdk.RemovalPolicy
    """`DESTROY` empties and deletes the bucket with its stack; `RETAIN` keeps it and its objects."""

    access_log_bucket: s3.IBucket | None = None
    """Bucket that receives the server access log; none only for the log bucket itself."""

    access_log_prefix: str | None = None
    """Key prefix in the log bucket, ending with a slash."""

    noncurrent_version_days: int = 30
    """Days after which replaced and deleted objects are really gone."""

    expiration_days: int | None = None
    """Days after which current objects are deleted; none keeps them."""

    tells_of_changes: bool = False
    """Whether Amazon EventBridge gets an event of each change of an object."""


class PrivateBucket(Construct):
    """One S3 bucket without public access, encrypted with SSE-S3, reachable over TLS only."""

    bucket: s3.Bucket

    def __init__(self, scope: Construct, id: str, props: PrivateBucketProps) -> None:  # noqa: A002 (the CDK's word)
        super().__init__(scope, id)
        if props.access_log_bucket is None:
            # Neither S3 nor load balancers write logs to a bucket with a key of KMS (Amazon S3 user guide, "Enabling
            # Amazon S3 server access logging"; ELB user guide, "Access logs").
            set_customer_key(self, present=False)
        self.bucket = s3.Bucket(
            self,
            "Resource",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            # SSE-S3: load balancer logs and FSx data repository associations work with it in every account.
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            versioned=True,
            server_access_logs_bucket=props.access_log_bucket,
            server_access_logs_prefix=props.access_log_prefix,
            lifecycle_rules=[_cleaning_rule(props)],
            removal_policy=props.removal_policy,
            auto_delete_objects=props.removal_policy == cdk.RemovalPolicy.DESTROY,
        )
        if props.tells_of_changes:
            # The L2's `event_bridge_enabled` brings a custom resource and its function.
            resource = cast("s3.CfnBucket", self.bucket.node.default_child)
            resource.notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
                event_bridge_configuration=s3.CfnBucket.EventBridgeConfigurationProperty(event_bridge_enabled=True)
            )
        if self.bucket.policy:
            # A bucket that is kept must keep refusing plain HTTP.
            self.bucket.policy.apply_removal_policy(props.removal_policy)
        acknowledge(self.bucket, _ACCEPTED)
        if props.access_log_bucket is None:
            self.bucket.add_to_resource_policy(_only_own_logs(self.bucket))
            acknowledge(self.bucket, _ACCEPTED_WITHOUT_LOG)
            skip_checkov(self.bucket.node.default_child, {"CKV_AWS_18": _NO_LOG_OF_THE_LOG})


def _only_own_logs(bucket: s3.Bucket) -> iam.PolicyStatement:
    """Deny S3 to log the buckets of other accounts into this one: anybody could name it as the target of their logs."""
    return iam.PolicyStatement(
        sid="OwnLogsOnly",
        effect=iam.Effect.DENY,
        principals=[iam.ServicePrincipal("logging.s3.amazonaws.com")],
        actions=["s3:PutObject"],
        resources=[bucket.arn_for_objects("*")],
        conditions={"StringNotEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}},
    )


def _cleaning_rule(props: PrivateBucketProps) -> s3.LifecycleRule:
    """Old versions and broken uploads cost money and nobody sees them."""
    return s3.LifecycleRule(
        abort_incomplete_multipart_upload_after=cdk.Duration.days(7),
        noncurrent_version_expiration=cdk.Duration.days(props.noncurrent_version_days),
        expiration=cdk.Duration.days(props.expiration_days) if props.expiration_days else None,
    )
