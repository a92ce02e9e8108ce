"""The cluster configuration from plain props: queues, logins, shared storage."""

from dataclasses import replace
from typing import Any

import pytest

from neuron_constructs.cluster.access import DirectoryService, LoginNodes, Ssh
from neuron_constructs.cluster.configuration import (
    AccountingDatabase,
    ClusterConfigurationProps,
    HeadNode,
    cluster_configuration,
)
from neuron_constructs.cluster.node_access import NodeAccess
from neuron_constructs.cluster.queues import ComputeResource, Queue
from neuron_constructs.cluster.shared_storage import SharedFileSystem, SharedStorage, SharedVolume
from slipway import facts

TRN1_NODES = ComputeResource(name="trn1", instance_type="trn1.32xlarge", min_count=0, max_count=4, efa=True)
SMALL_NODES = ComputeResource(name="small", instance_type="trn1.2xlarge", min_count=0, max_count=4, efa=False)
CPU_NODES = ComputeResource(name="cpu", instance_type="c6i.4xlarge", min_count=0, max_count=2, efa=False)
TRN1 = Queue(
    name="trn1",
    compute_resources=(TRN1_NODES,),
    capacity_type="ONDEMAND",
    training_stack="xla-2.28.1",
    job_exclusive_allocation=True,
)
CPU = Queue(
    name="cpu",
    compute_resources=(CPU_NODES,),
    capacity_type="ONDEMAND",
    training_stack=None,
    job_exclusive_allocation=False,
)
ACCESS = NodeAccess(
    subnet_id="subnet-1",
    client_security_group_ids=("sg-lustre",),
    policy_arns={"head": ("arn:policy-a", "arn:policy-head"), "login": ("arn:policy-a",), "compute": ("arn:policy-a",)},
    script_bucket="scripts",
    script_prefix="cluster",
)
VOLUME = SharedVolume(size_gib=100, deletion_policy="Delete")
PROPS = ClusterConfigurationProps(
    region="us-west-2",
    parallelcluster_version="3.16.1",
    operating_system="ubuntu2204",
    head_node=HeadNode(instance_type="m6i.2xlarge", root_volume_gib=200),
    queues=(TRN1, CPU),
    access=ACCESS,
    shared_storage=SharedStorage(lustre_file_system_id="fs-1", home=VOLUME, apps=VOLUME),
    scaledown_idletime_minutes=10,
    kill_wait_seconds=900,
    queue_update_strategy="DRAIN",
    log_retention_days=30,
    tags={},
)
RESERVATION = "cr-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:us-west-2:111122223333:group/trn1"


def queue(subject: Queue) -> dict[str, Any]:
    """The configuration of one queue."""
    (found,) = cluster_configuration(replace(PROPS, queues=(subject,)))["Scheduling"]["SlurmQueues"]
    return dict(found)


@pytest.mark.parametrize(
    ("subject", "wanted"),
    [
        pytest.param(TRN1, True, id="EFA on demand"),
        pytest.param(replace(TRN1, capacity_type="SPOT"), True, id="EFA on Spot capacity"),
        pytest.param(replace(TRN1, capacity_reservation_id=RESERVATION), False, id="in a reservation"),
        pytest.param(replace(TRN1, capacity_reservation_resource_group_arn=GROUP), False, id="in a group of them"),
        pytest.param(replace(TRN1, compute_resources=(SMALL_NODES,)), False, id="without EFA"),
        pytest.param(CPU, False, id="without accelerator"),
    ],
)
def test_a_placement_group_is_made_for_efa_outside_reservations(subject: Queue, wanted: bool) -> None:
    assert queue(subject)["Networking"]["PlacementGroup"] == {"Enabled": wanted}


def test_the_placement_group_of_a_reservation_is_the_nodes_own() -> None:
    subject = replace(TRN1, capacity_reservation_id=RESERVATION, placement_group="trn1-reserved")
    assert queue(subject)["Networking"]["PlacementGroup"] == {"Enabled": True, "Name": "trn1-reserved"}


