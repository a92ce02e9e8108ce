from typing import Any

import pytest

from slipway.rehearse.inventory import Inventory, added, rows
from slipway.rehearse.ledger import ResourceEntry
from slipway.rehearse.leftovers import Leftover, classify
from slipway.remove.documented_leftovers import rules
from tests.rehearse.fakes import resource


def entries(*lines: dict[str, Any]) -> list[ResourceEntry]:
    return [ResourceEntry.model_validate(line) for line in lines]


def classified(inventory: Inventory, *lines: dict[str, Any], keeps_data: bool = False) -> tuple[Leftover, ...]:
    return classify(inventory, entries(*lines), keeps_data=keeps_data, ignored_stacks=frozenset({"CDKToolkit"}))


def test_what_stood_before_is_no_leftover() -> None:
    assert added({"VPC": ("vpc-default",)}, {"VPC": ("vpc-default", "vpc-new"), "subnet": ("subnet-1",)}) == {
        "VPC": ("vpc-new",),
        "subnet": ("subnet-1",),
    }
    assert added({"VPC": ("vpc-default",)}, {"VPC": ("vpc-default",)}) == {}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("CloudFormation stack", "CDKToolkit"),
        ("IAM role", "cdk-hnb659fds-deploy-role-123456789012-us-west-2"),
        ("S3 bucket", "parallelcluster-0a1b2c3d4e5f6789-v1-do-not-delete"),
    ],
)
def test_documented_leftovers_have_a_reason(kind: str, name: str) -> None:
    (left,) = classified({kind: (name,)})
    assert left.documented
    assert left.reason


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("NAT gateway", "nat-0123456789abcdef0"),
        ("CloudFormation stack", "slipway-default-network"),
        ("S3 bucket", "slipway-default-storage-models"),
        ("IAM role", "CDKToolkit"),
    ],
)
def test_everything_else_is_unexpected(kind: str, name: str) -> None:
    (left,) = classified({kind: (name,)})
    assert not left.documented
    assert left.reason == "nothing accounts for it"


def test_a_resource_that_was_never_deleted_is_a_leftover_even_if_no_list_shows_it() -> None:
    (left,) = classified(
        {},
        resource("create", "training", "Group", "AWS::EC2::PlacementGroup"),
        resource("create", "training", "Topic"),
        resource("delete", "training", "Topic"),
    )
    assert left.name == "training/Group (AWS::EC2::PlacementGroup)"
    assert not left.documented


def test_a_leftover_that_both_witnesses_name_is_told_once() -> None:
    (left,) = classified({"SNS topic": ("operations-Topic",)}, resource("create", "operations", "Topic"))
    assert left.kind == "SNS topic"


def test_a_clusters_log_group_that_was_deleted_outside_of_its_stack_is_documented() -> None:
    log_group = {
        **resource("retain", "trainium", "CloudWatchLogGroup", "AWS::Logs::LogGroup"),
        "physical_id": "/aws/parallelcluster/trainium-202611220900",
    }

    (left,) = classified({}, log_group)

    assert left.documented
    assert "`slipway destroy` deletes it" in left.reason


def test_resources_of_the_bootstrap_stack_are_expected_to_stand() -> None:
    assert classified({}, resource("create", "CDKToolkit", "StagingBucket", "AWS::S3::Bucket")) == ()


def test_a_created_resource_that_was_rolled_back_is_gone() -> None:
    assert classified({}, resource("create", "a", "Topic"), resource("rollback", "a", "Topic")) == ()


def kept_bucket(keeps_data: bool, type_: str = "AWS::S3::Bucket") -> Leftover:
    (left,) = classified(
        {"S3 bucket": ("storage-Data",)},
        resource("create", "storage", "Data", type_),
        resource("retain", "storage", "Data", type_),
        keeps_data=keeps_data,
    )
    return left


def test_a_persistent_environment_may_keep_its_data() -> None:
    assert kept_bucket(keeps_data=True).documented


def test_an_ephemeral_environment_may_keep_nothing() -> None:
    left = kept_bucket(keeps_data=False)
    assert not left.documented
    assert "DeletionPolicy of storage/Data" in left.reason


def test_a_persistent_environment_may_keep_data_only() -> None:
    assert not kept_bucket(keeps_data=True, type_="AWS::Logs::LogGroup").documented


def test_a_kept_file_system_keeps_its_interfaces_subnet_and_vpc() -> None:
    inventory = {
        "FSx file system": ("fs-1",),
        "network interface": ("eni-1 Created By Amazon FSx fs-1",),
        "subnet": ("subnet-1",),
        "VPC": ("vpc-1",),
    }
    lines = [
        resource("retain", "storage", "FileSystem", "AWS::FSx::FileSystem", physical_id="fs-1"),
        resource("retain", "network", "Subnet", "AWS::EC2::Subnet", physical_id="subnet-1"),
        resource("retain", "network", "Vpc", "AWS::EC2::VPC", physical_id="vpc-1"),
    ]
    assert [left.name for left in classified(inventory, *lines, keeps_data=True) if not left.documented] == []
    kept = {left.kind for left in classified(inventory, *lines, keeps_data=False) if not left.documented}
    assert kept == {"FSx file system", "subnet", "VPC"}


def test_a_kept_vpc_excuses_no_other_subnet() -> None:
    retained = resource("retain", "network", "Subnet", "AWS::EC2::Subnet", physical_id="subnet-1")
    unexpected, _ = classified({"subnet": ("subnet-1", "subnet-2")}, retained, keeps_data=True)
    assert (unexpected.name, unexpected.documented) == ("subnet-2", False)


def test_unexpected_leftovers_come_first() -> None:
    left = classified({"CloudFormation stack": ("CDKToolkit",), "VPC": ("vpc-1",)})
    assert [item.documented for item in left] == [False, True]


def test_every_rule_is_about_a_kind_of_the_inventory() -> None:
    assert {rule.kind for rule in rules().documented} <= {row.kind for row in rows()}
