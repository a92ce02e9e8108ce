"""The VPC, new or existing: public and private subnets in availability zones that are named by id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct, IConstruct

from neuron_constructs.acknowledgements import acknowledge
from neuron_constructs.log_groups import stack_log_group
from neuron_constructs.service_principals import bind_to_this_account


@dataclass(frozen=True, kw_only=True)
class NetworkProps:
    """Properties of a `Network`."""

    cidr: str
    """IPv4 range of the VPC, for example `10.40.0.0/16`."""

    availability_zone_ids: tuple[str, ...]
    """Availability zone ids, two or more; NAT gateways are placed in this order, so the busiest zone comes first."""

    private_subnet_prefix_length: int
    """Prefix length of each private subnet."""

    public_subnet_prefix_length: int
    """Prefix length of each public subnet."""

    nat_gateways: int
    """How many NAT gateways. With 0 no machine in a private subnet reaches the internet."""

    public_subnets: bool = True
    """Whether there are public subnets, for NAT gateways and a public load balancer, and an internet gateway. The
    private subnets' ranges are the same without them."""

    readable_buckets: Sequence[str] | None = None
    """Names of the buckets of other accounts that can be read through the S3 endpoint; None for all."""

    log_retention: logs.RetentionDays
    """How long flow logs are kept."""

    kept_zone_id: str | None = None
    """Zone id whose private subnet stays, with the VPC, when the stack is destroyed: that of a file system that stays,
    whose network interfaces would keep AWS from deleting them."""


@dataclass(frozen=True, kw_only=True)
class ExistingNetworkProps:
    """Properties of an `ExistingNetwork`."""

    vpc_id: str
    """Id of the VPC."""

    cidr: str
    """IPv4 range of the VPC, for example `10.40.0.0/16`."""

    private_subnet_ids: Mapping[str, str]
    """One private subnet for each zone, by availability zone id."""

    public_subnet_ids: Mapping[str, str]
    """One public subnet for each zone, by availability zone id. Empty without a public endpoint."""


