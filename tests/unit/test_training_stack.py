"""The training stack: the cluster configuration and how the provider gets it."""

import json
import re
import subprocess
from typing import Any

import pytest

from neuron_constructs.cluster.node_scripts import neuron_lock
from slipway import facts
from tests.assembly import PROJECT, Assembly


@pytest.fixture
def cluster(each_slurm_assembly: Assembly) -> dict[str, Any]:
    """Properties of the cluster's resource."""
    properties: dict[str, Any] = each_slurm_assembly.resource("training", "Custom::PclusterCluster")
    return properties


@pytest.fixture
def configuration(cluster: dict[str, Any]) -> dict[str, Any]:
    """The ClusterConfiguration."""
    found: dict[str, Any] = cluster["ClusterConfiguration"]
    return found


def queues(configuration: dict[str, Any]) -> list[dict[str, Any]]:
    """The Slurm queues of a configuration."""
    found: list[dict[str, Any]] = configuration["Scheduling"]["SlurmQueues"]
    return found


def test_the_provider_gets_the_three_properties_it_knows(cluster: dict[str, Any]) -> None:
    # Anything else, ServiceTimeout above all, is handed to pcluster.lib.create_cluster, which refuses it.
    assert set(cluster) == {"ServiceToken", "ClusterName", "ClusterConfiguration"}
    assert isinstance(cluster["ClusterConfiguration"], dict)


def test_the_cluster_is_not_named_like_a_stack_of_ours(cluster: dict[str, Any], each_slurm_assembly: Assembly) -> None:
    assert cluster["ClusterName"] not in each_slurm_assembly.templates()


def test_the_provider_is_the_regions_own(each_slurm_assembly: Assembly) -> None:
    region, version = each_slurm_assembly.environment.region, each_slurm_assembly.training.parallelcluster_version
    url = each_slurm_assembly.resource("training", "AWS::CloudFormation::Stack")["TemplateURL"]["Fn::Join"][1]

    assert url[0] == f"https://{region}-aws-parallelcluster.s3.{region}."
    assert url[2] == f"/parallelcluster/{version}/templates/custom_resource/cluster.yaml"


def test_the_head_node_is_private_and_reached_through_session_manager(
    configuration: dict[str, Any], each_slurm_assembly: Assembly
) -> None:
    head_node = configuration["HeadNode"]

    assert head_node["Networking"]["ElasticIp"] is False
    assert head_node["Imds"] == {"Secured": True}
    assert configuration["Imds"] == {"ImdsSupport": "v2.0"}
    assert head_node["Ssh"]["AllowedIps"] != "0.0.0.0/0"
    assert ("KeyName" in head_node["Ssh"]) is bool(each_slurm_assembly.training.ssh)
    assert "SessionManagerPolicy" in str(head_node["Iam"])
    assert "SessionManagerPolicy" not in str([queue["Iam"] for queue in queues(configuration)])


def test_every_volume_is_encrypted_gp3(configuration: dict[str, Any]) -> None:
    volumes = [
        configuration["HeadNode"]["LocalStorage"]["RootVolume"],
        *(queue["ComputeSettings"]["LocalStorage"]["RootVolume"] for queue in queues(configuration)),
        *(item["EbsSettings"] for item in configuration["SharedStorage"] if item["StorageType"] == "Ebs"),
    ]

    assert len(volumes) >= 3
    for volume in volumes:
        assert volume["VolumeType"] == "gp3"
        assert volume["Encrypted"] is True


def test_fsx_home_and_apps_are_shared(configuration: dict[str, Any], each_slurm_assembly: Assembly) -> None:
    mounts = {item["MountDir"]: item for item in configuration["SharedStorage"]}
    environment = each_slurm_assembly.environment
    keeps = (environment.storage.lifecycle or environment.lifecycle) == "persistent"

    further = {directory.path for directory in environment.storage.shared_directories}
    assert set(mounts) == {"/fsx", "/home", "/apps", *further}
    assert set(mounts["/fsx"]["FsxLustreSettings"]) == {"FileSystemId"}
    assert ("EbsSettings" in mounts["/home"]) is (environment.storage.home is None)
    for mount in [name for name in ("/home", "/apps") if "EbsSettings" in mounts[name]]:
        assert mounts[mount]["EbsSettings"]["DeletionPolicy"] == ("Snapshot" if keeps else "Delete")


