"""The network stack: VPC, the bucket for access logs, the key of log groups."""

from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from neuron_constructs.buckets import PrivateBucket, PrivateBucketProps
from neuron_constructs.log_groups import LogKey
from neuron_constructs.network import Network, NetworkProps
from neuron_constructs.provided_functions import own_provided_functions
from slipway.config.environment import Environment
from slipway.config.existing import existing_key
from slipway_stacks.environment_stack import EnvironmentStack
from slipway_stacks.settings.lifetimes import keeps_file_system, log_retention, removal_policy


class NetworkStack(EnvironmentStack):
    """VPC, subnets, NAT, S3 gateway endpoint, flow logs, access-log bucket, the key of all stacks' log groups.

    Lifetime: the first to be created and the last to be destroyed; all other stacks stand in it. While it stands it
    costs the NAT gateways, their public addresses, the key and the logs. The log bucket is here, and not beside the
    buckets that it serves, because it must outlive them: while they are emptied they still write to it. With a
    persistent file system the VPC and the training subnet stay too, which cost nothing: it cannot be without them.
    """

    network: Network
    access_log_bucket: s3.Bucket
    log_key: kms.IKey

    def __init__(self, scope: Construct, environment: Environment) -> None:
        super().__init__(scope, "network", environment, description="Slipway: VPC, NAT, flow logs, access logs")
        spec = environment.network
        retention = log_retention(environment)
        self.network = Network(
            self,
            "Network",
            NetworkProps(
                cidr=spec.cidr,
                availability_zone_ids=(spec.training_availability_zone_id, *spec.other_availability_zone_ids),
                private_subnet_prefix_length=spec.private_subnet_prefix_length,
                public_subnet_prefix_length=spec.public_subnet_prefix_length,
                nat_gateways=spec.nat_gateways,
                log_retention=retention,
                kept_zone_id=spec.training_availability_zone_id if keeps_file_system(environment) else None,
            ),
        )
        self.access_log_bucket = PrivateBucket(
            self,
            "AccessLogs",
            PrivateBucketProps(
                removal_policy=removal_policy(environment.lifecycle),
                expiration_days=environment.operations.log_retention_days,
            ),
        ).bucket
        self.log_key = self._log_key(environment)
        own_provided_functions(self, retention=retention)

    def _log_key(self, environment: Environment) -> kms.IKey:
        """Return the account's own key, where there is one, or a key for log groups alone."""
        if environment.kms is None:
            return LogKey(self, "LogKey").key
        for key in existing_key(environment):
            self.use_existing(*key)
        return kms.Key.from_key_arn(self, "CustomerKey", environment.kms.key_arn)
