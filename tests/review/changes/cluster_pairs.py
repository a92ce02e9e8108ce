"""Edits of the Slurm cluster, the EKS cluster and the endpoint."""

from tests.review.changes.pairs import Edit, Pair, Templates
from tests.review.changes.storage_pairs import updated

SLURM = "Custom::PclusterCluster"
EKS = "AWS::EKS::Cluster"
NODE_GROUP = "AWS::EKS::Nodegroup"
LAUNCH_TEMPLATE = "AWS::EC2::LaunchTemplate"
CLUSTER_UPDATED = ("update training Custom::PclusterCluster",)


def _max_count(templates: Templates) -> None:
    templates.cluster["Scheduling"]["SlurmQueues"][0]["ComputeResources"][0]["MaxCount"] = 8


def _head_node(templates: Templates) -> None:
    templates.cluster["HeadNode"]["InstanceType"] = "m6i.4xlarge"


def _without_volume(templates: Templates) -> None:
    templates.cluster["SharedStorage"] = [row for row in templates.cluster["SharedStorage"] if row["Name"] != "apps"]


def _own_file_systems(templates: Templates) -> None:
    templates.cluster["SharedStorage"] += [
        {
            "Name": "scratch",
            "MountDir": "/s",
            "StorageType": "FsxLustre",
            "FsxLustreSettings": {"StorageCapacity": 1200},
        },
        {"Name": "kept", "MountDir": "/k", "StorageType": "Efs", "EfsSettings": {"DeletionPolicy": "Retain"}},
    ]


def _without(name: str) -> Edit:
    def edit(templates: Templates) -> None:
        storage = templates.cluster["SharedStorage"]
        templates.cluster["SharedStorage"] = [row for row in storage if row["Name"] != name]

    return edit


def _snapshots(templates: Templates) -> None:
    for row in templates.cluster["SharedStorage"]:
        if "EbsSettings" in row:
            row["EbsSettings"]["DeletionPolicy"] = "Snapshot"


def _without_cluster(templates: Templates) -> None:
    templates.remove("training", SLURM)


def _open_ssh(templates: Templates) -> None:
    templates.cluster["HeadNode"]["Ssh"]["AllowedIps"] = "0.0.0.0/0"


def _narrow_ssh(templates: Templates) -> None:
    templates.cluster["HeadNode"]["Ssh"]["AllowedIps"] = "192.0.2.7/32"


def _office_ssh(templates: Templates) -> None:
    templates.cluster["HeadNode"]["Ssh"]["AllowedIps"] = "192.0.2.0/24"


def _no_ssh_setting(templates: Templates) -> None:
    del templates.cluster["HeadNode"]["Ssh"]


def _loose_nodes(templates: Templates) -> None:
    cluster = templates.cluster
    cluster["HeadNode"]["Networking"]["ElasticIp"] = True
    cluster["HeadNode"]["Imds"]["Secured"] = False
    cluster["Imds"]["ImdsSupport"] = "v1.0"
    queue = cluster["Scheduling"]["SlurmQueues"][1]
    queue["Iam"]["S3Access"] = [{"BucketName": "datasets", "EnableWriteAccess": True}]
    queue["Iam"]["AdditionalIamPolicies"].append({"Policy": "arn:aws:iam::aws:policy/AdministratorAccess"})


def _kubernetes_version(templates: Templates) -> None:
    templates.properties("kubernetes", EKS)["Version"] = "1.36"
    for number in range(3):
        templates.properties("kubernetes", NODE_GROUP, number)["Version"] = "1.36"


def _node_type(templates: Templates) -> None:
    templates.properties("kubernetes", LAUNCH_TEMPLATE, 1)["LaunchTemplateData"]["InstanceType"] = "trn1.2xlarge"


def _version_and_size(templates: Templates) -> None:
    group = templates.properties("kubernetes", NODE_GROUP, 1)
    group["ReleaseVersion"] = "1.35.7-20260901"
    group["ScalingConfig"]["MaxSize"] = 8


def _public_api(templates: Templates) -> None:
    templates.properties("kubernetes", EKS)["ResourcesVpcConfig"].update(
        EndpointPublicAccess=True, PublicAccessCidrs=["198.51.100.0/24"]
    )


def _admin(templates: Templates) -> None:
    templates.properties("kubernetes", "AWS::EKS::AccessEntry")["PrincipalArn"] = "arn:aws:iam::111122223333:role/Ops"


def _group(templates: Templates) -> None:
    templates.properties("kubernetes", "AWS::EKS::AccessEntry")["KubernetesGroups"] = ["slipway-research"]


