"""`slipway az` as it is called."""

from pathlib import Path
from typing import Any

import boto3
import pytest
from typer.testing import CliRunner

from slipway.aws.account import Account
from slipway.cli import app
from tests.check.az.account import TEXT, environment_file, with_changes
from tests.check.preflight.aws import Aws, Refusal
from tests.config.files import Values


@pytest.fixture(autouse=True)
def _account(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    def account(region: str, owner: str | None) -> Account:
        asked = aws.account()
        asked.region, asked.owner = region, owner
        return asked

    monkeypatch.setattr(Account, "in_region", account)
    monkeypatch.setenv("COLUMNS", "200")


def called(path: Path, *options: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["az", "-e", str(path), *options])
    return result.exit_code, result.output


def test_the_file_gets_its_zone_and_the_reason(tmp_path: Path) -> None:
    path = environment_file(tmp_path)
    code, output = called(path)
    assert code == 0
    assert "training usw2-az4, others usw2-az3 and usw2-az2: usw2-az4 offers trn1n.32xlarge" in output
    assert "It was usw2-az1. In a deployed environment, a deployment would replace subnets" in output
    assert f"written to {path}." in output
    assert "training_availability_zone_id:  usw2-az4   # ours" in path.read_text()
    assert "# slipway az: 20" in path.read_text()


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    path = environment_file(tmp_path)
    called(path)
    first = path.read_bytes(), path.stat().st_mtime_ns
    code, output = called(path)
    assert (code, (path.read_bytes(), path.stat().st_mtime_ns)) == (0, first)
    assert f"{path} says so already." in output
    assert "It was" not in output


def test_the_zones_of_an_environment_that_stands_are_not_replaced(tmp_path: Path) -> None:
    """A new queue can need another zone."""
    ec2 = boto3.client("ec2", "us-west-2")
    vpc = ec2.create_vpc(CidrBlock="10.40.0.0/16")["Vpc"]["VpcId"]
    tags: Any = [{"ResourceType": "subnet", "Tags": [{"Key": "slipway:environment", "Value": "test"}]}]
    ec2.create_subnet(VpcId=vpc, CidrBlock="10.40.0.0/24", AvailabilityZoneId="usw2-az1", TagSpecifications=tags)
    path = environment_file(tmp_path)
    code, output = called(path)
    assert code == 1
    assert f"{path} was not changed: the environment is deployed in usw2-az1. Take the zones out of the file" in output
    assert path.read_text() == TEXT


def existing_vpc(*zones: int) -> Values:
    """Return changes: a VPC that has a private subnet in some zones."""
    subnets = [{"id": f"subnet-0a1b2c3{zone}", "availability_zone_id": f"usw2-az{zone}"} for zone in zones]
    existing = {"vpc_id": "vpc-0a1b2c3d", "cidr": "10.80.0.0/16", "private_subnets": subnets}
    return {"network.existing": existing}


def test_zones_with_subnets_of_an_existing_vpc_are_taken_and_shown(tmp_path: Path) -> None:
    """Without subnets in them, az1 and az2 would be taken."""
    path = with_changes(tmp_path, {"network": {"other_availability_zone_ids": ["us-west-2a"]}, **existing_vpc(4, 3)})
    code, output = called(path)
    assert code == 0, output
    assert "training usw2-az4, others usw2-az3:" in output
    assert [line.split("│")[1].strip() for line in output.splitlines() if "│ private" in line] == [
        "usw2-az3",
        "usw2-az4",
    ]
    assert "possible with a subnet" in output
    assert "training_availability_zone_id: usw2-az4" in path.read_text()


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_zone_without_a_subnet_is_named_with_the_subnet_that_it_needs(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    """trn1n.32xlarge is offered in usw2-az4 alone."""
    zones = {"training_availability_zone_id": "usw2-az1", "other_availability_zone_ids": ["usw2-az3"]}
    type_ = {"training.queues.0.compute_resources.0.instance_type": "trn1n.32xlarge"}
    path = with_changes(tmp_path, {"network": zones, **existing_vpc(1, 3), **type_})
    before = path.read_text()
    code, output = called(path, *options)
    assert code == 1
    assert "training usw2-az4" in output
    assert "a deployment would replace file systems" in output
    assert "was not changed: the existing VPC needs a subnet in each zone. Make one in usw2-az4 and name it" in output
    assert "`network.existing.private_subnets`" in output
    assert path.read_text() == before


def test_a_public_endpoint_needs_public_subnets_too(tmp_path: Path) -> None:
    public = {"network.existing.public_subnets": [{"id": "subnet-0a1b2c3e", "availability_zone_id": "usw2-az4"}]}
    code, output = called(with_changes(tmp_path, {**existing_vpc(4, 1), **public}), "--offline")
    assert code == 1
    assert "│ private, public │" in output
    assert "Make one in usw2-az1 and name it in `network.existing.public_subnets`." in output


def test_another_region_has_nothing_of_an_existing_vpc(tmp_path: Path) -> None:
    code, output = called(with_changes(tmp_path, existing_vpc(4, 1)), "--region", "us-east-1")
    assert code == 0
    assert "subnets" not in output.split("decision")[0]


@pytest.mark.parametrize("options", [("--dry-run",), ("--region", "us-east-1")])
def test_nothing_is_written_when_only_looking(options: tuple[str, ...], tmp_path: Path) -> None:
    path = environment_file(tmp_path)
    code, output = called(path, *options)
    assert code == 0
    assert "was not changed" in output
    assert path.read_text() == TEXT


def test_another_region_is_shown_with_its_zones(tmp_path: Path) -> None:
    _, output = called(environment_file(tmp_path), "--region", "us-east-1")
    assert "training use1-az6" in output


def test_no_fitting_zone_says_what_is_missing_where(tmp_path: Path) -> None:
    path = with_changes(tmp_path, {"training.queues.0.compute_resources.0.instance_type": "trn2.48xlarge"})
    before = path.read_text()
    code, output = called(path)
    assert code == 1
    for number in range(1, 5):
        assert f"usw2-az{number}: no trn2.48xlarge" in output
    assert "The file was not changed." in output
    assert path.read_text() == before


def test_zones_that_the_facts_refuse_are_not_written(tmp_path: Path, aws: Aws) -> None:
    """EC2 may offer a type in a zone of which the facts do not know it yet."""
    path = environment_file(tmp_path)
    types = ("trn1n.32xlarge", "m6i.2xlarge", "inf2.xlarge")
    aws.replies["ec2.DescribeInstanceTypeOfferings"] = {
        "InstanceTypeOfferings": [{"InstanceType": name, "Location": "usw2-az1"} for name in types]
    }
    code, output = called(path)
    assert code == 1
    assert f"{path} was not changed, for with these zones and their comment it would not be valid" in output
    assert "trn1n.32xlarge is not offered in usw2-az1" in output
    assert path.read_text() == TEXT


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "RequestLimitExceeded"])
@pytest.mark.parametrize("operation", ["DescribeAvailabilityZones", "DescribeInstanceTypeOfferings"])
def test_without_an_answer_nothing_is_chosen(code: str, operation: str, tmp_path: Path, aws: Aws) -> None:
    path = environment_file(tmp_path)
    aws.replies[f"ec2.{operation}"] = Refusal(code)
    exit_code, output = called(path)
    assert exit_code == 2
    assert "AWS does not say what the zones of us-west-2 offer" in output
    assert "--offline" in output
    assert path.read_text() == TEXT


def test_offline_takes_the_facts_and_says_so(tmp_path: Path, aws: Aws) -> None:
    path = environment_file(tmp_path)
    code, output = called(path, "--offline")
    assert code == 0
    assert not aws.calls
    assert "AWS was not asked: offerings are the facts of" in output
    assert ", facts of 20" in path.read_text()


@pytest.mark.parametrize(
    ("text", "exit_code", "message"),
    [
        (None, 2, "there is no such file"),
        ("", 2, "the file is empty"),
        (TEXT.replace("region: us-west-2", "region: {us-west-2: 1}"), 2, "test.yaml:3:"),
        (TEXT.replace("1200", "a lot"), 2, "test.yaml:11:"),
        # A rule, not a form: it is looked at when the zones are known.
        (TEXT.replace("1200", "1300"), 1, "/test.yaml:13:"),
    ],
)
def test_a_wrong_file_is_told_with_its_place(text: str | None, exit_code: int, message: str, tmp_path: Path) -> None:
    path = environment_file(tmp_path, text) if text is not None else tmp_path / "absent.yaml"
    code, output = called(path, "--offline")
    assert code == exit_code
    assert message in output
    assert "Traceback" not in output