@pytest.mark.parametrize(
    ("subject", "target"),
    [
        (TRN1, None),
        (replace(TRN1, capacity_reservation_id=RESERVATION), {"CapacityReservationId": RESERVATION}),
        (
            replace(TRN1, capacity_reservation_resource_group_arn=GROUP),
            {"CapacityReservationResourceGroupArn": GROUP},
        ),
    ],
)
def test_a_queue_targets_its_reservation(subject: Queue, target: dict[str, str] | None) -> None:
    assert queue(subject).get("CapacityReservationTarget") == target


def test_a_job_gets_whole_nodes_where_the_queue_says_so() -> None:
    assert queue(TRN1)["JobExclusiveAllocation"] is True
    assert queue(CPU)["JobExclusiveAllocation"] is False


def test_nodes_learn_their_training_stack_and_what_they_must_show() -> None:
    mixed = replace(TRN1, compute_resources=(TRN1_NODES, SMALL_NODES, replace(TRN1_NODES, name="more")))

    def arguments(subject: Queue) -> list[str]:
        found: list[str] = queue(subject)["CustomActions"]["OnNodeConfigured"]["Args"]
        return found

    assert arguments(mixed) == [
        "compute",
        "scripts",
        "cluster",
        "xla-2.28.1",
        "trn1.32xlarge=16:8",
        "trn1.2xlarge=1:0",
    ]
    assert arguments(CPU) == ["compute", "scripts", "cluster", "none", "c6i.4xlarge=0:0"]


def test_local_disks_become_scratch_where_there_are_any() -> None:
    def local_storage(subject: Queue) -> dict[str, Any]:
        return dict(queue(subject)["ComputeSettings"]["LocalStorage"])

    assert local_storage(TRN1)["EphemeralVolume"] == {"MountDir": "/scratch"}
    assert "EphemeralVolume" not in local_storage(CPU)


def test_a_queue_may_have_an_image_of_its_own() -> None:
    assert "Image" not in queue(TRN1)
    assert queue(replace(TRN1, custom_ami_id="ami-0123456789abcdef0"))["Image"] == {
        "CustomAmi": "ami-0123456789abcdef0"
    }


def test_the_head_node_may_have_an_image_of_its_own() -> None:
    head_node = replace(PROPS.head_node, custom_ami_id="ami-0123456789abcdef0")
    assert "Image" not in cluster_configuration(PROPS)["HeadNode"]
    assert cluster_configuration(replace(PROPS, head_node=head_node))["HeadNode"]["Image"] == {
        "CustomAmi": "ami-0123456789abcdef0"
    }


def test_nobody_comes_through_ssh_without_a_key() -> None:
    # Left out, AllowedIps would be 0.0.0.0/0.
    assert cluster_configuration(PROPS)["HeadNode"]["Ssh"] == {"AllowedIps": "127.0.0.1/32"}


def test_ssh_is_for_one_key_and_one_range_on_head_and_login_nodes() -> None:
    pool = LoginNodes(instance_type="m6i.large", count=2, gracetime_period_minutes=10)
    ssh = Ssh(key_name="ml-platform", allowed_cidr="10.40.0.0/16")
    configuration = cluster_configuration(replace(PROPS, ssh=ssh, login_nodes=pool))

    assert configuration["HeadNode"]["Ssh"] == {"KeyName": "ml-platform", "AllowedIps": "10.40.0.0/16"}
    (login,) = configuration["LoginNodes"]["Pools"]
    # ParallelCluster 3.15 removed KeyName from login nodes.
    assert login["Ssh"] == {"AllowedIps": "10.40.0.0/16"}
    assert (login["InstanceType"], login["Count"], login["GracetimePeriod"]) == ("m6i.large", 2, 10)
    assert login["CustomActions"]["OnNodeConfigured"]["Args"] == ["login", "scripts", "cluster"]


