"""The whole command against moto, with programs that do what the test says."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.cloudformation.models import cloudformation_backends
from typer.testing import CliRunner, Result

from slipway.assembly.existing import ExistingResource
from slipway.aws.account import Account
from slipway.aws.stacks import deployed_stacks
from slipway.cli import app
from slipway.remove.teardown import inspection
from slipway.remove.teardown.deployed import refuse_unnamed_losses
from tests.remove.teardown.conftest import TOPIC, SlowTermination
from tests.remove.teardown.fakes import (
    BUCKET,
    CLUSTER,
    NETWORK,
    TEMPLATES,
    TRAINING,
    FakePrograms,
    pcluster_calls,
    start_nodes,
    states,
    write_assembly,
)


def slipway_destroy(assembly: Path, *options: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, ["destroy", "--assembly", str(assembly), *options], input=typed)


def test_nodes_go_before_stacks(
    deployed: Account, assembly: Path, programs: FakePrograms, slow_termination: SlowTermination
) -> None:
    nodes = start_nodes(deployed.client("ec2"), 3)
    seen: list[set[str]] = []
    programs.before_each = lambda: seen.append(states(deployed.client("ec2"), nodes))

    result = slipway_destroy(assembly, "--yes", "--with-running-jobs")

    assert result.exit_code == 0, result.output
    assert seen == [{"terminated"}]
    assert pcluster_calls(programs.folder)
    assert deployed_stacks(deployed.client("cloudformation")) == {}
    assert result.output.endswith("environment tiny is destroyed\n")


def test_it_says_beforehand_what_goes_and_what_stays(deployed: Account, assembly: Path, programs: FakePrograms) -> None:
    start_nodes(deployed.client("ec2"), 2)

    said = slipway_destroy(assembly, typed="n\n").output

    for line in (
        "Environment tiny in account 123456789012, us-west-2",
        f"{TRAINING} (CREATE_COMPLETE)",
        f"{CLUSTER} (CREATE_COMPLETE)",
        f"{CLUSTER}, queue trn2: 2 nodes running",
        f"AWS::EC2::VPC Vpc in {NETWORK}",
        f"a snapshot of volume /home of cluster {CLUSTER}",
        f"volume /apps of cluster {CLUSTER}",
        "S3 bucket parallelcluster-*-v1-do-not-delete",
    ):
        assert line in said
    assert "LOST" not in said


def test_it_names_what_is_not_slipways_before_it_asks(
    deployed: Account, tmp_path: Path, programs: FakePrograms
) -> None:
    lustre = ExistingResource("FSx for Lustre file system", "fs-0123456789abcdef0", "/fsx")

    said = slipway_destroy(write_assembly(tmp_path / "with-existing", existing=[lustre]), typed="n\n").output

    # Both stacks use it; it is said once.
    assert said.count("Stays: not Slipway's:\n  FSx for Lustre file system fs-0123456789abcdef0 (/fsx)\n") == 1


@pytest.mark.parametrize("typed", ["n\n", ""])
def test_without_a_yes_nothing_is_changed(
    deployed: Account, assembly: Path, programs: FakePrograms, typed: str
) -> None:
    result = slipway_destroy(assembly, typed=typed)

    assert result.exit_code == 2
    assert "Nothing was changed" in result.output
    assert len(deployed_stacks(deployed.client("cloudformation"))) == 3


@pytest.mark.parametrize(("typed", "exit_code"), [("tiny\n", 0), ("y\n", 2)])
def test_who_loses_data_types_the_environments_name(
    deployed: Account, tmp_path: Path, programs: FakePrograms, typed: str, exit_code: int
) -> None:
    assembly = write_assembly(tmp_path / "lost", {**TEMPLATES, NETWORK: {"Data": BUCKET}})

    result = slipway_destroy(assembly, typed=typed)

    assert f"AWS::S3::Bucket Data in {NETWORK}" in result.output
    assert result.exit_code == exit_code, result.output


def test_a_script_does_not_end_jobs_by_mistake(deployed: Account, assembly: Path, programs: FakePrograms) -> None:
    nodes = start_nodes(deployed.client("ec2"))

    result = slipway_destroy(assembly, "--yes")

    assert result.exit_code == 2
    assert "--with-running-jobs" in result.output
    assert states(deployed.client("ec2"), nodes) == {"running"}


def test_protection_is_taken_off_only_when_told(protected: str, assembly: Path, programs: FakePrograms) -> None:
    refused = slipway_destroy(assembly, "--yes")
    destroyed = slipway_destroy(assembly, "--yes", "--unprotect")

    assert refused.exit_code == 2
    assert f"{protected} has termination protection; --unprotect" in refused.output
    assert destroyed.exit_code == 0, destroyed.output
    assert f"{protected}: termination protection is off" in destroyed.output


def test_a_failed_deletion_is_tried_once_more_after_nodes_that_came_meanwhile(
    deployed: Account, assembly: Path, programs: FakePrograms, slow_termination: SlowTermination
) -> None:
    programs.failures = 1
    late: list[str] = []
    programs.before_each = lambda: late.extend([] if late else start_nodes(deployed.client("ec2")))

    result = slipway_destroy(assembly, "--yes")

    assert result.exit_code == 0, result.output
    assert programs.attempts == 2
    assert states(deployed.client("ec2"), late) == {"terminated"}


def test_it_is_not_tried_for_ever(deployed: Account, assembly: Path, programs: FakePrograms) -> None:
    programs.failures = 99

    result = slipway_destroy(assembly, "--yes")

    assert result.exit_code == 1
    assert programs.attempts == 2
    assert "cdk destroy failed 2 times" in result.output


def test_nodes_that_never_go_end_it_before_any_stack_is_deleted(
    deployed: Account, protected: str, assembly: Path, programs: FakePrograms, slow_termination: SlowTermination
) -> None:
    start_nodes(deployed.client("ec2"))

    result = slipway_destroy(assembly, "--yes", "--with-running-jobs", "--unprotect", "--fleet-timeout-minutes", "0")

    assert result.exit_code == 1
    assert "No stack was deleted. Run this again" in result.output
    assert programs.attempts == 0
    assert deployed_stacks(deployed.client("cloudformation"))[protected].protected


def test_nodes_of_a_cluster_whose_stack_is_gone_are_terminated(
    account: Account, assembly: Path, programs: FakePrograms
) -> None:
    nodes = start_nodes(account.client("ec2"))

    result = slipway_destroy(assembly, "--yes", "--with-running-jobs")

    assert result.exit_code == 0, result.output
    assert states(account.client("ec2"), nodes) == {"terminated"}
    assert pcluster_calls(programs.folder) == []


def test_a_stack_that_the_file_no_longer_has_is_not_forgotten(
    deployed: Account, assembly: Path, programs: FakePrograms
) -> None:
    tags = [{"Key": "slipway:environment", "Value": "tiny"}]
    deployed.client("cloudformation").create_stack(StackName="slipway-tiny-inference", TemplateBody=TOPIC, Tags=tags)

    result = slipway_destroy(assembly, "--yes")

    assert result.exit_code == 2
    assert "slipway-tiny-inference carries the tag of environment 'tiny'" in result.output


def test_without_credentials_it_says_so(
    assembly: Path, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    result = slipway_destroy(assembly)

    assert result.exit_code == 2
    assert "no AWS account: Unable to locate credentials" in result.output


def test_ctrl_c_leaves_what_a_second_run_can_finish(
    deployed: Account, assembly: Path, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    programs.before_each = interrupt

    result = slipway_destroy(assembly, "--yes")

    assert result.exit_code == 130
    assert f"`slipway destroy --assembly {assembly} --yes` finishes it" in result.output


@pytest.mark.parametrize("options", [[], ["--assembly", "somewhere", "-e", "small"]])
def test_one_environment_must_be_named(programs: FakePrograms, options: list[str]) -> None:
    result = CliRunner().invoke(app, ["destroy", *options])

    assert result.exit_code == 2
    assert "say which environment" in result.output


def test_an_account_that_refuses_to_list_stacks_is_left_alone(
    deployed: Account, assembly: Path, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_cloudformation: object) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "not for you."}}, "DescribeStacks")

    monkeypatch.setattr(inspection, "deployed_stacks", refuse)

    result = slipway_destroy(assembly, "--yes")

    assert result.exit_code == 2
    assert "AWS does not say what exists" in result.output
    assert "not for you. Nothing was changed" in result.output


def test_a_cluster_of_the_same_name_that_is_somebody_elses_is_left_alone(
    deployed: Account, assembly: Path, programs: FakePrograms
) -> None:
    deployed.client("cloudformation").delete_stack(StackName=CLUSTER)
    deployed.client("cloudformation").create_stack(StackName=CLUSTER, TemplateBody=TOPIC)
    nodes = start_nodes(deployed.client("ec2"))

    result = slipway_destroy(assembly, "--yes", "--with-running-jobs")

    assert result.exit_code == 2
    assert f"{CLUSTER} is deployed, but without the tag of environment 'tiny'" in result.output
    assert states(deployed.client("ec2"), nodes) == {"running"}
    assert not pcluster_calls(programs.folder)


@pytest.mark.parametrize(
    ("status", "refused"),
    [
        ("UPDATE_IN_PROGRESS", True),
        ("CREATE_IN_PROGRESS", True),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", True),
        ("UPDATE_ROLLBACK_IN_PROGRESS", True),
        ("DELETE_IN_PROGRESS", False),
        ("DELETE_FAILED", False),
        ("ROLLBACK_COMPLETE", False),
    ],
)
def test_a_deployment_that_is_under_way_is_not_cut_off(
    *, deployed: Account, assembly: Path, programs: FakePrograms, status: str, refused: bool
) -> None:
    nodes = start_nodes(deployed.client("ec2"))
    stacks = cloudformation_backends["123456789012"]["us-west-2"].stacks.values()
    next(stack for stack in stacks if stack.name == TRAINING).status = status

    result = slipway_destroy(assembly, "--yes", "--with-running-jobs")

    assert result.exit_code == (2 if refused else 0), result.output
    assert (f"{TRAINING} ({status}): a deployment is under way" in result.output) == refused
    assert states(deployed.client("ec2"), nodes) == ({"running"} if refused else {"terminated"})


@pytest.mark.parametrize(
    ("now", "lost"),
    [({**BUCKET, "DeletionPolicy": "Retain"}, True), ({"Type": "AWS::SNS::Topic"}, True), (BUCKET, False)],
)
def test_a_file_that_keeps_data_and_is_not_deployed_keeps_nothing(
    *, deployed: Account, tmp_path: Path, programs: FakePrograms, now: dict[str, str], lost: bool
) -> None:
    deployed.client("cloudformation").update_stack(
        StackName=NETWORK, TemplateBody=json.dumps({"Resources": {"Data": BUCKET}})
    )
    assembly = write_assembly(tmp_path / "edited", {**TEMPLATES, NETWORK: {"Data": now}})

    result = slipway_destroy(assembly, "--yes")

    assert result.exit_code == (2 if lost else 0), result.output
    assert (f"AWS::S3::Bucket Data in {NETWORK} would be lost: what is deployed deletes it" in result.output) == lost
    assert (NETWORK in deployed_stacks(deployed.client("cloudformation"))) == lost


def test_a_volume_that_the_deployed_cluster_deletes_is_no_kept_one(
    deployed: Account, assembly: Path, monkeypatch: pytest.MonkeyPatch, programs: FakePrograms
) -> None:
    storage = [{"StorageType": "Ebs", "MountDir": "/home", "EbsSettings": {}}]
    properties = {"ClusterName": CLUSTER, "ClusterConfiguration": {"SharedStorage": storage}}
    cluster = {"Type": "Custom::PclusterCluster", "Properties": properties}
    monkeypatch.setattr(
        inspection,
        "refuse_unnamed_losses",
        lambda scope, stacks, _: refuse_unnamed_losses(scope, stacks, Templates({"Cluster": cluster})),
    )

    result = slipway_destroy(assembly, "--yes")

    assert result.exit_code == 2
    assert f"volume /home of cluster {CLUSTER} would be lost" in result.output


class Templates:
    """CloudFormation that has one template for all; moto cannot deploy a cluster's."""

    def __init__(self, resources: dict[str, Any]) -> None:
        self.resources = resources

    def get_template(self, **_: str) -> dict[str, Any]:
        return {"TemplateBody": {"Resources": self.resources}}
