"""A record of who read, wrote and deleted the objects of buckets, by AWS CloudTrail."""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_cloudtrail as cloudtrail
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge, skip_checkov
from neuron_constructs.buckets import PrivateBucket, PrivateBucketProps

_KEPT_IN_S3 = "These are records to look things up in, in S3: no alarm and no topic reads along."
_BUCKETS_KEY = "The records lie in a private bucket, which S3 encrypts; they name objects and callers."
_ONE_REGION = "The buckets are in this Region, and so is every access to them."


class ObjectAccessTrail(Construct):
    """A trail with the data events of buckets, and the bucket for its records, which only CloudTrail may write."""

    bucket: s3.Bucket
    trail: cloudtrail.Trail

    def __init__(
        self,
        scope: Construct,
        id: str,  # noqa: A002 (the CDK's word)
        *,
        buckets: Sequence[s3.IBucket],
        retention_days: int,
        removal_policy: cdk.RemovalPolicy,
        access_log_bucket: s3.IBucket,
    ) -> None:
        """Create the trail.

        Args:
            scope: parent construct.
            id: construct id.
            buckets: whose objects are watched.
            retention_days: how long a record is kept.
            removal_policy: what happens to the records when the stack is destroyed.
            access_log_bucket: bucket for the access log of the records.
        """
        super().__init__(scope, id)
        self.bucket = PrivateBucket(
            self,
            "Records",
            PrivateBucketProps(
                removal_policy=removal_policy,
                access_log_bucket=access_log_bucket,
                access_log_prefix="s3/records/",
                expiration_days=retention_days,
            ),
        ).bucket
        self.bucket.add_to_resource_policy(self._only_own_trails())
        self.trail = cloudtrail.Trail(
            self,
            "Trail",
            bucket=self.bucket,
            is_multi_region_trail=False,
            include_global_service_events=False,
            enable_file_validation=True,
            # Who changes what in the account is for the account's own trail: a second copy of it costs money.
            management_events=cloudtrail.ReadWriteType.NONE,
        )
        self.trail.add_s3_event_selector(
            [cloudtrail.S3EventSelector(bucket=bucket) for bucket in buckets],
            include_management_events=False,
        )
        acknowledge(
            self.trail,
            {
                "NIST.800.53.R5-CloudTrailCloudWatchLogsEnabled": _KEPT_IN_S3,
                "NIST.800.53.R5-CloudTrailEncryptionEnabled": _BUCKETS_KEY,
            },
        )
        skip_checkov(
            self.trail.node.default_child,
            {"CKV_AWS_35": _BUCKETS_KEY, "CKV_AWS_67": _ONE_REGION},
        )

    def _only_own_trails(self) -> iam.PolicyStatement:
        """Deny trails of other accounts, for which the CDK's own statements let CloudTrail write, too.

        Source: CloudTrail user guide, "Amazon S3 bucket policy for CloudTrail".
        """
        own = cdk.Stack.of(self).format_arn(service="cloudtrail", resource="trail", resource_name="*")
        return iam.PolicyStatement(
            sid="OwnTrailsOnly",
            effect=iam.Effect.DENY,
            principals=[iam.ServicePrincipal("cloudtrail.amazonaws.com")],
            actions=["s3:GetBucketAcl", "s3:PutObject"],
            resources=[self.bucket.bucket_arn, self.bucket.arn_for_objects("*")],
            conditions={"ArnNotLike": {"aws:SourceArn": own}},
        )
