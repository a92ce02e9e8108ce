"""Security groups and routes allow every connection that an environment needs."""

from collections.abc import Iterator

from slipway.review.changes.permissions.security_groups import EVERYBODY
from slipway.review.changes.references import references
from slipway.review.changes.resources import Resource
from slipway.review.wiring.connections import Connections, Ports
from slipway.review.wiring.interfaces import FUNCTION, LOAD_BALANCER, Attached
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, rows
from slipway.review.wiring.routes import SUBNET

_SECURITY_GROUPS = 'Amazon VPC user guide, "Control traffic to your AWS resources using security groups"'
_BALANCER_GROUPS = 'Elastic Load Balancing user guide, "Security groups for your Application Load Balancer"'
_HTTPS = Ports("tcp", 443, 443)
_TARGETS, _LISTENER = "AWS::ElasticLoadBalancingV2::TargetGroup", "AWS::ElasticLoadBalancingV2::Listener"
_LISTENER_RULE = "AWS::ElasticLoadBalancingV2::ListenerRule"


@rule(
    reason="The connection is dropped silently: a mount hangs until it times out, and the node is replaced.",
    fix="Add an egress rule to the client's security group, and an ingress rule to the server's.",
    source=f"{_SECURITY_GROUPS}; ports: facts of file systems and database engines",
)
def named_service_is_reached(resources: Resources) -> Iterator[Finding]:
    """What refers to a file system, a database or a control plane can connect to it, and it to its clients."""
    connections = Connections(resources)
    for service in connections.services():
        clients = [each for each in connections.attached if each is not service.target and _names(each, service.names)]
        listeners = [service.target, *(client for client in clients if client.resource.type != FUNCTION)]
        for client in clients:
            for ports in service.ports:
                yield from _closed(connections, client, service.target, ports)
        for listener in listeners:
            for ports in service.calls:
                yield from _closed(connections, service.target, listener, ports)


def _names(each: Attached, keys: frozenset[str]) -> bool:
    return any(key in keys for key, _ in references(each.definition))


def _closed(connections: Connections, begins: Attached, ends: Attached, ports: Ports) -> Iterator[Finding]:
    if not connections.lets("out", begins, ends, ports):
        yield about(begins.resource, begins.path, f"no rule lets {begins} out to {ends} on {ports}")
    if not connections.lets("in", ends, begins, ports):
        yield about(ends.resource, ends.path, f"no rule lets {begins} in to {ends} on {ports}")


@rule(
    reason="Health checks fail: the service replaces its tasks without end, and clients get 502 and 504.",
    fix="Let the load balancer out to the targets' port, and in on the other side.",
    source=_BALANCER_GROUPS,
)
def target_is_reached(resources: Resources) -> Iterator[Finding]:
    """A load balancer reaches what is behind it at the port of requests and of health checks."""
    connections = Connections(resources)
    by_key = {each.resource.key: each for each in connections.attached}
    for service in resources.of_type("AWS::ECS::Service"):
        for row in rows(service.at("LoadBalancers")):
            targets = resources.resource(row.get("TargetGroupArn"), _TARGETS)
            ends = by_key.get(service.key)
            if targets is None or ends is None:
                continue
            written = (row.get("ContainerPort"), targets.at("HealthCheckPort"))
            ports = {port for each in written if (port := _number(each))}
            for balancer in _balancers(resources, targets):
                # Without subnets in the template, nothing is known of its addresses.
                if begins := by_key.get(balancer.key):
                    for port in ports:
                        yield from _closed(connections, begins, ends, Ports("tcp", port, port))


def _balancers(resources: Resources, targets: Resource) -> Iterator[Resource]:
    """Yield the load balancers of which a listener, or a rule of one, forwards to a target group."""
    found: dict[str, Resource] = {}
    for one in resources.of_type(_LISTENER, _LISTENER_RULE):
        if any(key == targets.key for key, _ in references([one.at("DefaultActions"), one.at("Actions")])):
            listener = one if one.type == _LISTENER else resources.resource(one.at("ListenerArn"), _LISTENER)
            balancer = resources.resource(listener.at("LoadBalancerArn"), LOAD_BALANCER) if listener else None
            found |= {balancer.key: balancer} if balancer else {}
    yield from found.values()


@rule(
    reason="Clients time out. Nothing in the account's logs or metrics says so.",
    fix="Let clients in on the listener's port, or remove the listener.",
    source=_BALANCER_GROUPS,
)
def listener_lets_clients_in(resources: Resources) -> Iterator[Finding]:
    """A load balancer's security groups let clients in on the port of each listener."""
    connections = Connections(resources)
    for each in connections.attached:
        for ports in _listeners(resources, each.resource):
            if each.groups and not any(connections.listens(group, ports) for group in each.groups):
                yield about(each.resource, each.path, f"no rule lets anyone in on {ports}, where a listener is")


