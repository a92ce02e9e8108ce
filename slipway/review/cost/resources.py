"""How much of what a resource bills, read from its properties."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from slipway.assembly.stacks import CLUSTER_TYPE
from slipway.review.cost.bill import Bill

Properties = Mapping[str, Any]

Measure = Callable[[Properties], Iterable[Bill]]

_HEAD_NODE_ALARMS = 4
"""Health, processors, memory and disk; one more looks for a heartbeat in the log (ParallelCluster 3.16.1,
cluster_stack.py)."""


def _file_system(properties: Properties) -> Iterable[Bill]:
    capacity = properties["StorageCapacity"]
    if lustre := properties.get("LustreConfiguration"):
        tier = lustre["PerUnitStorageThroughput"]
        item = f"lustre_{lustre['DeploymentType'].lower()}_{tier}_gb_month"
        yield Bill(f"FSx for Lustre, {capacity} GiB at {tier} MB/s/TiB", item, capacity)
        return
    open_zfs = properties["OpenZFSConfiguration"]
    kind, throughput = open_zfs["DeploymentType"].lower(), open_zfs["ThroughputCapacity"]
    yield Bill(f"FSx for OpenZFS, {capacity} GiB", f"open_zfs_{kind}_gb_month", capacity)
    yield Bill(f"FSx for OpenZFS, {throughput} MB/s", f"open_zfs_{kind}_mbps_month", throughput)


def _database(properties: Properties) -> Iterable[Bill]:
    servers = 2 if properties.get("MultiAZ") else 1
    instance, storage = properties["DBInstanceClass"], int(properties["AllocatedStorage"])
    yield Bill(f"accounting database, {instance}", instance, servers)
    yield Bill(f"accounting database, {storage} GiB gp3", "rds_gp3_gb_month", servers * storage)


def _endpoint(properties: Properties) -> Iterable[Bill]:
    if properties.get("VpcEndpointType") == "Interface":
        yield Bill("interface endpoint in a zone", "interface_endpoint_hour", len(properties["SubnetIds"]))


def _load_balancer(properties: Properties) -> Iterable[Bill]:
    yield Bill("load balancer", "load_balancer_hour")
    if properties.get("Scheme", "internet-facing") == "internet-facing":
        yield Bill("public IPv4 addresses of the load balancer", "public_ipv4_hour", len(properties["Subnets"]))


def _web_acl(properties: Properties) -> Iterable[Bill]:
    yield Bill("web application firewall", "waf_acl_month")
    yield Bill("rules of the web application firewall", "waf_rule_month", len(properties["Rules"]))


def _alarm(properties: Properties) -> Iterable[Bill]:
    # A query that selects metrics has none of its own here; it bills each that it finds, at least one.
    metrics = sum("MetricStat" in metric for metric in properties.get("Metrics", ()))
    yield Bill("alarms, by the metrics they look at", "cloudwatch_alarm_metric_month", max(metrics, 1))


def _user_pool_client(properties: Properties) -> Iterable[Bill]:
    if "client_credentials" in properties.get("AllowedOAuthFlows", ()):
        yield Bill("app client for machines", "cognito_machine_client_month")


def _nested_stack(properties: Properties) -> Iterable[Bill]:
    if "/custom_resource/cluster.yaml" not in str(properties["TemplateURL"]):
        yield Bill("nested stack", None, note="its template is not looked into")


def _cluster(properties: Properties) -> Iterable[Bill]:
    configuration = properties["ClusterConfiguration"]
    for storage in configuration.get("SharedStorage", ()):
        if settings := storage.get("EbsSettings"):
            what = f"volume of {storage['MountDir']}, {settings['Size']} GiB {settings['VolumeType']}"
            yield Bill(what, f"{settings['VolumeType']}_gb_month", settings["Size"])
    for pool in configuration.get("LoginNodes", {}).get("Pools", ()):
        yield Bill(f"network load balancer of login nodes, {pool['Name']}", "load_balancer_hour")
    if not configuration["Scheduling"]["SlurmSettings"].get("Dns", {}).get("DisableManagedDns"):
        yield Bill("private hosted zone of the cluster", "hosted_zone_month")
    monitoring = configuration["Monitoring"]
    if monitoring["Dashboards"]["CloudWatch"]["Enabled"]:
        yield Bill("dashboard that ParallelCluster makes", "cloudwatch_dashboard_month")
    if monitoring["Alarms"]["Enabled"]:
        alarms = _HEAD_NODE_ALARMS + bool(monitoring["Logs"]["CloudWatch"]["Enabled"])
        yield Bill("alarms that ParallelCluster makes", "cloudwatch_alarm_metric_month", alarms)
        yield Bill("composite alarm that ParallelCluster makes", "cloudwatch_composite_alarm_month")


MEASURED: Mapping[str, Measure] = {
    "AWS::CloudFormation::Stack": _nested_stack,
    "AWS::CloudWatch::Alarm": _alarm,
    "AWS::Cognito::UserPoolClient": _user_pool_client,
    "AWS::EC2::VPCEndpoint": _endpoint,
    "AWS::ElasticLoadBalancingV2::LoadBalancer": _load_balancer,
    "AWS::FSx::FileSystem": _file_system,
    "AWS::RDS::DBInstance": _database,
    "AWS::WAFv2::WebACL": _web_acl,
    CLUSTER_TYPE: _cluster,
}
"""By resource type. What machines bill is in `slipway.review.cost.hosts`."""


def has(properties: Any, name: str) -> bool:
    """Whether a property has a value, at any depth; 0, false and nothing are none."""
    if isinstance(properties, Mapping):
        return bool(properties.get(name)) or any(has(value, name) for value in properties.values())
    return isinstance(properties, list) and any(has(item, name) for item in properties)
