"""The real templates, deployed with the real CDK CLI: a roll-out changes what it should, a deployment keeps it."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway.operate.roll_out import update
from slipway.rehearse import phases
from slipway.rehearse.isolation import only_variables
from slipway.rehearse.session import Session
from slipway_jobs.environment import Environment
from tests.assembly import environment_path
from tests.operate.roll_out.endpoint import publish_version
from tests.rehearse.sessions import emulated

pytestmark = pytest.mark.rehearsal

FILE = environment_path("rolledout")
STACK = "slipway-rolledout-inference"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """The environment, deployed once."""
    with emulated(FILE, tmp_path_factory.mktemp("run")) as session:
        yield session


def roll_out(session: Session, *arguments: str) -> Result:
    assert session.emulated is not None
    with only_variables(session.emulated.variables):
        return CliRunner().invoke(app, ["roll-out", "-e", str(FILE), *arguments])


def properties(session: Session, service_name: str = "tanuki-8b") -> tuple[int, Any]:
    """How many tasks a service wants, and where its task's model is."""
    assert session.emulated is not None
    with only_variables(session.emulated.variables):
        ecs = boto3.client("ecs")
        [service] = ecs.describe_services(cluster=STACK, services=[service_name])["services"]
        task = ecs.describe_task_definition(taskDefinition=service["taskDefinition"])["taskDefinition"]
    return service["desiredCount"], task["volumes"][0]["host"]["sourcePath"]


def weights(session: Session) -> set[tuple[int, ...]]:
    """The weights of the target groups in the load balancer's rules: served version, candidate."""
    assert session.emulated is not None
    with only_variables(session.emulated.variables):
        elb = boto3.client("elbv2")
        [balancer] = elb.describe_load_balancers()["LoadBalancers"]
        rules = [
            rule
            for listener in elb.describe_listeners(LoadBalancerArn=balancer["LoadBalancerArn"])["Listeners"]
            for rule in elb.describe_rules(ListenerArn=listener["ListenerArn"])["Rules"]
        ]
    forwards = [action["ForwardConfig"] for rule in rules for action in rule["Actions"] if "ForwardConfig" in action]
    return {tuple(int(group["Weight"]) for group in forward["TargetGroups"]) for forward in forwards}


def test_the_deployed_job_kit_is_whole_and_knows_its_environment(session: Session) -> None:
    assert session.emulated is not None
    with only_variables(session.emulated.variables):
        s3 = boto3.client("s3")
        [bucket] = [row["Name"] for row in s3.list_buckets()["Buckets"] if "scripts" in row["Name"]]

        def content(name: str) -> bytes:
            body: bytes = s3.get_object(Bucket=bucket, Key=f"cluster/jobs/{name}")["Body"].read()
            return body

        environment = Environment.model_validate_json(content("environment.json"))
        lines = content("files.sha256").decode().splitlines()
        buckets = {row["Name"] for row in s3.list_buckets()["Buckets"]}

        assert {environment.data_bucket, environment.checkpoint_bucket, environment.model_bucket} <= buckets
        assert [service.model for service in environment.inference] == ["tanuki-8b"]
        for line in lines[:: len(lines) // 10]:
            checksum, name = line.split("  ")
            assert hashlib.sha256(content(name)).hexdigest() == checksum


def test_a_roll_out_starts_the_tasks_and_a_deployment_keeps_the_version(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "POLL_SECONDS", 0.2)
    assert session.emulated is not None
    with only_variables(session.emulated.variables):
        s3 = boto3.client("s3")
        for version in ("v1", "v2"):
            publish_version(s3, session.outputs[STACK]["ModelBucket"], version, tmp_path / version)
    assert properties(session) == (0, "/mnt/models/no-model-chosen")

    first = roll_out(session, "tanuki-8b/v1", "--yes")
    assert first.exit_code == 0, first.output
    assert properties(session) == (2, "/mnt/models/tanuki-8b/v1")

    session.emulated.ledger.poll()  # what the roll-out did is not the deployment's doing
    assert phases.deploy_again(session) == "nothing changed"
    assert properties(session) == (2, "/mnt/models/tanuki-8b/v1")

    second = roll_out(session, "tanuki-8b/v2", "--yes")
    assert second.exit_code == 0, second.output
    assert properties(session) == (2, "/mnt/models/tanuki-8b/v2")

    back = roll_out(session, "--back", "--yes")
    assert back.exit_code == 0, back.output
    assert properties(session) == (2, "/mnt/models/tanuki-8b/v1")


def test_a_candidate_gets_requests_and_is_promoted(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "POLL_SECONDS", 0.2)
    assert session.emulated is not None
    with only_variables(session.emulated.variables):
        publish_version(boto3.client("s3"), session.outputs[STACK]["ModelBucket"], "v3", tmp_path / "v3")
    assert properties(session, "tanuki-8b-candidate") == (0, "/mnt/models/no-model-chosen")
    assert weights(session) == {(100, 0)}

    canary = roll_out(session, "tanuki-8b/v3", "--canary", "20", "--yes")
    assert canary.exit_code == 0, canary.output
    assert properties(session, "tanuki-8b-candidate") == (1, "/mnt/models/tanuki-8b/v3")
    assert properties(session) == (2, "/mnt/models/tanuki-8b/v1")
    assert weights(session) == {(80, 20)}

    session.emulated.ledger.poll()
    assert phases.deploy_again(session) == "nothing changed"
    assert weights(session) == {(80, 20)}

    promoted = roll_out(session, "--promote", "--yes")
    assert promoted.exit_code == 0, promoted.output
    assert properties(session) == (2, "/mnt/models/tanuki-8b/v3")
    assert properties(session, "tanuki-8b-candidate") == (0, "/mnt/models/no-model-chosen")
    assert weights(session) == {(100, 0)}