def test_a_directory_is_handed_on_without_empty_keys() -> None:
    directory = DirectoryService(
        domain_name="corp.example.com",
        domain_addr="ldaps://corp.example.com",
        password_secret_arn="arn:secret",
        domain_read_only_user="cn=reader,dc=corp,dc=example,dc=com",
        ldap_tls_ca_cert=None,
        ldap_tls_req_cert="hard",
        ldap_access_filter=None,
        generate_ssh_keys_for_users=True,
        additional_sssd_configs={"ldap_auth_disable_tls_never_use_in_production": "false"},
    )

    assert cluster_configuration(replace(PROPS, directory_service=directory))["DirectoryService"] == {
        "DomainName": "corp.example.com",
        "DomainAddr": "ldaps://corp.example.com",
        "PasswordSecretArn": "arn:secret",
        "DomainReadOnlyUser": "cn=reader,dc=corp,dc=example,dc=com",
        "LdapTlsReqCert": "hard",
        "GenerateSshKeysForUsers": True,
        "AdditionalSssdConfigs": {"ldap_auth_disable_tls_never_use_in_production": "false"},
    }


def test_home_is_a_volume_of_the_head_node_or_one_of_openzfs() -> None:
    own = cluster_configuration(PROPS)["SharedStorage"]
    shared = replace(
        PROPS, shared_storage=replace(PROPS.shared_storage, home=SharedFileSystem(type="FsxOpenZfs", id="fsvol-1"))
    )
    openzfs = cluster_configuration(shared)["SharedStorage"]

    assert [share["MountDir"] for share in own] == ["/fsx", "/home", "/apps"]
    assert own[1]["EbsSettings"] == {
        "Size": 100,
        "VolumeType": "gp3",
        "Encrypted": True,
        "DeletionPolicy": "Delete",
    }
    assert openzfs[1] == {
        "Name": "home",
        "MountDir": "/home",
        "StorageType": "FsxOpenZfs",
        "FsxOpenZfsSettings": {"VolumeId": "fsvol-1"},
    }


def test_accounting_is_reached_by_the_head_node_alone() -> None:
    database = AccountingDatabase(
        endpoint="db.example:3306",
        user_name="slurm",
        password_secret_arn="arn:secret",
        client_security_group_id="sg-1",
    )
    configuration = cluster_configuration(replace(PROPS, accounting_database=database))

    assert configuration["Scheduling"]["SlurmSettings"]["Database"] == {
        "Uri": "db.example:3306",
        "UserName": "slurm",
        "PasswordSecretArn": "arn:secret",
    }
    assert configuration["HeadNode"]["Networking"]["AdditionalSecurityGroups"] == ["sg-lustre", "sg-1"]
    assert "sg-1" not in str(configuration["Scheduling"]["SlurmQueues"])


def test_slurm_looks_at_idle_nodes_by_itself_and_gives_jobs_time_to_save() -> None:
    settings = cluster_configuration(PROPS)["Scheduling"]["SlurmSettings"]["CustomSlurmSettings"]

    assert {key: value for setting in settings for key, value in setting.items()} == {
        "HealthCheckProgram": "/opt/slurm/etc/slipway/health_check.sh",
        "HealthCheckInterval": 300,
        "HealthCheckNodeState": "IDLE",
        "PrologFlags": "Alloc",
        "KillWait": 900,
    }


def test_a_permissions_boundary_holds_for_every_role_of_the_cluster() -> None:
    arn = "arn:aws:iam::111122223333:policy/boundary"

    assert "Iam" not in cluster_configuration(PROPS)
    assert cluster_configuration(replace(PROPS, permissions_boundary_arn=arn))["Iam"] == {"PermissionsBoundary": arn}


def test_what_nodes_logged_outlives_the_roll_back_of_a_failed_creation() -> None:
    assert cluster_configuration(PROPS)["Monitoring"]["Logs"]["CloudWatch"]["DeletionPolicy"] == "Retain"


def test_bootstrap_time_outs_are_those_of_the_budget() -> None:
    release = facts.parallelcluster_release("3.16.1")

    assert cluster_configuration(PROPS)["DevSettings"] == {
        "Timeouts": {
            "HeadNodeBootstrapTimeout": release.head_node_bootstrap_timeout_seconds,
            "ComputeNodeBootstrapTimeout": release.compute_node_bootstrap_timeout_seconds,
        }
    }
