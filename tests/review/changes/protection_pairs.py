"""Edits after which something keeps, refuses, encrypts or records less."""

from typing import Any

from tests.review.changes.pairs import Pair, Templates

BUCKET = "AWS::S3::Bucket"
LISTENER = "AWS::ElasticLoadBalancingV2::Listener"
RULE = "AWS::ElasticLoadBalancingV2::ListenerRule"
TARGETS = "AWS::ElasticLoadBalancingV2::TargetGroup"
TASK = "AWS::ECS::TaskDefinition"
WEB_ACL = "AWS::WAFv2::WebACL"
DATA = "update storage S3::Bucket"


def _loose_bucket(templates: Templates) -> None:
    bucket = templates.of_type("storage", BUCKET)
    bucket["DeletionPolicy"] = "Delete"
    properties = bucket["Properties"]
    del properties["PublicAccessBlockConfiguration"]
    del properties["LoggingConfiguration"]
    properties["VersioningConfiguration"]["Status"] = "Suspended"
    properties["LifecycleConfiguration"]["Rules"][0]["ExpirationInDays"] = 7


def _tight_bucket(templates: Templates) -> None:
    rule = templates.properties("storage", BUCKET)["LifecycleConfiguration"]["Rules"][0]
    rule["NoncurrentVersionExpiration"]["NoncurrentDays"] = 90


def _fewer_records(templates: Templates) -> None:
    templates.properties("network", "AWS::Logs::LogGroup")["RetentionInDays"] = 1
    templates.remove("network", "AWS::EC2::FlowLog")


def _open_endpoint(templates: Templates) -> None:
    templates.properties("inference", LISTENER, 1)["Protocol"] = "HTTP"
    del templates.properties("inference", RULE)["Actions"][0]


def _open_tasks(templates: Templates) -> None:
    templates.of_type("inference", TARGETS)["Properties"]["Protocol"] = "HTTP"
    for container in templates.properties("inference", TASK)["ContainerDefinitions"]:
        container.pop("Secrets", None)


def _more_tokens(templates: Templates) -> None:
    token = templates.properties("inference", RULE)["Actions"][0]["JwtValidationConfig"]
    token["AdditionalClaims"][1]["Values"].append("guests")


def _weak_firewall(templates: Templates) -> None:
    rules = templates.properties("inference", WEB_ACL)["Rules"]
    rules[0]["Action"] = {"Count": {}}
    del rules[1]
    templates.remove("inference", "AWS::WAFv2::WebACLAssociation")


def _loose_hosts(templates: Templates) -> None:
    data = templates.properties("inference", "AWS::EC2::LaunchTemplate")["LaunchTemplateData"]
    data["MetadataOptions"] = {"HttpTokens": "optional", "HttpPutResponseHopLimit": 2}
    data["BlockDeviceMappings"][0]["Ebs"]["Encrypted"] = False


def _database(templates: Templates) -> None:
    templates.properties("storage", "AWS::RDS::DBInstance").update(BackupRetentionPeriod=0, PubliclyAccessible=True)


def _volumes(templates: Templates) -> None:
    for row in templates.cluster["SharedStorage"]:
        if "EbsSettings" in row:
            row["EbsSettings"].update(DeletionPolicy="Delete", Encrypted=False)


def _kubernetes(templates: Templates) -> None:
    cluster: Any = templates.properties("kubernetes", "AWS::EKS::Cluster")
    cluster["Logging"]["ClusterLogging"]["EnabledTypes"].remove({"Type": "audit"})
    templates.properties("kubernetes", "AWS::KMS::Key").update(EnableKeyRotation=False, PendingWindowInDays=30)


PAIRS = (
    Pair(
        "a bucket keeps and refuses less",
        "public",
        _loose_bucket,
        own=(DATA,),
        broader=(
            "protection: Nobody logs who reads and writes the bucket",
            "protection: Nothing keeps it any more when the stack lets go of it or replaces it",
            "protection: Objects are deleted after 7 days (before: never)",
            "protection: Objects that are deleted or overwritten are gone at once (no versions)",
            "protection: Public access to the bucket is blocked less",
        ),
    ),
    Pair("a bucket keeps longer", "public", _tight_bucket, own=(DATA,)),
    Pair(
        "less is recorded",
        "default",
        _fewer_records,
        own=("remove network EC2::FlowLog", "update network Logs::LogGroup"),
        broader=(
            "protection: Logs are deleted after 1 days (before: 30)",
            "protection: Nobody logs the traffic of the network",
        ),
    ),
    Pair(
        "an endpoint without TLS and tokens",
        "public",
        _open_endpoint,
        own=(
            "update inference ElasticLoadBalancingV2::Listener",
            "update inference ElasticLoadBalancingV2::ListenerRule",
        ),
        broader=("protection: Requests need no token", "protection: The endpoint takes requests without TLS"),
    ),
    Pair(
        "tasks that ask for no key and speak no TLS",
        "apikey",
        _open_tasks,
        own=("replace inference ECS::TaskDefinition", "replace inference ElasticLoadBalancingV2::TargetGroup"),
        folded=(
            "update inference ECS::Service",
            "update inference ElasticLoadBalancingV2::ListenerRule",
            "update inference ElasticLoadBalancingV2::ListenerRule",
        ),
        broader=(
            "protection: Requests go from the load balancer to tasks without TLS",
            "protection: Tasks ask for no key",
        ),
    ),
    Pair(
        "an endpoint for other tokens",
        "public",
        _more_tokens,
        own=("update inference ElasticLoadBalancingV2::ListenerRule",),
        broader=("protection: Tokens that claim guests are good",),
    ),
    Pair(
        "a firewall that refuses less",
        "public",
        _weak_firewall,
        own=("remove inference WAFv2::WebACLAssociation", "update inference WAFv2::WebACL"),
        broader=(
            "protection: A rule of the firewall refuses nothing",
            "protection: No firewall is before the endpoint",
            "protection: The firewall has a rule less: TooLarge",
        ),
    ),
    Pair(
        "hosts that give their credentials away",
        "public",
        _loose_hosts,
        own=("update inference EC2::LaunchTemplate",),
        folded=("update inference AutoScaling::AutoScalingGroup",),
        broader=(
            "protection: Credentials of instances for containers on them (2 hops, before: 1)",
            "protection: Credentials of instances for everyone who can make them send one request (IMDSv1)",
            "protection: Volumes of instances are not encrypted",
        ),
    ),
    Pair(
        "a database on the internet without backups",
        "team",
        _database,
        own=("may_replace storage RDS::DBInstance",),
        broader=(
            "protection: Backups are deleted after 0 days (before: 14; 0: there are none)",
            "protection: The database has a public address",
        ),
    ),
    Pair(
        "volumes that go with the cluster",
        "public",
        _volumes,
        own=("update training Custom::PclusterCluster",),
        broader=(
            "protection: A volume goes for good with the cluster",
            "protection: A volume of the cluster is not encrypted",
        ),
    ),
    Pair(
        "a cluster without an audit log",
        "kubernetes",
        _kubernetes,
        own=("update kubernetes EKS::Cluster", "update kubernetes KMS::Key"),
        broader=("protection: EKS no longer logs audit", "protection: The key is not rotated"),
    ),
)
