"""Rules about who can reach the nodes."""

from collections.abc import Iterator

from slipway.assembly.cluster import Cluster, subnets
from slipway.assembly.sections import Section, UnknownValue
from slipway.config.problems import Finding, shown
from slipway.config.ranges import too_wide
from slipway.review.lint.registry import rule

_GUIDE = "https://docs.aws.amazon.com/parallelcluster/latest/ug"
_WORLD = "::/0"
_SESSION_MANAGER_POLICY = "AmazonSSMManagedInstanceCore"


def _is_world(allowed: str) -> bool:
    """Whether a range is everyone's, or one so wide that strangers are in it."""
    return allowed == _WORLD or bool(too_wide([allowed]))


@rule(
    Cluster.head_node,
    severity="error",
    reason="A public address puts slurmctld, NFS and SSH of the whole cluster within everybody's reach.",
    fix="Write `ElasticIp: false` and log in with AWS Systems Manager Session Manager.",
    source=f"{_GUIDE}/HeadNode-v3.html (ElasticIp)",
)
def head_node_without_elastic_ip(cluster: Cluster, head: Section) -> Iterator[Finding]:
    """The head node has no Elastic IP address."""
    address = head.section("Networking").written("ElasticIp")
    if address is not None and address.lower() != "false":
        yield head.finding(f"it gets a public address (ElasticIp is {shown(address)})", "Networking", "ElasticIp")


@rule(
    Cluster.nodes,
    severity="error",
    reason=(
        "Nodes of a public subnet stand in the internet; and EC2 gives nodes with several network interfaces, as all "
        "large Trainium types have, no public address, so they never reach the head node."
    ),
    fix="Name a private subnet whose default route leads to a NAT gateway, and no AssignPublicIp.",
    source=f"{_GUIDE}/network-configuration-v3.html; aws/aws-parallelcluster pull 7457",
)
def nodes_in_private_subnets(cluster: Cluster, node: Section) -> Iterator[Finding]:
    """All nodes stand in private subnets."""
    if node.section("Networking").flag("AssignPublicIp", default=False):
        yield node.finding("its nodes ask for public addresses", "Networking", "AssignPublicIp")
    for subnet in dict.fromkeys(subnets(node)):
        if cluster.context.subnet(subnet).public:
            yield node.finding(f"{subnet} is a public subnet", "Networking")


@rule(
    Cluster.head_node,
    severity="error",
    reason="Without AllowedIps, ParallelCluster opens port 22 to 0.0.0.0/0: it is scanned within minutes.",
    fix="Write the range of your network, or `AllowedIps: 127.0.0.1/32` when people come through Session Manager.",
    source=f"{_GUIDE}/HeadNode-v3.html (Ssh, AllowedIps)",
)
def ssh_closed_to_the_world(cluster: Cluster, head: Section) -> Iterator[Finding]:
    """SSH is open to named addresses only."""
    allowed = head.section("Ssh").text("AllowedIps")
    if allowed is None:
        yield head.finding("port 22 is open to 0.0.0.0/0, which is the default", "Ssh")
    elif _is_world(allowed):
        yield head.finding(f"port 22 is open to {allowed}", "Ssh", "AllowedIps")


@rule(
    Cluster.login_pools,
    severity="error",
    reason="A pool without AllowedIps takes the head node's; one with 0.0.0.0/0 is scanned within minutes.",
    fix="Write the range of your network, or remove the line to take the head node's.",
    source=f"{_GUIDE}/LoginNodes-v3.html (Ssh, AllowedIps)",
)
def login_nodes_closed_to_the_world(cluster: Cluster, pool: Section) -> Iterator[Finding]:
    """Login nodes are open to named addresses only."""
    allowed = pool.section("Ssh").text("AllowedIps")
    if allowed is not None and _is_world(allowed):
        yield pool.finding(f"port 22 is open to {allowed}", "Ssh", "AllowedIps")