def _chart_values(templates: Templates) -> None:
    chart = templates.properties("kubernetes", "Custom::AWSCDK-EKS-HelmChart")
    chart["Values"] = chart["Values"].replace('"cpu":"250m"', '"cpu":"500m"')


PAIRS = (
    Pair("a queue may have more nodes", "default", _max_count, own=CLUSTER_UPDATED),
    Pair("another head node", "default", _head_node, own=CLUSTER_UPDATED),
    Pair("the cluster's name", "default", updated("training", SLURM, ClusterName="other"), own=CLUSTER_UPDATED),
    Pair("a volume goes", "default", _without_volume, own=("update training Custom::PclusterCluster with its data",)),
    Pair("a volume goes and leaves a snapshot", "default", _without_volume, own=CLUSTER_UPDATED, prepare=_snapshots),
    Pair(
        "the cluster's own file system goes",
        "default",
        _without("scratch"),
        own=("update training Custom::PclusterCluster with its data",),
        prepare=_own_file_systems,
    ),
    Pair("one goes that is kept", "default", _without("kept"), own=CLUSTER_UPDATED, prepare=_own_file_systems),
    Pair("one goes that is mounted", "default", _without("fsx"), own=CLUSTER_UPDATED, prepare=_own_file_systems),
    Pair(
        "the cluster goes",
        "default",
        _without_cluster,
        own=("remove training Custom::PclusterCluster with its data",),
    ),
    Pair(
        "the cluster goes and leaves snapshots",
        "default",
        _without_cluster,
        own=("remove training Custom::PclusterCluster",),
        prepare=_snapshots,
    ),
    Pair(
        "SSH from everywhere",
        "default",
        _open_ssh,
        own=CLUSTER_UPDATED,
        broader=("cluster: SSH to the head node from 0.0.0.0/0",),
    ),
    Pair("SSH from fewer", "default", _narrow_ssh, own=CLUSTER_UPDATED, prepare=_office_ssh),
    Pair(
        "no range for SSH",
        "default",
        _no_ssh_setting,
        own=CLUSTER_UPDATED,
        broader=("cluster: SSH to the head node from 0.0.0.0/0",),
    ),
    Pair(
        "nodes that may more",
        "default",
        _loose_nodes,
        own=CLUSTER_UPDATED,
        broader=(
            "cluster: A public address of the head node",
            "cluster: Another policy of nodes, Policy arn:aws:iam::aws:policy/AdministratorAccess",
            "cluster: Credentials of nodes for everyone who can make them send one request (IMDSv1)",
            "cluster: Credentials of the head node for all its users",
            "cluster: S3 access of nodes to BucketName datasets EnableWriteAccess True",
        ),
    ),
    Pair(
        "another Kubernetes version",
        "kubernetes",
        _kubernetes_version,
        own=("update kubernetes EKS::Cluster", *("update kubernetes EKS::Nodegroup",) * 3),
    ),
    Pair(
        "another type of node",
        "kubernetes",
        _node_type,
        own=("update kubernetes EC2::LaunchTemplate",),
        folded=("update kubernetes EKS::Nodegroup",),
    ),
    Pair("a node group's image and size", "kubernetes", _version_and_size, own=("update kubernetes EKS::Nodegroup",)),
    Pair(
        "the Kubernetes API on the internet",
        "kubernetes",
        _public_api,
        own=("update kubernetes EKS::Cluster",),
        broader=("cluster: The API of the cluster from 198.51.100.0/24",),
    ),
    Pair(
        "another administrator",
        "kubernetes",
        _admin,
        own=("replace kubernetes EKS::AccessEntry",),
        broader=("cluster: The cluster for arn:aws:iam::111122223333:role/Ops",),
    ),
    Pair(
        "a user of another team",
        "kubernetes",
        _group,
        own=("update kubernetes EKS::AccessEntry",),
        broader=("cluster: Rights in the cluster of the group slipway-research",),
    ),
    Pair("a chart's values", "kubernetes", _chart_values, own=("update kubernetes Custom::AWSCDK-EKS-HelmChart",)),
    Pair(
        "the endpoint on the internet",
        "default",
        updated("inference", "AWS::ElasticLoadBalancingV2::LoadBalancer", Scheme="internet-facing"),
        own=("replace inference ElasticLoadBalancingV2::LoadBalancer",),
        folded=(
            "replace inference ElasticLoadBalancingV2::Listener",
            *("replace inference ElasticLoadBalancingV2::ListenerRule",) * 2,
        ),
        broader=("protection: The endpoint can be reached from the internet",),
    ),
)
