"""The network stack: VPC, the bucket for access logs, the key of log groups."""

from collections.abc import Iterator

from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from neuron_constructs.buckets import PrivateBucket, PrivateBucketProps
from neuron_constructs.log_groups import LogKey
from neuron_constructs.network import ExistingNetwork, ExistingNetworkProps, Network, NetworkProps
from neuron_constructs.provided_functions import own_provided_functions
from neuron_constructs.vpc_endpoints import VpcEndpoints, VpcEndpointsProps
from slipway.assembly import existing_network
from slipway.assembly.existing import ExistingResource
from slipway.config import network as network_spec
from slipway.config.environment import Environment
from slipway_stacks.environment_stack import EnvironmentStack
from slipway_stacks.settings.existing import existing_key
from slipway_stacks.settings.lifetimes import keeps_file_system, log_retention, removal_policy
from slipway_stacks.settings.vpc_endpoints import endpoint_zones, needed_endpoints, readable_buckets


class NetworkStack(EnvironmentStack):
    """VPC, subnets, NAT or VPC endpoints, flow logs, access-log bucket, the key of all stacks' log groups.

    Lifetime: the first to be created and the last to be destroyed; all other stacks stand in it. While it stands it
    costs the NAT gateways with their addresses, or the interface endpoints, the key and the logs. The log bucket is
    here, and not beside the buckets that it serves, because it must outlive them: while they are emptied they still
    write to it. With a persistent file system the VPC and the training subnet stay too, which cost nothing: it cannot
    be without them. The stack changes nothing in an existing VPC.
    """

    network: Network | ExistingNetwork
    access_log_bucket: s3.Bucket
    log_key: kms.IKey

    def __init__(self, scope: Construct, environment: Environment) -> None:
        super().__init__(scope, "network", environment, description="Slipway: VPC, NAT, flow logs, access logs")
        retention = log_retention(environment)
        existing = environment.network.existing
        self.network = self._existing_network(environment, existing) if existing else self._new_network(environment)
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
        """Return the customer-managed key, or else a key for log groups alone."""
        if environment.kms is None:
            return LogKey(self, "LogKey").key
        for key in existing_key(environment):
            self.use_existing(key)
        return kms.Key.from_key_arn(self, "CustomerKey", environment.kms.key_arn)

    def _new_network(self, environment: Environment) -> Network:
        spec = environment.network
        network = Network(
            self,
            "Network",
            NetworkProps(
                cidr=spec.cidr,
                availability_zone_ids=(spec.training_availability_zone_id, *spec.other_availability_zone_ids),
                private_subnet_prefix_length=spec.private_subnet_prefix_length,
                public_subnet_prefix_length=spec.public_subnet_prefix_length,
                nat_gateways=0 if spec.isolated else spec.nat_gateways,
                public_subnets=not spec.isolated or environment.has_public_endpoint,
                readable_buckets=readable_buckets(environment),
                log_retention=log_retention(environment),
                kept_zone_id=spec.training_availability_zone_id if keeps_file_system(environment) else None,
            ),
        )
        if spec.isolated:
            subnets = network.private_subnets
            VpcEndpoints(
                self,
                "Endpoints",
                VpcEndpointsProps(
                    vpc=network.vpc,
                    cidr=spec.cidr,
                    region=environment.region,
                    interface={
                        service: [subnets[zone] for zone in zone_ids]
                        for service, zone_ids in endpoint_zones(environment).items()
                    },
                    dynamodb="dynamodb" in {endpoint.service for endpoint in needed_endpoints(environment)},
                ),
            )
        return network

    def _existing_network(self, environment: Environment, existing: network_spec.ExistingNetwork) -> ExistingNetwork:
        """Use an existing VPC, and describe it in the template's metadata."""
        self.use_existing(ExistingResource("VPC", existing.vpc_id, "the network"))
        described = existing_network.ExistingNetwork(
            vpc_id=existing.vpc_id,
            cidr=existing.cidr,
            subnets=tuple(_described_subnets(environment, existing)),
            endpoints=needed_endpoints(environment) if environment.network.isolated else (),
        )
        for subnet in described.subnets:
            use = f"{'public' if subnet.public else 'private'}, {subnet.zone_id}"
            self.use_existing(ExistingResource("subnet", subnet.id, use))
        self.add_metadata(existing_network.NETWORK_METADATA, described.model_dump(mode="json"))
        return ExistingNetwork(
            self,
            "Network",
            ExistingNetworkProps(
                vpc_id=existing.vpc_id,
                cidr=existing.cidr,
                private_subnet_ids=_ids_by_zone(existing.private_subnets),
                public_subnet_ids=_ids_by_zone(existing.public_subnets),
            ),
        )


def _ids_by_zone(subnets: tuple[network_spec.ExistingSubnet, ...]) -> dict[str, str]:
    return {subnet.availability_zone_id: subnet.id for subnet in subnets}


def _described_subnets(
    environment: Environment, existing: network_spec.ExistingNetwork
) -> Iterator[existing_network.ExistingSubnet]:
    """Yield the subnets for the template's metadata."""
    for public, subnets in ((False, existing.private_subnets), (True, existing.public_subnets)):
        for subnet in subnets:
            zone_id = subnet.availability_zone_id
            training = not public and zone_id == environment.network.training_availability_zone_id
            yield existing_network.ExistingSubnet(id=subnet.id, zone_id=zone_id, public=public, training=training)
