"""What `slipway` says of, and does to, deployed stacks: on the emulator, with the real CDK CLI and pcluster command."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from slipway.project import PROJECT
from slipway.rehearse import phases
from slipway.rehearse.isolation import only_variables
from slipway.rehearse.session import Session
from slipway.remove.leftovers.command import EXIT_CODES
from slipway.remove.leftovers.findings import Findings
from tests.assembly import environment_path
from tests.rehearse.sessions import emulated
from tests.remove.leftovers.aws_cli import run
from tests.remove.leftovers.plants import Garden

pytestmark = pytest.mark.rehearsal

ENVIRONMENT = "team"
CLUSTER = "trainium-team"
TABLE = f"parallelcluster-{CLUSTER}"

IN_STACKS_ONLY = ("EKS cluster", "EKS node group")
"""What the emulator cannot make outside of a stack; tests/remove/leftovers plants them, too."""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """The environment, deployed once; then destroyed: the tests go in their order."""
    with emulated(environment_path(ENVIRONMENT), tmp_path_factory.mktemp("run")) as session:
        yield session


class HeadNode(threading.Thread):
    """What clustermgtd does about a request to stop: it says that the fleet is stopped. The nodes are left to us."""

    def __init__(self, table: Any) -> None:
        super().__init__(daemon=True)
        self._table = table
        self._end = threading.Event()
        self.requests: list[str] = []
        self._say("RUNNING")

    def run(self) -> None:
        while not self._end.wait(0.2):
            status = self._table.get_item(Key={"Id": "COMPUTE_FLEET"})["Item"]["Data"]["status"]
            if status == "STOP_REQUESTED":
                self.requests.append(status)
                self._say("STOPPED")
                return  # the table goes with the cluster

    def stop(self) -> None:
        self._end.set()
        self.join()

    def _say(self, status: str) -> None:
        data = {"status": status, "lastStatusUpdatedTime": "2026-11-21 10:00:00+00:00"}
        self._table.put_item(Item={"Id": "COMPUTE_FLEET", "Data": data})


def start_compute_node(ec2: Any) -> str:
    tags = {
        "parallelcluster:cluster-name": CLUSTER,
        "parallelcluster:node-type": "Compute",
        "parallelcluster:queue-name": "trn1",
    }
    image = ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    answer = ec2.run_instances(
        ImageId=image,
        InstanceType="trn1.2xlarge",
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[
            {"ResourceType": "instance", "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
        ],
    )
    return str(answer["Instances"][0]["InstanceId"])


def slipway(session: Session, command: str, *options: str) -> subprocess.CompletedProcess[str]:
    assert session.emulated is not None
    return subprocess.run(
        [sys.executable, "-m", "slipway", command, *options],
        cwd=PROJECT,
        env=session.emulated.variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def slipway_destroy(session: Session, *options: str) -> subprocess.CompletedProcess[str]:
    return slipway(session, "destroy", "--assembly", str(session.folder.assembly), *options)


def test_an_update_is_judged_against_the_deployed_stacks(session: Session, tmp_path: Path) -> None:
    larger_head_node = tmp_path / "larger.yaml"
    deployed = session.subject.environment_file.read_text("utf-8")
    larger_head_node.write_text(deployed.replace("instance_type: m6i.2xlarge", "instance_type: m6i.4xlarge"), "utf-8")

    same = slipway(session, "cluster-update", "--assembly", str(session.folder.assembly))
    changed = slipway(session, "cluster-update", "--environment", str(larger_head_node))

    assert same.returncode == 0, same.stdout + same.stderr
    assert changed.returncode == 4, changed.stdout + changed.stderr
    assert "HeadNode" in changed.stdout


def test_an_environment_with_a_running_node_is_destroyed_and_leaves_what_is_documented(session: Session) -> None:
    assert session.emulated is not None
    with only_variables(session.emulated.variables):
        ec2, logs = boto3.client("ec2"), boto3.client("logs")
        node = start_compute_node(ec2)
        head_node = HeadNode(boto3.resource("dynamodb").Table(TABLE))
    head_node.start()

    asked = slipway_destroy(session, "--yes")
    destroyed = slipway_destroy(session, "--yes", "--with-running-jobs", "--without-export")
    again = slipway_destroy(session, "--yes")
    head_node.stop()

    assert asked.returncode == 2
    assert "probably jobs on them" in asked.stderr
    assert "--without-export" in asked.stderr  # the emulator does not know of the file system's links
    # The emulator cannot list placement groups: all else is gone, and that is not known.
    assert destroyed.returncode == again.returncode == 2, destroyed.stdout + destroyed.stderr
    for run_ in (destroyed, again):
        assert [line for line in run_.stdout.splitlines() if line.startswith("not looked at: ")] == [
            line for line in run_.stdout.splitlines() if line.startswith("not looked at: placement group: ")
        ]
        assert "it is unknown whether all is gone" in run_.stderr
    assert head_node.requests == ["STOP_REQUESTED"]
    lines = destroyed.stdout.splitlines()
    stopped = lines.index(f"{CLUSTER}: compute fleet STOPPED")
    assert stopped < lines.index(f"{CLUSTER}: no compute node is left")
    assert any(line.startswith("left: S3 bucket parallelcluster-") for line in lines)
    (instance,) = ec2.describe_instances(InstanceIds=[node])["Reservations"][0]["Instances"]
    assert instance["State"]["Name"] == "terminated"
    # ParallelCluster's stack retains its log groups, and its provider's template the provider's.
    for name in ("/aws/parallelcluster/", "/aws/lambda/pcluster-CleanupResources-", "/aws/lambda/pcluster-cfn-"):
        assert any(line.startswith(f"log group {name}") and line.endswith(" deleted") for line in lines)
    assert logs.describe_log_groups()["logGroups"] == []
    assert f"nothing of environment {ENVIRONMENT} is deployed" in again.stdout
    phases.find_leftovers(session)


def leftovers(session: Session) -> tuple[int, Findings]:
    done = slipway(session, "leftovers", "--assembly", str(session.folder.assembly), "--json")
    assert done.returncode in EXIT_CODES.values(), done.stderr
    return done.returncode, Findings.model_validate_json(done.stdout)


def test_every_orphan_is_found_after_the_destruction_and_nothing_when_all_is_gone(session: Session) -> None:
    assert session.emulated is not None

    exit_code, clean = leftovers(session)
    with only_variables(session.emulated.variables):
        planted = {
            (kind, plant())
            for kind, plant in Garden(ENVIRONMENT, clean.region).plants.items()
            if kind not in IN_STACKS_ONLY
        }
    found_exit_code, found = leftovers(session)
    with only_variables(session.emulated.variables):
        run(found.commands)
    _, gone = leftovers(session)

    assert not clean.leftovers + clean.tagged_only + clean.standing
    assert [row.what for row in clean.not_looked_at] == ["placement group"]  # the emulator cannot list them
    assert exit_code == EXIT_CODES["unknown"]
    assert {(left.kind, left.id) for left in found.leftovers} >= planted
    assert found_exit_code == EXIT_CODES["found"]
    assert not gone.leftovers + gone.tagged_only
