"""Order: what must be created before something else, and so is deleted after it."""

from __future__ import annotations

from collections.abc import Iterator

from slipway.review.changes.references import references
from slipway.review.changes.resources import Resource
from slipway.review.wiring.interfaces import CLUSTER
from slipway.review.wiring.kubernetes import is_administrator
from slipway.review.wiring.kubernetes_objects import CHART, MANIFEST, NODE_GROUP
from slipway.review.wiring.registry import Finding, about, rule
from slipway.review.wiring.resources import Resources, refers_to, rows, texts
from slipway.review.wiring.serving import SERVICE

_ATTACHMENT = "AWS::EC2::VPCGatewayAttachment"
_LISTENERS = ("AWS::ElasticLoadBalancingV2::Listener", "AWS::ElasticLoadBalancingV2::ListenerRule")
_KINDS_OF_CHARTS = {"kueue": "kueue.x-k8s.io", "jobset": "jobset.x-k8s.io"}


class Order:
    """The order of creation: a resource waits for what it refers to, and for what its `DependsOn` names."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._declared = {
            f"{stack.name}/{logical_id}": [f"{stack.name}/{name}" for name in _names(row.get("DependsOn"))]
            for stack in resources.stacks
            for logical_id, row in stack.template.get("Resources", {}).items()
        }

    def before(self, resource: Resource) -> set[str]:
        """Return the `stack/logical id` of everything that is created before a resource."""
        found: set[str] = set()
        left = [resource.key]
        while left:
            key = left.pop()
            referred = self._resources.by_key.get(key)
            names = [name for name, _ in references(referred.properties)] if referred else []
            new = {*self._declared.get(key, ()), *names} - found
            found |= new
            left += new
        return found


def _names(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


@rule(
    reason="EC2 refuses a route or a NAT gateway until the internet gateway is attached to the VPC.",
    fix="Add the VPCGatewayAttachment to `DependsOn`.",
    source='AWS CloudFormation user guide, "DependsOn attribute", VPC-gateway attachment',
)
def what_needs_a_gateway_waits_for_its_attachment(resources: Resources) -> Iterator[Finding]:
    """Routes to an internet gateway and NAT gateways depend on the gateway's attachment."""
    order = Order(resources)
    attachments = {str(each.at("InternetGatewayId")): each for each in resources.of_type(_ATTACHMENT)}
    vpcs = {str(each.at("VpcId")): each for each in resources.of_type(_ATTACHMENT) if each.at("InternetGatewayId")}
    for route in resources.of_type("AWS::EC2::Route"):
        attachment = attachments.get(str(route.at("GatewayId")))
        if attachment and attachment.stack == route.stack and attachment.key not in order.before(route):
            yield about(route, "", f"it does not depend on {attachment.logical_id}")
    for gateway in resources.of_type("AWS::EC2::NatGateway"):
        subnet = resources.resource(gateway.at("SubnetId"), "AWS::EC2::Subnet")
        attachment = vpcs.get(str(subnet.at("VpcId"))) if subnet else None
        is_beside = attachment and attachment.stack == gateway.stack and gateway.at("ConnectivityType") != "private"
        if attachment and is_beside and attachment.key not in order.before(gateway):
            yield about(gateway, "", f"it does not depend on {attachment.logical_id}")


@rule(
    reason="ECS refuses a service whose target group has no load balancer yet: the stack fails from time to time.",
    fix="Add the listener, or the listener's rule that forwards to the target group, to `DependsOn`.",
    source='Amazon ECS developer guide, "Use load balancing to distribute Amazon ECS service traffic"',
)
def service_waits_for_its_listener(resources: Resources) -> Iterator[Finding]:
    """An ECS service depends on a listener or listener rule that forwards to its target group."""
    order = Order(resources)
    for service in resources.of_type(SERVICE):
        for index, balancer in enumerate(rows(service.at("LoadBalancers"))):
            group = resources.resource(balancer.get("TargetGroupArn"), "AWS::ElasticLoadBalancingV2::TargetGroup")
            forwards = {
                each.key
                for each in resources.of_type(*_LISTENERS)
                if group and each.stack == service.stack and refers_to(each, group)
            }
            if forwards and not forwards & order.before(service):
                yield about(
                    service,
                    f"LoadBalancers.{index}",
                    "it does not depend on a listener that forwards to its target group",
                )


