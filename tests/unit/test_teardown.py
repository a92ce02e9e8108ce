"""What `cdk destroy` leaves: nothing in an ephemeral environment, exactly the listed data in a persistent one."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.assembly import Assembly, Template, load, synthesize

KEPT_WHEN_PERSISTENT = Counter(
    {
        # A file system keeps its network interfaces in its subnet.
        ("network", "AWS::EC2::VPC"): 1,
        ("network", "AWS::EC2::Subnet"): 1,
        ("network", "AWS::S3::Bucket"): 1,
        ("network", "AWS::S3::BucketPolicy"): 1,
        ("storage", "AWS::S3::Bucket"): 3,
        ("storage", "AWS::S3::BucketPolicy"): 3,
        # /fsx and /home, each with its group.
        ("storage", "AWS::FSx::FileSystem"): 2,
        ("storage", "AWS::EC2::SecurityGroup"): 2,
        ("storage", "AWS::FSx::DataRepositoryAssociation"): 2,
    }
)

# Persistent too, but /fsx set apart: it goes, and with it its group and its links to the buckets.
KEPT_WITHOUT_LUSTRE = KEPT_WHEN_PERSISTENT - Counter(
    {
        ("storage", "AWS::FSx::FileSystem"): 1,
        ("storage", "AWS::EC2::SecurityGroup"): 1,
        ("storage", "AWS::FSx::DataRepositoryAssociation"): 2,
    }
)
# It records the access to its objects.
KEPT_WITHOUT_LUSTRE.update({("storage", "AWS::S3::Bucket"): 1, ("storage", "AWS::S3::BucketPolicy"): 1})
# A last snapshot is taken, then the database goes.
KEPT_WITHOUT_LUSTRE["storage", "AWS::RDS::DBInstance"] = 1

# The CDK keeps these when nobody says otherwise.
KEPT_BY_THE_CDK = {
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::FSx::FileSystem",
    "AWS::KMS::Key",
    "AWS::RDS::DBInstance",
    "AWS::SecretsManager::Secret",
}


def kept(template: Template) -> Counter[str]:
    """Resource types that stay when the stack goes, by number."""
    return Counter(
        resource["Type"]
        for resource in template["Resources"].values()
        if resource.get("DeletionPolicy", "Delete") != "Delete"
    )


@pytest.mark.parametrize("name", ["default", "small", "team"])
def test_an_ephemeral_environment_leaves_nothing(name: str, request: pytest.FixtureRequest) -> None:
    assembly: Assembly = request.getfixturevalue(name)

    for stack, template in assembly.templates().items():
        assert not kept(template), stack


@pytest.mark.parametrize(("name", "data"), [("ultracluster", KEPT_WHEN_PERSISTENT), ("directory", KEPT_WITHOUT_LUSTRE)])
def test_a_persistent_environment_keeps_exactly_its_data(
    name: str, data: Counter[tuple[str, str]], request: pytest.FixtureRequest
) -> None:
    assembly: Assembly = request.getfixturevalue(name)
    found = Counter(
        {
            (stack.removeprefix(f"slipway-{name}-"), resource_type): count
            for stack, template in assembly.templates().items()
            for resource_type, count in kept(template).items()
        }
    )

    assert found == data


def test_of_a_kept_database_the_last_snapshot_is_kept(directory: Assembly, team: Assembly) -> None:
    def policy(assembly: Assembly) -> Any:
        (database,) = assembly.resources("storage", "AWS::RDS::DBInstance").values()
        return database["DeletionPolicy"], database["Properties"]["DeleteAutomatedBackups"]

    assert policy(directory) == ("Snapshot", True)
    assert policy(team) == ("Delete", True)


def test_a_file_system_set_apart_goes_its_own_way(directory: Assembly) -> None:
    policies = {
        resource["Properties"]["FileSystemType"]: resource["DeletionPolicy"]
        for resource in directory.resources("storage", "AWS::FSx::FileSystem").values()
    }

    assert policies == {"LUSTRE": "Delete", "OPENZFS": "RetainExceptOnCreate"}


def test_a_kept_file_system_is_cut_off_from_buckets_before_they_are_emptied(tmp_path: Path) -> None:
    storage = load("small").storage
    lustre = storage.lustre.model_copy(update={"lifecycle": "persistent"})
    environment = load("small").model_copy(update={"storage": storage.model_copy(update={"lustre": lustre})})
    assembly = synthesize(environment, tmp_path)
    links = assembly.resources("storage", "AWS::FSx::DataRepositoryAssociation").values()

    # A link that is left would import the deletion of each object, and delete the kept files.
    assert {link["DeletionPolicy"] for link in links} == {"Delete"}
    assert kept(assembly.template("storage")) == {"AWS::FSx::FileSystem": 1, "AWS::EC2::SecurityGroup": 1}
    assert kept(assembly.template("network")) == {"AWS::EC2::VPC": 1, "AWS::EC2::Subnet": 1}


def test_everything_with_data_states_its_deletion_policy(each_assembly: Assembly) -> None:
    for template in each_assembly.templates().values():
        for logical_id, resource in template["Resources"].items():
            if resource["Type"] in KEPT_BY_THE_CDK:
                assert "DeletionPolicy" in resource, logical_id
                # Kept data goes only with a first deployment that fails.
                kept = resource["DeletionPolicy"].removesuffix("ExceptOnCreate")
                assert resource["UpdateReplacePolicy"] == kept, logical_id


def test_buckets_that_go_are_emptied_first(each_assembly: Assembly) -> None:
    for template in each_assembly.templates().values():
        resources = template["Resources"]
        emptied = {
            resource["Properties"]["BucketName"]["Ref"]
            for resource in resources.values()
            if resource["Type"] == "Custom::S3AutoDeleteObjects"
        }
        going = {
            logical_id
            for logical_id, resource in resources.items()
            if resource["Type"] == "AWS::S3::Bucket" and resource["DeletionPolicy"] == "Delete"
        }
        assert emptied == going


def test_no_function_leaves_a_log_group_of_its_own_making(each_assembly: Assembly) -> None:
    for stack, template in each_assembly.templates().items():
        for logical_id, resource in template["Resources"].items():
            if resource["Type"] == "AWS::Lambda::Function":
                assert "LoggingConfig" in resource["Properties"], f"{stack}: {logical_id}"


def test_the_cluster_is_gone_before_anything_that_it_uses(each_slurm_assembly: Assembly) -> None:
    cluster = next(iter(each_slurm_assembly.resources("training", "Custom::PclusterCluster").values()))
    scripts = set(each_slurm_assembly.resources("training", "Custom::CDKBucketDeployment"))

    assert cluster["DeletionPolicy"] == "Delete"
    assert scripts <= set(cluster["DependsOn"])


@pytest.mark.parametrize("name", ["ultracluster", "directory"])
def test_storage_of_a_persistent_environment_cannot_be_deleted_by_mistake(
    name: str, request: pytest.FixtureRequest
) -> None:
    assembly: Assembly = request.getfixturevalue(name)
    manifest = json.loads((assembly.directory / "manifest.json").read_text())
    protected = {
        stack
        for stack, artifact in manifest["artifacts"].items()
        if artifact.get("properties", {}).get("terminationProtection")
    }
    assert protected == {f"slipway-{name}-storage"}


def test_the_network_that_stays_is_the_file_systems(
    ultracluster: Assembly, public: Assembly, directory: Assembly
) -> None:
    for assembly in (ultracluster, public, directory):
        kept_subnets = [
            subnet["Properties"]["AvailabilityZoneId"]
            for subnet in assembly.resources("network", "AWS::EC2::Subnet").values()
            if subnet.get("DeletionPolicy") == "RetainExceptOnCreate"
        ]
        assert kept_subnets == [assembly.environment.network.training_availability_zone_id]


def test_storage_set_apart_is_kept_and_protected_in_an_ephemeral_environment(public: Assembly) -> None:
    manifest = json.loads((public.directory / "manifest.json").read_text())

    assert kept(public.template("storage"))["AWS::FSx::FileSystem"] == 1
    assert manifest["artifacts"]["slipway-public-storage"]["properties"]["terminationProtection"] is True
    assert not kept(public.template("network"))["AWS::S3::Bucket"]
