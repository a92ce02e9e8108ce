"""Edits of an environment file for the table of docs/updates.md, each of an environment that has what it needs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Changes = dict[str, Any]
Templates = dict[str, Any]

BASE: Changes = {
    "name": "test",
    "region": "us-west-2",
    "network": {"training_availability_zone_id": "usw2-az4", "other_availability_zone_ids": ["usw2-az1"]},
    "storage": {"lustre": {"capacity_gib": 2400, "throughput_mb_s_per_tib": 125}},
    "tags": {"team": "ml"},
    "training": {
        "cluster_name": "trainium",
        "head_node": {"instance_type": "m6i.2xlarge"},
        "queues": [
            {
                "name": "trn1",
                "compute_resources": [{"name": "trn1-32xl", "instance_type": "trn1.32xlarge", "max_count": 4}],
            },
            {
                "name": "debug",
                "compute_resources": [{"name": "trn1-2xl", "instance_type": "trn1.2xlarge", "max_count": 4}],
            },
        ],
    },
}
"""The environment that the edits start from: a queue with EFA and one without."""

_QUEUE = "training.queues.0"
_HEAD_NODE = "training.head_node"
_RESOURCE = f"{_QUEUE}.compute_resources.0"
_ONE_NODE = {f"{_RESOURCE}.max_count": 1}
_CPU_QUEUE = {"name": "cpu", "compute_resources": [{"name": "c6i", "instance_type": "c6i.4xlarge"}]}
_RESERVATION = "cr-0123456789abcdef0"
_OTHER_RESERVATION = "cr-0123456789abcdef1"
_GROUP = "arn:aws:resource-groups:us-west-2:111122223333:group/trn1"
_PLACEMENT_GROUP = "trn1-reserved"
_AMI, _OTHER_AMI = "ami-0123456789abcdef0", "ami-0123456789abcdef1"
_LOGIN_NODES = {"training.login_nodes": {"count": 1}}
_STOPPED_LOGIN_NODES = {"training.login_nodes": {"count": 0}}
_SSH = {"training.ssh": {"key_name": "ml", "allowed_cidr": "10.0.0.0/8"}}
_USERS = {"training.users": [{"name": "alice", "uid": 70001}]}
_DIRECTORY = {
    "training.directory_service": {
        "domain_name": "corp.example.com",
        "domain_addr": "ldaps://corp.example.com",
        "password_secret_arn": "arn:aws:secretsmanager:us-west-2:111122223333:secret:reader-AbCdEf",
        "domain_read_only_user": "cn=reader,dc=corp,dc=example,dc=com",
    }
}
_BOUNDARY = "arn:aws:iam::111122223333:policy/boundary"


@dataclass(frozen=True)
class Edit:
    """One row of the table."""

    what: str
    """The edit in the table's words; fields of the environment file in backticks."""

    changes: Changes = field(default_factory=dict)
    """Values of the edited environment file, by their path; without any, the edit takes those of `base` away again."""

    base: Changes = field(default_factory=dict)
    """Values that the environment has before."""

    templates: Callable[[Templates], None] | None = None
    """What no value of the environment file makes: a change of the wanted templates."""


def _resources(templates: Templates, resource_type: str) -> Iterator[dict[str, Any]]:
    for template in templates.values():
        for resource in template["Resources"].values():
            if resource["Type"] == resource_type:
                yield resource["Properties"]


def configuration_in(templates: Templates) -> dict[str, Any]:
    """Return the cluster's configuration, the one in the templates and not a copy."""
    (cluster,) = _resources(templates, "Custom::PclusterCluster")
    configuration: dict[str, Any] = cluster["ClusterConfiguration"]
    return configuration


def _other_strategy(templates: Templates) -> None:
    settings = configuration_in(templates)["Scheduling"]["SlurmSettings"]
    settings["QueueUpdateStrategy"] = "DRAIN" if settings["QueueUpdateStrategy"] == "TERMINATE" else "TERMINATE"


def _health_check_interval(templates: Templates) -> None:
    settings = configuration_in(templates)["Scheduling"]["SlurmSettings"]["CustomSlurmSettings"]
    next(item for item in settings if "HealthCheckInterval" in item)["HealthCheckInterval"] = 60


def _other_scripts(templates: Templates) -> None:
    for deployment in _resources(templates, "Custom::CDKBucketDeployment"):
        deployment["SourceObjectKeys"] = [f"{'0' * 64}.zip" for _ in deployment["SourceObjectKeys"]]


def _other_script_key(templates: Templates) -> None:
    for section in (configuration_in(templates)["HeadNode"], *configuration_in(templates)["Scheduling"]["SlurmQueues"]):
        section["CustomActions"]["OnNodeConfigured"]["Script"] = f"s3://scripts/{'0' * 64}.sh"