@rule(
    reason="Otherwise the policy is deleted first: the bucket cannot be emptied, and S3 refuses to delete it.",
    fix="Add the bucket's policy to `DependsOn` of the custom resource that empties the bucket.",
    source="aws/aws-cdk, packages/aws-cdk-lib/aws-s3/lib/bucket.ts, enableAutoDeleteObjects",
)
def bucket_is_emptied_before_its_policy_goes(resources: Resources) -> Iterator[Finding]:
    """The custom resource that empties a bucket depends on the bucket's policy."""
    order = Order(resources)
    policies = {str(each.at("Bucket")): each for each in resources.of_type("AWS::S3::BucketPolicy")}
    for emptier in resources.of_type("Custom::S3AutoDeleteObjects"):
        policy = policies.get(str(emptier.at("BucketName")))
        if policy and policy.key not in order.before(emptier):
            yield about(emptier, "BucketName", f"it does not depend on {policy.logical_id}")


@rule(
    reason="Without the access entry the API server refuses kubectl: at the start, or at the end, when the entry goes "
    "before the objects.",
    fix="Let the manifests and charts depend on the access entry of the role that applies them.",
    source='Amazon EKS user guide, "Grant IAM users access to Kubernetes with EKS access entries"',
)
def kubernetes_objects_wait_for_access(resources: Resources) -> Iterator[Finding]:
    """Manifests and charts depend on an administrator's access entry, if the stacks have one for the cluster."""
    order = Order(resources)
    entries = [each for each in resources.of_type("AWS::EKS::AccessEntry") if is_administrator(each)]
    for applied in resources.of_type(MANIFEST, CHART):
        own = {
            each.key
            for each in entries
            if each.at("ClusterName") == applied.at("ClusterName") and each.stack == applied.stack
        }
        if own and not own & order.before(applied):
            yield about(applied, "ClusterName", "it does not depend on an administrator's access entry")


@rule(
    severity="warning",
    reason="Pod Identity gives credentials to pods that start after the association: earlier ones have none until they "
    "restart.",
    fix="Let the chart or manifest depend on the association.",
    source='Amazon EKS user guide, "Learn how EKS Pod Identity grants pods access to AWS services"',
)
def pods_wait_for_their_identity(resources: Resources) -> Iterator[Finding]:
    """Charts and manifests that use a service account with a Pod Identity depend on the association."""
    order = Order(resources)
    for association in resources.of_type("AWS::EKS::PodIdentityAssociation"):
        account, namespace = (str(association.at(part)) for part in ("ServiceAccount", "Namespace"))
        for applied in resources.of_type(MANIFEST, CHART):
            text = str(applied.at("Manifest") or applied.at("Values") or "")
            in_chart = applied.at("Namespace") == namespace and f'"name":"{account}"' in text
            in_pods = f'"serviceAccountName":"{account}"' in text and f'"namespace":"{namespace}"' in text
            is_beside = applied.stack == association.stack and applied.at("ClusterName") == association.at(
                "ClusterName"
            )
            if (in_chart or in_pods) and is_beside and association.key not in order.before(applied):
                yield about(applied, "", f"it does not depend on {association.logical_id}")


@rule(
    reason="Nodes without network add-ons never become ready: the node group fails.",
    fix="Let the node groups depend on the add-ons vpc-cni and kube-proxy.",
    source='Amazon EKS user guide, "Create a managed node group for your cluster", prerequisites',
)
def nodes_wait_for_their_network(resources: Resources) -> Iterator[Finding]:
    """Node groups depend on vpc-cni and kube-proxy, unless EKS installs these with the cluster."""
    order = Order(resources)
    for group in resources.of_type(NODE_GROUP):
        before = order.before(group)
        cluster = resources.resource(group.at("ClusterName"), "AWS::EKS::Cluster")
        # Otherwise EKS installs both with the cluster.
        is_bare = cluster and cluster.at("BootstrapSelfManagedAddons") is False
        for add_on in resources.of_type("AWS::EKS::Addon") if is_bare else ():
            is_own = add_on.stack == group.stack and add_on.at("ClusterName") == group.at("ClusterName")
            if is_own and add_on.at("AddonName") in ("vpc-cni", "kube-proxy") and add_on.key not in before:
                yield about(group, "", f"it does not depend on {add_on.logical_id}")