@rule(
    Cluster.nodes,
    severity="error",
    reason="Without AllowedIps, ParallelCluster opens the remote desktop's port to 0.0.0.0/0.",
    fix="Write the range of your network as `AllowedIps` of Dcv, or switch Dcv off.",
    source=f"{_GUIDE}/HeadNode-v3.html (Dcv, AllowedIps)",
)
def remote_desktop_closed_to_the_world(cluster: Cluster, node: Section) -> Iterator[Finding]:
    """DCV is open to named addresses only."""
    dcv = node.section("Dcv")
    allowed = dcv.text("AllowedIps") or "0.0.0.0/0"
    if dcv.flag("Enabled", default=False) and _is_world(allowed):
        yield node.finding(f"the remote desktop is open to {allowed}", "Dcv")


@rule(
    Cluster.login_pools,
    severity="error",
    reason="ParallelCluster 3.15 removed the key: creation ends with an error of its schema.",
    fix="Remove the line: login nodes take the head node's key pair.",
    source="aws-parallelcluster 3.15.0, CHANGELOG",
)
def login_nodes_without_own_key(cluster: Cluster, pool: Section) -> Iterator[Finding]:
    """Login nodes name no key pair of their own."""
    if pool.section("Ssh").has("KeyName"):
        yield pool.finding("login nodes have no KeyName any more", "Ssh", "KeyName")


@rule(
    Cluster.head_node,
    severity="warning",
    reason="Without a policy for it Session Manager cannot reach the node; SSH with a key is then the only way in.",
    fix=(
        "Add a policy of your own to Iam.AdditionalIamPolicies: it allows `ssm:UpdateInstanceInformation` and "
        f"`ssmmessages:*`. AWS's own {_SESSION_MANAGER_POLICY} also reads every parameter of the account."
    ),
    source="https://docs.aws.amazon.com/systems-manager/latest/userguide/session-manager-getting-started-instance-profile.html",
)
def session_manager_reaches_head_node(cluster: Cluster, head: Section) -> Iterator[Finding]:
    """The head node may be reached with Session Manager."""
    iam = head.section("Iam")
    if iam.has("InstanceRole") or iam.has("InstanceProfile"):
        return
    policies = {policy.written("Policy") or "" for policy in iam.items("AdditionalIamPolicies")}
    if any(policy.endswith(f"/{_SESSION_MANAGER_POLICY}") for policy in policies):
        return
    known = cluster.context.session_policies
    if known is None and any(":aws:policy/" not in policy for policy in policies):
        raise UnknownValue("what the policies of the head node allow")
    if not policies.intersection(known or ()):
        yield head.finding("none of its policies lets Session Manager reach it", "Iam")


@rule(
    Cluster.whole,
    severity="error",
    reason="With IMDSv1 one request that a job is tricked into reads the node's credentials.",
    fix="Write `ImdsSupport: v2.0`.",
    source=f"{_GUIDE}/Imds-cluster-v3.html",
)
def instance_metadata_v2(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """All nodes take IMDSv2 requests only."""
    if root.section("Imds").text("ImdsSupport") == "v1.0":
        yield root.finding("IMDSv1 is allowed", "Imds", "ImdsSupport")


@rule(
    Cluster.head_node,
    severity="error",
    reason="Every user of the cluster could take the head node's role, which starts and ends instances.",
    fix="Write `Secured: true`, or remove the line.",
    source=f"{_GUIDE}/HeadNode-v3.html (Imds, Secured)",
)
def head_node_credentials_for_root_only(cluster: Cluster, head: Section) -> Iterator[Finding]:
    """Only root and ParallelCluster's users reach the metadata service of the head node."""
    if not head.section("Imds").flag("Secured", default=True):
        yield head.finding("every user of the head node reads its credentials", "Imds", "Secured")


@rule(
    Cluster.whole,
    severity="error",
    reason="A machine between node and directory can read the passwords of all users.",
    fix="Write an `ldaps://` address and `LdapTlsReqCert: hard`.",
    source=f"{_GUIDE}/DirectoryService-v3.html",
)
def directory_certificate_checked(cluster: Cluster, root: Section) -> Iterator[Finding]:
    """Nodes speak TLS with the directory of users and check its certificate."""
    directory = root.section("DirectoryService")
    if (directory.written("DomainAddr") or "").startswith("ldap://"):
        yield directory.finding("passwords cross the network in clear", "DomainAddr")
    if (directory.text("LdapTlsReqCert") or "hard") in ("never", "allow", "try"):
        yield directory.finding("the directory's certificate is not checked", "LdapTlsReqCert")
