"""Optional parts of a cluster pass the real validators: /home, accounting, logins, a directory, reservation groups."""

from pathlib import Path
from typing import Any

import pytest

from slipway.review.judge.assembly import read_assembly
from slipway.review.judge.explanations import explanation_of, load_explanations
from slipway.review.judge.inside_parallelcluster.answer import Answer, Level
from slipway_emulator.capacity_reservations import CapacityReservation
from tests.assembly import Assembly
from tests.conftest import AssemblyFactory
from tests.review.judge.quick_judge import ask_parallelcluster

pytestmark = pytest.mark.judge

OWNERS = {
    "name": "what-the-account-has",
    "region": "us-east-2",
    "tags": {},
    "template": {
        "Resources": {
            "KeyPair": {"Type": "AWS::EC2::KeyPair", "Properties": {"KeyName": "platform", "KeyType": "ed25519"}},
            "Boundary": {
                "Type": "AWS::IAM::ManagedPolicy",
                "Properties": {
                    "ManagedPolicyName": "developer-boundary",
                    "PolicyDocument": {
                        "Version": "2012-10-17",
                        "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}],
                    },
                },
            },
        }
    },
}
"""What tests/environments/directory.yaml names and does not make: it is there before. Its secret cannot be: moto makes
up the end of a secret's ARN."""

RESERVATION = CapacityReservation(
    id="cr-0aaaaaaaaaaaaaaaa",
    type="default",
    instance_type="trn2.48xlarge",
    availability_zone_id="use2-az3",
    instances=4,
    resource_group="trainium",
    placement_group="trn2-reserved",
)


def judged(assembly: dict[str, Any], folder: Path) -> Answer:
    """ParallelCluster's answer on an assembly."""
    folder.mkdir(exist_ok=True)
    return ask_parallelcluster(assembly, folder, [RESERVATION])


def open_findings(answer: Answer) -> list[tuple[str, str]]:
    """Findings that are more than a remark and that nobody explains."""
    explanations = load_explanations()
    return [
        (finding.source, finding.message)
        for finding in answer.outcome.findings
        if finding.level is not Level.INFO and explanation_of(finding, explanations) is None
    ]


def closed_port(assembly: dict[str, Any], port: int) -> None:
    """Take a port out of the rules of file systems for /home."""
    for stack in assembly["stacks"]:
        for logical_id, resource in stack["template"]["Resources"].items():
            is_of_home = resource["Type"] == "AWS::EC2::SecurityGroupIngress" and logical_id.startswith("Home")
            if is_of_home and resource["Properties"]["FromPort"] == port:
                resource["Properties"].update(FromPort=1, ToPort=1)


def test_what_a_team_uses_passes(team: Assembly, tmp_path: Path) -> None:
    assert open_findings(judged(read_assembly(team.directory), tmp_path)) == []


def test_users_of_a_directory_in_a_group_of_reservations_pass(directory: Assembly, tmp_path: Path) -> None:
    assembly = read_assembly(directory.directory)
    assembly["stacks"].append(OWNERS)

    ((source, message),) = open_findings(judged(assembly, tmp_path))
    assert source == "PasswordSecretArnValidator"
    assert "directory-reader-AbCdEf" in message


def test_a_kubernetes_cluster_beside_it_is_no_matter_to_slurms(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    assembly = read_assembly(assemblies("beside").directory)
    assembly["stacks"].append(OWNERS)

    assert open_findings(judged(assembly, tmp_path)) == []


@pytest.mark.parametrize("port", [111, 20001])
def test_home_behind_a_closed_port_is_refused(team: Assembly, tmp_path: Path, port: int) -> None:
    assembly = read_assembly(team.directory)
    closed_port(assembly, port)

    found = open_findings(judged(assembly, tmp_path))
    assert {source for source, _ in found} == {"ExistingFsxNetworkingValidator"}
    assert all(str(port) in message for _, message in found)