class ExistingNetwork(Construct):
    """An existing VPC, with the interface of `Network`. It adds no resource and changes nothing in the VPC."""

    vpc: ec2.IVpc
    private_subnets: Mapping[str, ec2.ISubnet]
    public_subnets: Mapping[str, ec2.ISubnet]
    nat_gateway_ids: Sequence[str] = ()
    """Always empty: the owner of the VPC watches its NAT gateways."""

    def __init__(self, scope: Construct, id: str, props: ExistingNetworkProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        zone_ids = list(props.private_subnet_ids)
        self.vpc = ec2.Vpc.from_vpc_attributes(
            self,
            "Vpc",
            vpc_id=props.vpc_id,
            vpc_cidr_block=props.cidr,
            # The CDK wants names; nothing here asks for them, and a name means another building in every account.
            availability_zones=zone_ids,
            private_subnet_ids=list(props.private_subnet_ids.values()),
            public_subnet_ids=[props.public_subnet_ids[zone] for zone in zone_ids] if props.public_subnet_ids else None,
        )
        # Nothing here asks for their route tables.
        cdk.Annotations.of(self.vpc).acknowledge_warning("@aws-cdk/aws-ec2:noSubnetRouteTableId")
        self.private_subnets = dict(zip(zone_ids, self.vpc.private_subnets, strict=True))
        self.public_subnets = (
            dict(zip(zone_ids, self.vpc.public_subnets, strict=True)) if props.public_subnet_ids else {}
        )


class Network(Construct):
    """A VPC whose private subnets reach the internet through NAT, if there is any, and S3 without it.

    Through the S3 endpoint everything can be read that the caller's own permissions let it read, unless
    `readable_buckets` names less, and objects can be written into buckets of this account only. It covers the Region's
    S3; NAT still leads to everything else.
    """

    vpc: ec2.Vpc

    def __init__(self, scope: Construct, id: str, props: NetworkProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self._zone_ids = props.availability_zone_ids
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(props.cidr),
            availability_zones=list(props.availability_zone_ids),
            nat_gateways=props.nat_gateways,
            subnet_configuration=[
                # No automatic public addresses: EC2 refuses them on nodes with several network cards.
                ec2.SubnetConfiguration(
                    name="Public",
                    subnet_type=ec2.SubnetType.PUBLIC,
                    cidr_mask=props.public_subnet_prefix_length,
                    map_public_ip_on_launch=False,
                    reserved=not props.public_subnets,
                ),
                ec2.SubnetConfiguration(
                    name="Private",
                    subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS
                    if props.nat_gateways
                    else ec2.SubnetType.PRIVATE_ISOLATED,
                    cidr_mask=props.private_subnet_prefix_length,
                ),
            ],
            # Checkpoints and models must not pass through NAT, which charges by the gigabyte.
            gateway_endpoints={
                "S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3),
            },
            restrict_default_security_group=True,
        )
        self._bind_s3(props.readable_buckets)
        self._name_zones_by_id()
        self._log_flows(props.log_retention)
        if props.kept_zone_id:
            self._keep(self.vpc, self.private_subnets[props.kept_zone_id])
        for subnet in self.vpc.public_subnets:
            acknowledge(
                subnet.node.find_child("DefaultRoute"),
                {
                    "NIST.800.53.R5-VPCNoUnrestrictedRouteToIGW": "Public subnets hold only NAT gateways and, when it "
                    "is asked for, a public load balancer; both need the route to the internet gateway."
                },
            )

    @property
    def nat_gateway_ids(self) -> Sequence[str]:
        """Ids of the NAT gateways."""
        gateways = [child for child in self.vpc.node.find_all() if isinstance(child, ec2.CfnNatGateway)]
        return [gateway.ref for gateway in gateways]

    @property
    def private_subnets(self) -> Mapping[str, ec2.ISubnet]:
        """The private subnets by availability zone id."""
        return dict(zip(self._zone_ids, self.vpc.private_subnets or self.vpc.isolated_subnets, strict=True))

    @property
    def public_subnets(self) -> Mapping[str, ec2.ISubnet]:
        """The public subnets by availability zone id. Empty without any."""
        return dict(zip(self._zone_ids, self.vpc.public_subnets, strict=True)) if self.vpc.public_subnets else {}

    def _bind_s3(self, readable_buckets: Sequence[str] | None) -> None:
        """Let the endpoint carry reads from these buckets or from all, and all else to buckets of this account.

        Reads cannot be bound to accounts: the repositories of Amazon Linux, the Lustre client, Systems Manager and
        aws-parallelcluster and the layers of Amazon ECR are in buckets of AWS. A head node tells CloudFormation that
        it is ready by writing into a bucket of AWS (AWS ParallelCluster guide, "AWS ParallelCluster in a single subnet
        with no internet access").
        """
        endpoint = self.vpc.node.find_child("S3")
        assert isinstance(endpoint, ec2.GatewayVpcEndpoint)
        signals = f"arn:{cdk.Aws.PARTITION}:s3:::cloudformation-waitcondition-{cdk.Aws.REGION}/*"
        own = {"StringEquals": {"aws:ResourceAccount": cdk.Aws.ACCOUNT_ID}}
        for statement in (
            iam.PolicyStatement(sid="Read", actions=["s3:Get*", "s3:List*"], resources=_readable(readable_buckets)),
            iam.PolicyStatement(sid="Own", actions=["s3:*"], resources=["*"], conditions=own),
            iam.PolicyStatement(sid="Signal", actions=["s3:PutObject"], resources=[signals]),
        ):
            statement.add_principals(iam.StarPrincipal())
            endpoint.add_to_policy(statement)

    def _name_zones_by_id(self) -> None:
        """Replace zone names by zone ids: a name means another building in every account, an id does not."""
        for subnets in (self.private_subnets, self.public_subnets):
            for zone_id, subnet in subnets.items():
                resource = subnet.node.default_child
                assert isinstance(resource, ec2.CfnSubnet)
                # Escape hatch: the L2 Vpc knows zone names only.
                resource.availability_zone = None
                resource.availability_zone_id = zone_id

    def _keep(self, *constructs: IConstruct) -> None:
        for construct in constructs:
            resource = construct.node.default_child
            assert isinstance(resource, cdk.CfnResource)
            resource.apply_removal_policy(cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)

    def _log_flows(self, retention: logs.RetentionDays) -> None:
        group = stack_log_group(self, "FlowLogGroup", retention=retention)
        flow_log = self.vpc.add_flow_log("FlowLog", destination=ec2.FlowLogDestination.to_cloud_watch_logs(group))
        role = flow_log.node.find_child("IAMRole")
        assert isinstance(role, iam.Role)
        bind_to_this_account(role)
        acknowledge(
            flow_log,
            {
                "NIST.800.53.R5-IAMNoInlinePolicy": "The role and its one policy live and die with the flow log; it "
                "may write to this log group only."
            },
        )


def _readable(buckets: Sequence[str] | None) -> list[str]:
    """Return the resources of a statement that allows reading."""
    if buckets is None:
        return ["*"]
    return [f"arn:{cdk.Aws.PARTITION}:s3:::{name}{end}" for name in buckets for end in ("", "/*")]