@rule(
    severity="warning",
    reason="Nothing answers there. Often the rule was made for a listener with another port.",
    fix="Write the port of a listener, or remove the rule.",
    source=_BALANCER_GROUPS,
)
def ingress_rule_has_a_listener(resources: Resources) -> Iterator[Finding]:
    """A load balancer has a listener on each port on which its security groups let clients in."""
    connections = Connections(resources)
    for each in connections.attached:
        listeners = list(_listeners(resources, each.resource))
        for group in each.groups if listeners else ():
            if unused := connections.ports_without_listener(group, listeners):
                yield about(each.resource, each.path, f"a rule lets clients in on {unused}, where no listener is")


def _listeners(resources: Resources, balancer: Resource) -> Iterator[Ports]:
    for listener in resources.of_type(_LISTENER):
        port = _number(listener.at("Port"))
        if port and resources.resource(listener.at("LoadBalancerArn"), LOAD_BALANCER) is balancer:
            yield Ports("udp" if listener.at("Protocol") == "UDP" else "tcp", port, port)


@rule(
    reason="EFA traffic is not IP: only a rule with the group itself as peer lets it through. Training hangs at its "
    "first collective operation.",
    fix="Allow all traffic to and from the group itself.",
    source='Amazon EC2 user guide, "Get started with EFA and MPI", step 1: prepare an EFA-enabled security group',
)
def efa_group_trusts_itself(resources: Resources) -> Iterator[Finding]:
    """Nodes with EFA have a security group that allows all traffic between its own members."""
    connections = Connections(resources)
    for each in connections.attached:
        if each.uses_efa and not any(
            connections.has_rule_for_itself(group, "in") and connections.has_rule_for_itself(group, "out")
            for group in each.groups
        ):
            yield about(each.resource, each.path, f"no security group of {each} trusts itself in both directions")


@rule(
    reason="A host that cannot reach AWS's services never joins its cluster, and is billed until it is replaced.",
    fix="Route the subnet to a NAT gateway or give it VPC endpoints, and let HTTPS out.",
    source='Amazon VPC user guide, "NAT gateways"; AWS PrivateLink guide, "Access AWS services"',
)
def host_reaches_aws(resources: Resources) -> Iterator[Finding]:
    """What runs code in the VPC reaches AWS's services by HTTPS: through NAT, or VPC endpoints that let it in."""
    connections = Connections(resources)
    all_endpoints = [each for each in connections.attached if each.resource.type == "AWS::EC2::VPCEndpoint"]
    for each in connections.attached:
        if not each.runs_code:
            continue
        own = [found for subnet in each.subnets if (found := connections.routes.subnet(subnet))]
        closed = [found for found in own if not connections.routes.reaches_the_internet(found)]
        vpcs = [subnet.at("VpcId") for subnet in own]
        endpoints = [endpoint for endpoint in all_endpoints if endpoint.resource.at("VpcId") in vpcs]
        # A function may need none of AWS's services.
        if closed and not endpoints and each.resource.type != FUNCTION:
            names = ", ".join(subnet.logical_id for subnet in closed)
            yield about(each.resource, "", f"{each} is in {names}, from where no route leads to the internet")
        if not closed and not _lets_out_everywhere(connections, each):
            yield about(each.resource, each.path, f"no rule lets {each} out to AWS's services on {_HTTPS}")
        for endpoint in endpoints if closed else ():
            yield from _closed(connections, each, endpoint, _HTTPS)


def _lets_out_everywhere(connections: Connections, each: Attached) -> bool:
    everywhere = Attached(each.resource, "", "", (), (EVERYBODY,), None)
    return connections.lets("out", each, everywhere, _HTTPS)


@rule(
    severity="warning",
    reason="Its data goes through NAT, which bills each GB; without NAT nothing reaches it at all.",
    fix="Add the subnet's route table to the gateway endpoint.",
    source='AWS PrivateLink guide, "Gateway endpoints"',
)
def host_uses_gateway_endpoints(resources: Resources) -> Iterator[Finding]:
    """What runs code in a subnet of the stacks reaches S3, and each service with a gateway endpoint, through one."""
    connections = Connections(resources)
    gateways = {
        "s3",
        *(name for subnet in resources.of_type(SUBNET) for name in connections.routes.gateway_endpoints(subnet)),
    }
    for each in connections.attached:
        own = [found for subnet in each.subnets if (found := connections.routes.subnet(subnet))]
        for subnet in own if each.runs_code else ():
            for name in sorted(gateways - connections.routes.gateway_endpoints(subnet)):
                yield about(subnet, "", f"its route table has no gateway endpoint of {name}, and {each} is in it")


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()) else None