@rule(
    severity="warning",
    reason="It can start before its files are in the bucket, or with old ones.",
    fix="Let it depend on the `BucketDeployment`.",
    source="aws/aws-cdk, packages/aws-cdk-lib/aws-s3-deployment/README.md",
)
def what_reads_files_waits_for_their_upload(resources: Resources) -> Iterator[Finding]:
    """Clusters, Auto Scaling groups and services depend on the CDK's deployment of files to a bucket that they name."""
    order = Order(resources)
    for upload in resources.of_type("Custom::CDKBucketDeployment"):
        bucket = {key for key, _ in references(upload.at("DestinationBucketName"))}
        for reader in resources.of_type(CLUSTER, "AWS::AutoScaling::AutoScalingGroup", SERVICE):
            named = {key for key, _ in references(reader.properties)}
            if reader.stack == upload.stack and bucket & named and upload.key not in order.before(reader):
                yield about(reader, "", f"it does not depend on {upload.logical_id}")


@rule(
    reason="EKS creates the log group itself, without retention and key, and this or the next deployment fails.",
    fix="Let the cluster depend on the log group.",
    source='Amazon EKS user guide, "Send control plane logs to CloudWatch Logs"',
)
def cluster_waits_for_its_log_group(resources: Resources) -> Iterator[Finding]:
    """An EKS cluster depends on the log group that the stack creates for its control plane."""
    order = Order(resources)
    for cluster in resources.of_type("AWS::EKS::Cluster"):
        name = f"/aws/eks/{cluster.at('Name')}/cluster"
        for group in resources.of_type("AWS::Logs::LogGroup"):
            is_own = group.at("LogGroupName") == name and group.stack == cluster.stack
            if is_own and group.key not in order.before(cluster):
                yield about(cluster, "", f"it does not depend on {group.logical_id}")


@rule(
    reason="The API server may not know the kind yet: the stack fails from time to time.",
    fix="Let the manifest depend on the chart.",
    source="https://kueue.sigs.k8s.io/docs/installation/; https://jobset.sigs.k8s.io/docs/installation/",
)
def objects_wait_for_their_kinds(resources: Resources) -> Iterator[Finding]:
    """Objects of Kueue and JobSet depend on the chart that defines their kinds, if the stacks have it."""
    order = Order(resources)
    for chart in resources.of_type(CHART):
        group = _KINDS_OF_CHARTS.get(str(chart.at("Chart")))
        for manifest in resources.of_type(MANIFEST) if group else ():
            is_beside = manifest.stack == chart.stack and manifest.at("ClusterName") == chart.at("ClusterName")
            named = f'"apiVersion":"{group}/' in str(manifest.at("Manifest"))
            if is_beside and named and chart.key not in order.before(manifest):
                yield about(manifest, "", f"it does not depend on {chart.logical_id}")


@rule(
    reason="ECS refuses the service, or its capacity provider is taken away before its tasks have stopped.",
    fix="Add the `ClusterCapacityProviderAssociations` to `DependsOn` of the service.",
    source="Amazon ECS API reference, CreateService, capacityProviderStrategy; aws/containers-roadmap issue 631, "
    "comment of 2021-04-09",
)
def service_waits_for_its_capacity(resources: Resources) -> Iterator[Finding]:
    """A service with a capacity provider depends on the provider's association with the cluster."""
    order = Order(resources)
    for service in resources.of_type(SERVICE):
        providers = {str(row.get("CapacityProvider")) for row in rows(service.at("CapacityProviderStrategy"))}
        for association in resources.of_type("AWS::ECS::ClusterCapacityProviderAssociations"):
            named = providers & set(texts(association.at("CapacityProviders")))
            if named and association.stack == service.stack and association.key not in order.before(service):
                yield about(service, "CapacityProviderStrategy", f"it does not depend on {association.logical_id}")