def test_efa_is_on_where_the_type_has_it_or_the_file_says_so(
    configuration: dict[str, Any], each_slurm_assembly: Assembly
) -> None:
    wanted = [
        resource.efa if resource.efa is not None else facts.instance_type(resource.instance_type).efa_interfaces > 0
        for queue in each_slurm_assembly.training.queues
        for resource in queue.compute_resources
    ]
    found = [resource["Efa"]["Enabled"] for queue in queues(configuration) for resource in queue["ComputeResources"]]

    assert found == wanted


def test_a_placement_group_goes_with_efa_and_never_with_a_reservation(configuration: dict[str, Any]) -> None:
    for queue in queues(configuration):
        efa = any(resource["Efa"]["Enabled"] for resource in queue["ComputeResources"])
        reserved = "CapacityReservationTarget" in queue
        group = queue["Networking"]["PlacementGroup"]
        assert group == {"Enabled": efa and not reserved} or (reserved and group.get("Name"))


def test_local_disks_become_scratch_where_there_are_any(configuration: dict[str, Any]) -> None:
    for queue in queues(configuration):
        has_disks = any(facts.instance_type(r["InstanceType"]).nvme_volumes for r in queue["ComputeResources"])
        assert ("EphemeralVolume" in queue["ComputeSettings"]["LocalStorage"]) == has_disks


def test_jobs_get_whole_nodes_where_slurm_cannot_count_the_accelerators(configuration: dict[str, Any]) -> None:
    for queue in queues(configuration):
        has_chips = any(facts.instance_type(r["InstanceType"]).neuron_devices for r in queue["ComputeResources"])
        assert queue["JobExclusiveAllocation"] is has_chips


def test_all_nodes_stand_in_the_private_subnet_of_the_head_node(configuration: dict[str, Any]) -> None:
    for queue in queues(configuration):
        assert queue["Networking"]["SubnetIds"] == [configuration["HeadNode"]["Networking"]["SubnetId"]]
        assert "AssignPublicIp" not in queue["Networking"]


def test_script_urls_hold_no_content_hash(configuration: dict[str, Any]) -> None:
    actions = [
        *configuration["HeadNode"]["CustomActions"].values(),
        *(action for queue in queues(configuration) for action in queue["CustomActions"].values()),
    ]

    for action in actions:
        scheme, bucket, key = action["Script"]["Fn::Join"][1]
        assert scheme == "s3://"
        assert set(bucket) == {"Ref"}
        assert key == "/cluster/node_configured.sh"


def test_node_policies_are_below_the_path_that_the_provider_may_attach(each_slurm_assembly: Assembly) -> None:
    paths = {
        (role, policy["Properties"]["Path"])
        for role in ("storage", "training")
        for logical_id, policy in each_slurm_assembly.resources(role, "AWS::IAM::ManagedPolicy").items()
        if "Node" in logical_id or "Script" in logical_id
    }

    assert paths == {("storage", "/parallelcluster/"), ("training", "/parallelcluster/")}


def test_dashboards_and_alarms_go_with_the_cluster_and_logs_outlive_a_failed_one(
    configuration: dict[str, Any], each_slurm_assembly: Assembly
) -> None:
    monitoring = configuration["Monitoring"]

    assert monitoring["Logs"]["CloudWatch"] == {
        "Enabled": True,
        "RetentionInDays": each_slurm_assembly.environment.operations.log_retention_days,
        "DeletionPolicy": "Retain",
    }
    assert monitoring["Alarms"] == {"Enabled": True}
    assert monitoring["Dashboards"] == {"CloudWatch": {"Enabled": True}}


def test_the_ultracluster_reaches_30_000_chips(ultracluster: Assembly) -> None:
    configuration = ultracluster.resource("training", "Custom::PclusterCluster")["ClusterConfiguration"]
    chips = sum(
        resource["MaxCount"] * facts.instance_type(resource["InstanceType"]).neuron_devices
        for queue in queues(configuration)
        for resource in queue["ComputeResources"]
        if resource["InstanceType"] == "trn1.32xlarge"
    )

    assert chips == 30_000


