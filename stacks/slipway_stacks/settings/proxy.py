"""The environment file's proxy in the words of the constructs, with what every machine must reach without it."""

from neuron_constructs.proxy import Proxy
from slipway.config.environment import Environment
from slipway.config.network import vpc_cidr

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
# EC2 user guide, "Access instance metadata for an EC2 instance"; Amazon ECS developer guide, "Using an HTTP proxy for
# Amazon ECS Linux container instances"; Amazon EKS user guide, "EKS Pod Identity", considerations.
_METADATA = ("169.254.169.254", "fd00:ec2::254", "169.254.170.2", "169.254.170.23")
# AWS ParallelCluster guide, `Scheduling/SlurmSettings/Dns`: nodes have names in the domain CLUSTER.pcluster.
_CLUSTER_DOMAIN = ".pcluster"


def proxy_settings(environment: Environment) -> Proxy | None:
    """Return the proxy of the environment's machines; None where they reach the internet without one."""
    proxy = environment.network.proxy
    return Proxy(url=proxy.url, bypass=(*proxy_bypass(environment), *proxy.bypass)) if proxy else None


def proxy_bypass(environment: Environment) -> tuple[str, ...]:
    """Return what no machine reaches through the proxy: itself, its credentials, the VPC, S3.

    A name stands without a dot in front for the name alone and with one for all below it: programs differ in what they
    make of the other.
    """
    return (
        *_THIS_MACHINE,
        *_METADATA,
        vpc_cidr(environment.network),
        *_names_in_vpc(environment),
        *_endpoints(environment.region, isolated=environment.network.isolated),
    )


def _names_in_vpc(environment: Environment) -> tuple[str, ...]:
    """Return the domains of EC2 instances, of the cluster's nodes and of an internal endpoint's load balancer."""
    region = environment.region
    # Amazon VPC user guide, "DNS attributes for your VPC".
    instances = ".ec2.internal" if region == "us-east-1" else f".{region}.compute.internal"
    nodes = (_CLUSTER_DOMAIN,) if environment.training else ()
    internal = environment.inference is not None and not environment.has_public_endpoint
    # Elastic Load Balancing user guide, "Application Load Balancers": NAME.REGION.elb.amazonaws.com.
    return (instances, *nodes, *((f".{region}.elb.amazonaws.com",) if internal else ()))


def _endpoints(region: str, *, isolated: bool) -> tuple[str, ...]:
    """Return the names of AWS services that the VPC has endpoints for: S3, and in an isolated network all others.

    Amazon Linux has its package repositories below the dual-stack name (Amazon S3 user guide, "Using dual-stack
    endpoints"), which the gateway endpoint serves too.
    """
    s3 = (f"s3.{region}.amazonaws.com", f"s3.dualstack.{region}.amazonaws.com")
    others = (f".{region}.amazonaws.com",) if isolated else ()
    return (*(f"{dot}{name}" for name in s3 for dot in ("", ".")), *others)