def _other_script_bucket(templates: Templates) -> None:
    for bucket in _resources(templates, "AWS::S3::Bucket"):
        bucket["BucketName"] = "renamed"


def _other_parallelcluster(templates: Templates) -> None:
    (provider,) = _resources(templates, "AWS::CloudFormation::Stack")
    parts = provider["TemplateURL"]["Fn::Join"][1]
    parts[:] = [part.replace("/3.16.1/", "/3.16.3/") if isinstance(part, str) else part for part in parts]


QUEUES = [
    Edit("add a queue", {"training.queues.2": _CPU_QUEUE}),
    Edit("remove a queue", {"training.queues": BASE["training"]["queues"][:1]}),
    Edit("rename a queue: its `name`", {f"{_QUEUE}.name": "big"}),
    Edit("change the order of the queues", {"training.queues": BASE["training"]["queues"][::-1]}),
    Edit(
        "add a compute resource of the same instance type",
        {f"{_QUEUE}.compute_resources.1": {"name": "more", "instance_type": "trn1.32xlarge"}},
    ),
    Edit(
        "add a compute resource of another instance type: the nodes' arguments change",
        {f"{_QUEUE}.compute_resources.1": {"name": "more", "instance_type": "trn1n.32xlarge"}},
    ),
    Edit("raise `max_count`", {f"{_RESOURCE}.max_count": 8}),
    Edit("lower `max_count`", {f"{_RESOURCE}.max_count": 2}),
    Edit("raise `min_count` alone", {f"{_RESOURCE}.min_count": 1}),
    Edit("raise `min_count`, and `max_count` by as much", {f"{_RESOURCE}.min_count": 1, f"{_RESOURCE}.max_count": 5}),
    Edit("lower `min_count`", {f"{_RESOURCE}.min_count": 1}, {f"{_RESOURCE}.min_count": 2}),
    Edit("`instance_type`, both with EFA", {f"{_RESOURCE}.instance_type": "trn1n.32xlarge"}),
    Edit("switch `efa` off: the placement group goes", {f"{_RESOURCE}.efa": False}, _ONE_NODE),
    Edit(
        "switch `efa` on: a placement group comes", {f"{_RESOURCE}.efa": True}, {**_ONE_NODE, f"{_RESOURCE}.efa": False}
    ),
    Edit("`capacity_type: spot`", {f"{_QUEUE}.capacity_type": "spot"}),
    Edit(
        "add `capacity_reservation_id` to a queue with EFA: the placement group goes",
        {f"{_QUEUE}.capacity_reservation_id": _RESERVATION},
    ),
    Edit(
        "add `capacity_reservation_id` to a queue without EFA",
        {"training.queues.1.capacity_reservation_id": _RESERVATION},
    ),
    Edit(
        "another `capacity_reservation_id`",
        {f"{_QUEUE}.capacity_reservation_id": _OTHER_RESERVATION},
        {f"{_QUEUE}.capacity_reservation_id": _RESERVATION},
    ),
    Edit(
        "add `capacity_reservation_resource_group_arn` to a queue without EFA",
        {"training.queues.1.capacity_reservation_resource_group_arn": _GROUP},
    ),
    Edit(
        "add `placement_group` to a queue with a reservation",
        {f"{_QUEUE}.placement_group": _PLACEMENT_GROUP},
        {f"{_QUEUE}.capacity_reservation_id": _RESERVATION},
    ),
    Edit(
        "another `placement_group`",
        {f"{_QUEUE}.placement_group": f"{_PLACEMENT_GROUP}-2"},
        {f"{_QUEUE}.capacity_reservation_id": _RESERVATION, f"{_QUEUE}.placement_group": _PLACEMENT_GROUP},
    ),
    Edit("add `custom_ami_id`", {f"{_QUEUE}.custom_ami_id": _AMI}),
    Edit("another `custom_ami_id`", {f"{_QUEUE}.custom_ami_id": _OTHER_AMI}, {f"{_QUEUE}.custom_ami_id": _AMI}),
    Edit("`training_stack` of a queue", {f"{_QUEUE}.training_stack": "seed-2.20"}),
    Edit(
        "`job_exclusive_allocation` of a CPU queue",
        {"training.queues.2.job_exclusive_allocation": True},
        {"training.queues.2": _CPU_QUEUE},
    ),
]

SLURM = [
    Edit("`training_stack` of the cluster", {"training.training_stack": "seed-2.20"}),
    Edit("`scaledown_idletime_minutes`", {"training.scaledown_idletime_minutes": 20}),
    Edit("`kill_wait_seconds`", {"training.kill_wait_seconds": 1200}),
    Edit("`queue_update_strategy` alone", templates=_other_strategy),
    Edit("the interval of the health check (`HealthCheckInterval`)", templates=_health_check_interval),
    Edit("add `storage.accounting_database`", {"storage.accounting_database": {}}),
    Edit("remove `storage.accounting_database`", {}, {"storage.accounting_database": {}}),
]