def test_a_capacity_block_is_a_static_queue_in_its_reservation(ultracluster: Assembly) -> None:
    configuration = ultracluster.resource("training", "Custom::PclusterCluster")["ClusterConfiguration"]
    (block,) = [queue for queue in queues(configuration) if queue["CapacityType"] == "CAPACITY_BLOCK"]

    assert block["CapacityReservationTarget"] == {"CapacityReservationId": "cr-0fedcba9876543210"}
    for resource in block["ComputeResources"]:
        assert resource["MinCount"] == resource["MaxCount"] > 0


def test_training_waits_for_network_and_storage_and_for_nothing_else(default: Assembly) -> None:
    manifest = json.loads((default.directory / "manifest.json").read_text())
    stacks = set(default.templates())
    dependencies = set(manifest["artifacts"]["slipway-default-training"]["dependencies"]) & stacks

    assert dependencies == {"slipway-default-network", "slipway-default-storage"}


def test_compute_nodes_learn_what_their_instance_type_must_show(default: Assembly) -> None:
    configuration = default.resource("training", "Custom::PclusterCluster")["ClusterConfiguration"]
    role, _, prefix, stack, *expectations = queues(configuration)[0]["CustomActions"]["OnNodeConfigured"]["Args"]

    assert (role, prefix, stack) == ("compute", "cluster", "xla-2.28.1")
    assert expectations == ["trn1.32xlarge=16:8"]


def test_the_lock_pins_every_package_of_the_release_in_words_that_bash_reads() -> None:
    script = f"{neuron_lock('xla-2.28.1', 'ubuntu2204')}\nprintf '%s\\n' $NEURON_RELEASE $PYTHON_VERSION"
    script += ' "${SYSTEM_PACKAGES[@]}" "${PYTHON_PACKAGES[@]}" "${PYTHON_SOURCES[@]}" "${OPERATING_SYSTEMS[@]}"'
    said = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True).stdout.split()
    pins = facts.training_stack("xla-2.28.1")

    assert said == [
        "2.28.1",
        "3.10",
        *(f"{name}={version}" for name, version in sorted(pins.system_packages.items())),
        *(f"{name}=={version}" for name, version in sorted({**pins.python_packages, **pins.job_packages}.items())),
        *(f"{pattern}={address}" for pattern, address in pins.python_sources.items()),
        *pins.operating_systems,
    ]


def test_the_first_job_is_one_that_the_head_node_has(each_slurm_assembly: Assembly) -> None:
    outputs = each_slurm_assembly.template("training")["Outputs"]
    accelerated = {queue.name for queue in each_slurm_assembly.training.queues if queue.accelerated}
    assert ("FirstJob" in outputs) == bool(accelerated)
    if not accelerated:
        return
    command = outputs["FirstJob"]["Value"].split()
    script = PROJECT / "assets" / "cluster" / command[-1].removeprefix("/apps/slipway/")

    assert command[:2] == ["sbatch", "--partition"]
    assert command[2] in accelerated
    assert script.is_file()


def test_the_provider_asks_for_nothing_that_only_the_deployment_knows(each_slurm_assembly: Assembly) -> None:
    """A change set with nested stacks has placeholders for such values, which CloudFormation may refuse."""
    (provider,) = each_slurm_assembly.resources("training", "AWS::CloudFormation::Stack").values()
    text = json.dumps(provider["Properties"])

    assert not re.findall(r'"Fn::(?:GetAtt|GetStackOutput|ImportValue)"|"Ref": "(?!AWS::)', text)


def test_the_newest_log_group_that_is_listed_last_is_no_other_clusters(each_slurm_assembly: Assembly) -> None:
    """The names of the shipped clusters begin alike: trainium, trainium-small, trainium-team."""
    command = each_slurm_assembly.template("training")["Outputs"]["LogGroups"]["Value"]
    prefix = command.split()[command.split().index("--log-group-name-prefix") + 1]
    cluster = f"/aws/parallelcluster/{each_slurm_assembly.training.cluster_name}"

    assert f"{cluster}-202611220900".startswith(prefix)
    assert not f"{cluster}-team-202611220900".startswith(prefix)
