"""What a teardown proves at its end, and what it says when it cannot."""

from pathlib import Path

import pytest

from slipway.aws.account import Account
from slipway.aws.stacks import LOG_GROUP, SkippedResource, deployed_stacks
from slipway.remove.leftovers import look
from slipway.remove.leftovers.findings import NotLookedAt
from slipway.remove.leftovers.item import Item
from slipway.remove.leftovers.kind import Kind
from slipway.remove.teardown import inspection
from slipway.remove.teardown.teardown import Teardown
from tests.remove.teardown.fakes import CLUSTER, NETWORK, TEMPLATES, FakePrograms, write_assembly
from tests.remove.teardown.test_command import slipway_destroy


def test_a_second_run_finds_nothing_and_is_content(deployed: Account, assembly: Path, programs: FakePrograms) -> None:
    slipway_destroy(assembly, "--yes")

    result = slipway_destroy(assembly, "--yes")

    assert result.exit_code == 0
    assert "nothing of environment tiny is deployed in account 123456789012" in result.output
    assert programs.attempts == 1


def test_a_stack_that_still_stands_afterwards_is_a_failure(
    deployed: Account, assembly: Path, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "destroy", lambda _assembly: True)

    result = slipway_destroy(assembly, "--yes")

    assert result.exit_code == 1
    assert f"NOT DELETED: stack {CLUSTER}: it is in CREATE_COMPLETE" in result.output


def test_what_carries_the_tag_afterwards_is_a_failure_that_costs(
    deployed: Account, assembly: Path, programs: FakePrograms
) -> None:
    volume = deployed.client("ec2").create_volume(Size=100, AvailabilityZone="us-west-2a", VolumeType="gp3")["VolumeId"]
    deployed.client("ec2").create_tags(Resources=[volume], Tags=[{"Key": "slipway:environment", "Value": "tiny"}])

    result = slipway_destroy(assembly, "--yes")

    assert result.exit_code == 1
    assert f"NOT DELETED: EBS volume {volume}: tag slipway:environment=tiny; $8.00 a month" in result.output
    assert "`slipway leftovers` names the commands" in result.output


def test_a_second_run_looks_for_what_the_first_one_left(
    deployed: Account, assembly: Path, programs: FakePrograms
) -> None:
    tags = [{"ResourceType": "volume", "Tags": [{"Key": "slipway:environment", "Value": "tiny"}]}]
    zone = "us-west-2a"
    volume = deployed.client("ec2").create_volume(Size=1, AvailabilityZone=zone, TagSpecifications=tags)["VolumeId"]
    slipway_destroy(assembly, "--yes")

    again = slipway_destroy(assembly, "--yes")
    deployed.client("ec2").delete_volume(VolumeId=volume)
    last = slipway_destroy(assembly, "--yes")

    assert again.exit_code == 1
    assert f"NOT DELETED: EBS volume {volume}" in again.output
    assert last.exit_code == 0, last.output
    assert programs.attempts == 1


def test_a_second_run_deletes_the_log_groups_that_an_interrupted_one_left(
    deployed: Account, assembly: Path, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = f"/aws/parallelcluster/{CLUSTER}-202611220900"
    logs = deployed.client("logs")
    slipway_destroy(assembly, "--yes")
    logs.create_log_group(logGroupName=left)

    refused = slipway_destroy(assembly)
    kept = logs.describe_log_groups(logGroupNamePrefix=left)["logGroups"]
    again = slipway_destroy(assembly, "--yes")

    assert refused.exit_code == 1
    assert f"log group {left} is left" in refused.output
    assert f"NOT DELETED: log group {left}" in refused.output
    assert len(kept) == 1
    assert again.exit_code == 0, again.output
    assert f"log group {left} deleted" in again.output
    assert logs.describe_log_groups(logGroupNamePrefix=left)["logGroups"] == []


def test_log_groups_that_outlive_their_stacks_go_last_and_nobody_elses(
    deployed: Account, assembly: Path, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    retained = "/aws/lambda/pcluster-CleanupResources-0a1b2c3d"
    monkeypatch.setattr(
        "slipway.remove.teardown.teardown.skipped_resources",
        lambda *_: [SkippedResource(CLUSTER, "CleanupResourcesFunctionLogGroup", LOG_GROUP, retained)],
    )
    of_a_failed_attempt = f"/aws/parallelcluster/{CLUSTER}-202611220900"
    last_words = f"/aws/ecs/containerinsights/{NETWORK}/performance"
    others = {f"/aws/parallelcluster/{name}" for name in (f"{CLUSTER}-datasets", f"{CLUSTER}-team-202611220900")}
    for name in (retained, of_a_failed_attempt, *others):
        deployed.client("logs").create_log_group(logGroupName=name)
    programs.before_each = lambda: deployed.client("logs").create_log_group(logGroupName=last_words)

    result = slipway_destroy(assembly, "--yes")

    assert result.exit_code == 0, result.output
    for name in (retained, of_a_failed_attempt, last_words):
        assert f"log group {name} deleted" in result.output
    assert {group["logGroupName"] for group in deployed.client("logs").describe_log_groups()["logGroups"]} == others


@pytest.mark.parametrize("earlier", [True, False])
def test_what_could_not_be_looked_at_is_no_proof(
    *, deployed: Account, assembly: Path, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch, earlier: bool
) -> None:
    if earlier:
        slipway_destroy(assembly, "--yes")

    def refuse(_search: object, kind: Kind) -> list[Item]:
        _search.silent.append(NotLookedAt(what=kind.kind, why="not for you"))  # type: ignore[attr-defined]
        return []

    monkeypatch.setattr(look._Search, "_items", refuse)
    result = slipway_destroy(assembly, "--yes")

    assert result.exit_code == 2
    assert "not looked at: EBS volume: not for you" in result.output
    assert "it is unknown whether all is gone" in result.output
    assert deployed_stacks(deployed.client("cloudformation")) == {}


def test_a_backup_that_somebody_made_while_nodes_terminated_stays(
    *, deployed: Account, tmp_path: Path, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_system = {"Type": "AWS::FSx::FileSystem", "Properties": {"FileSystemType": "OPENZFS"}}
    assembly = write_assembly(tmp_path / "lost", {**TEMPLATES, NETWORK: {"Home": file_system}})
    home = deployed.client("fsx").create_file_system(
        FileSystemType="OPENZFS", StorageCapacity=64, SubnetIds=["subnet-12345678"]
    )
    id_ = home["FileSystem"]["FileSystemId"]
    monkeypatch.setattr(inspection, "_lost", lambda *of: (id_,) if of[3] == "AWS::FSx::FileSystem" else ())
    made: list[str] = []

    def back_up(*_: object) -> None:
        made.append(deployed.client("fsx").create_backup(FileSystemId=id_)["Backup"]["BackupId"])

    monkeypatch.setattr(Teardown, "empty_clusters", back_up)
    programs.before_each = back_up
    result = slipway_destroy(assembly, "--yes")

    somebodys, last = made
    assert [row["BackupId"] for row in deployed.client("fsx").describe_backups()["Backups"]] == [somebodys]
    assert f"last backup {last} of {id_} deleted" in result.output