NODES_AND_ACCESS = [
    Edit("`head_node.instance_type`", {"training.head_node.instance_type": "m6i.8xlarge"}),
    Edit("`head_node.root_volume_gib`", {"training.head_node.root_volume_gib": 300}),
    Edit("add `head_node.custom_ami_id`", {f"{_HEAD_NODE}.custom_ami_id": _AMI}),
    Edit(
        "another `head_node.custom_ami_id`",
        {f"{_HEAD_NODE}.custom_ami_id": _OTHER_AMI},
        {f"{_HEAD_NODE}.custom_ami_id": _AMI},
    ),
    Edit("`operating_system`", {"training.operating_system": "ubuntu2404"}),
    Edit("add `login_nodes`", _LOGIN_NODES),
    Edit("`login_nodes.count`", {"training.login_nodes.count": 2}, _LOGIN_NODES),
    Edit("`login_nodes.instance_type`", {"training.login_nodes.instance_type": "m6i.xlarge"}, _LOGIN_NODES),
    Edit(
        "`login_nodes.instance_type` when `count` has been deployed as 0",
        {"training.login_nodes": {"instance_type": "m6i.xlarge", "count": 1}},
        _STOPPED_LOGIN_NODES,
    ),
    Edit("`login_nodes.gracetime_period_minutes`", {"training.login_nodes.gracetime_period_minutes": 20}, _LOGIN_NODES),
    Edit("remove `login_nodes`", {}, _LOGIN_NODES),
    Edit("add or remove `ssh`, another `ssh.key_name`", _SSH),
    Edit("`ssh.allowed_cidr`", {"training.ssh.allowed_cidr": "10.1.0.0/16"}, _SSH),
    Edit("`ssh.allowed_cidr` with login nodes", {"training.ssh.allowed_cidr": "10.1.0.0/16"}, _SSH | _LOGIN_NODES),
    Edit("add `directory_service`", _DIRECTORY),
    Edit("add `directory_service` to a cluster with login nodes", _DIRECTORY, _LOGIN_NODES),
    Edit(
        "`directory_service.ldap_access_filter`",
        {"training.directory_service.ldap_access_filter": "(memberOf=cn=ml)"},
        _DIRECTORY,
    ),
    Edit("add the first of `users`", _USERS),
    Edit(
        "another user in `users`",
        {"training.users": [*_USERS["training.users"], {"name": "bob", "uid": 70002}]},
        _USERS,
    ),
    Edit("`permissions_boundary_arn`", {"permissions_boundary_arn": _BOUNDARY}),
]

STORAGE_AND_NETWORK = [
    Edit("`home.size_gib`", {"training.home.size_gib": 200}),
    Edit("`apps.size_gib`", {"training.apps.size_gib": 300}),
    Edit("`home.deletion_policy`, `apps.deletion_policy`", {"training.home.deletion_policy": "snapshot"}),
    Edit("`lifecycle`, `storage.lifecycle`", {"storage.lifecycle": "persistent"}),
    Edit("add `storage.home`: /home on OpenZFS", {"storage.home": {}}),
    Edit("`storage.lustre.capacity_gib`, larger", {"storage.lustre.capacity_gib": 4800}),
    Edit(
        "`network.training_availability_zone_id`: another subnet, another file system",
        {
            "network.training_availability_zone_id": "usw2-az1",
            "network.other_availability_zone_ids": ["usw2-az4"],
        },
    ),
    Edit("`network.cidr`", {"network.cidr": "10.99.0.0/16"}),
    Edit("`network.nat_gateways`", {"network.nat_gateways": 2}),
]

REST = [
    Edit("the content of a node script, another version in a training stack", templates=_other_scripts),
    Edit("a node script under another key (CDK assets with a hash in the key)", templates=_other_script_key),
    Edit("another name of the script bucket", templates=_other_script_bucket),
    Edit("another value of a tag", {"tags.team": "research"}),
    Edit("add or remove a tag", {"tags.project": "llama"}),
    Edit("`operations.log_retention_days`", {"operations.log_retention_days": 90}),
    Edit("add `inference`", {"inference": {"models": [{"name": "tanuki-8b"}]}}),
    Edit("`cluster_name`", {"training.cluster_name": "other"}),
    Edit("`parallelcluster_version`", templates=_other_parallelcluster),
]

TABLES = {
    "Queues": QUEUES,
    "Slurm": SLURM,
    "Head node, login nodes, access": NODES_AND_ACCESS,
    "Storage and network": STORAGE_AND_NETWORK,
    "Scripts, tags, names, the rest": REST,
}
"""The tables of docs/updates.md by their heading."""
