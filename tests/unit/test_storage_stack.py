"""The storage stack: the file system that the file asks for, reachable by nodes and by nobody else."""

import json
from typing import Any

from tests.assembly import Assembly


def resource_named(assembly: Assembly, resource_type: str, prefix: str) -> Any:
    """The one resource of a type in the storage stack whose logical id starts so."""
    found = assembly.resources("storage", resource_type)
    (resource,) = [item for logical_id, item in found.items() if logical_id.startswith(prefix)]
    return resource


def test_the_file_system_is_what_the_environment_file_asks_for(each_own_storage: Assembly) -> None:
    wanted = each_own_storage.environment.storage.lustre
    file_system = resource_named(each_own_storage, "AWS::FSx::FileSystem", "Lustre")["Properties"]

    assert file_system["FileSystemTypeVersion"] == "2.15"
    assert file_system["StorageCapacity"] == wanted.capacity_gib
    assert file_system["LustreConfiguration"] == {
        "DataCompressionType": "LZ4",
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": wanted.throughput_mb_s_per_tib,
    }


def test_file_systems_and_database_wait_for_no_other_resource_that_takes_long(each_assembly: Assembly) -> None:
    slow = {"AWS::FSx::FileSystem", "AWS::RDS::DBInstance"}
    resources = each_assembly.template("storage")["Resources"]
    slow_ids = {logical_id for logical_id, resource in resources.items() if resource["Type"] in slow}

    for logical_id in slow_ids:
        assert "DependsOn" not in resources[logical_id]
        assert not any(f'"{other}"' in json.dumps(resources[logical_id]) for other in slow_ids)


def test_data_comes_in_and_goes_out_and_checkpoints_go_out(each_own_storage: Assembly) -> None:
    associations = {
        resource["Properties"]["FileSystemPath"]: resource["Properties"]
        for resource in each_own_storage.resources("storage", "AWS::FSx::DataRepositoryAssociation").values()
    }

    # What users fetch goes to the bucket by FSx, and not with a permission of theirs. What they remove stays there.
    assert associations["/data"]["S3"] == {
        "AutoImportPolicy": {"Events": ["NEW", "CHANGED", "DELETED"]},
        "AutoExportPolicy": {"Events": ["NEW", "CHANGED"]},
    }
    assert associations["/data"]["BatchImportMetaDataOnCreate"] is True
    # A checkpoint that a job deletes to make room must stay in the bucket.
    assert associations["/checkpoints"]["S3"] == {"AutoExportPolicy": {"Events": ["NEW", "CHANGED"]}}
    inference = each_own_storage.environment.inference
    reads_models = inference is not None and any(model.source.type == "lustre" for model in inference.models)
    assert set(associations) == {"/data", "/checkpoints"} | ({"/models"} if reads_models else set())


def test_access_logs_go_to_the_bucket_that_outlives_the_others(each_slurm_assembly: Assembly) -> None:
    for role in ("storage", "training"):
        for bucket in each_slurm_assembly.resources(role, "AWS::S3::Bucket").values():
            target = bucket["Properties"]["LoggingConfiguration"]["DestinationBucketName"]
            assert target["Fn::GetStackOutput"]["StackName"].endswith("-network")


def test_nodes_may_read_data_and_models_and_write_checkpoints_and_no_more(default: Assembly) -> None:
    policies = default.resources("storage", "AWS::IAM::ManagedPolicy")
    (policy,) = [item["Properties"] for logical_id, item in policies.items() if logical_id.startswith("NodePolicy")]
    statements = policy["PolicyDocument"]["Statement"]
    (writable,) = [statement["Resource"] for statement in statements if "s3:PutObject" in statement["Action"]]
    actions = {
        action
        for statement in statements
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }

    assert "Checkpoints" in str(writable)
    assert not any(name in str(writable) for name in ("Data", "Models"))
    assert not any("*" in action for action in actions)
    assert not any(action.startswith(("s3:DeleteBucket", "s3:PutBucket")) for action in actions)


def test_the_buckets_that_people_use_are_outputs(each_own_storage: Assembly) -> None:
    outputs = each_own_storage.template("storage")["Outputs"]
    buckets = each_own_storage.resources("storage", "AWS::S3::Bucket")

    for role in ("Data", "Checkpoint", "Model"):
        assert outputs[f"{role}Bucket"]["Value"]["Ref"] in [name for name in buckets if name.startswith(role)]
