"""`slipway cluster-update`: templates of both sides, names for references, exit codes; the other side is replaced."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner, Result

from slipway.aws.account import Account, Caller
from slipway.cli import app
from slipway.review.cluster_update import comparison, run
from slipway.review.judge import parallelcluster_process
from slipway.review.judge.inside_parallelcluster.update_answer import Change, Stop, Update
from tests.review.cluster_environment import REGION, STORAGE_STACK, TRAINING_STACK, Environment


def change(**values: Any) -> Change:
    """A change that is possible while nodes run, but for what is said."""
    defaults: dict[str, Any] = {
        "path": "Scheduling.X",
        "old": "1",
        "new": "2",
        "policy": "SUPPORTED",
        "allowed": True,
        "stop": (),
        "by_strategy": False,
        "passes_provider": False,
        "reason": "",
        "action": "",
    }
    return Change(**defaults | values)


class ParallelCluster:
    """Stands for the other side: it remembers what it was asked and says what the test wants."""

    def __init__(self) -> None:
        self.changes: tuple[Change, ...] = ()
        self.asked: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})

    def __call__(self, updates: Any, _: Path) -> list[Update]:
        (self.asked,) = updates
        return [Update(self.changes)]


@pytest.fixture
def parallelcluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ParallelCluster:
    other_side = ParallelCluster()
    monkeypatch.setattr(comparison, "ask_about_updates", other_side)
    monkeypatch.setattr(run, "UPDATE_DIRECTORY", tmp_path / "run")
    return other_side


class CloudFormation:
    """Holds the templates of deployed stacks."""

    def __init__(self, templates: Mapping[str, Any]) -> None:
        self._templates = templates

    def get_template(self, *, StackName: str, TemplateStage: str) -> Mapping[str, Any]:  # noqa: N803
        assert TemplateStage == "Original"
        if StackName not in self._templates:
            message = f"Stack with id {StackName} does not exist"
            raise ClientError({"Error": {"Code": "ValidationError", "Message": message}}, "GetTemplate")
        return {"TemplateBody": self._templates[StackName]}


def deploy(templates: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let CloudFormation of the environment's Region hold these templates."""

    def client(account: Account, service: str) -> CloudFormation:
        assert (service, account.region) == ("cloudformation", REGION)
        return CloudFormation(templates)

    monkeypatch.setattr(Account, "client", client)
    monkeypatch.setattr(Account, "caller", Caller("111122223333", "arn:aws:iam::111122223333:user/somebody"))


def update(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["cluster-update", *(str(argument) for argument in arguments)])


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ((), 0, "The configuration of trainium does not change."),
        ((change(),), 0, "possible while all nodes run"),
        ((change(by_strategy=True),), 0, "by DRAIN: their nodes finish their jobs and are replaced then."),
        ((change(policy="IGNORED"),), 0, "does not notice the change"),
        (
            (change(stop=(Stop.COMPUTE_FLEET,)),),
            3,
            "--region us-west-2 --cluster-name trainium --status STOP_REQUESTED",
        ),
        ((change(stop=(Stop.LOGIN_NODES,)),), 3, "write training.login_nodes.count: 0 and deploy that alone"),
        ((change(stop=(Stop.COMPUTE_FLEET,), passes_provider=True),), 3, "the provider does not notice"),
        ((change(), change(allowed=False, reason="Not supported")), 4, "  - Scheduling.X: Not supported"),
    ],
)
def test_the_exit_code_and_the_words_say_what_to_do(
    changes: tuple[Change, ...], code: int, message: str, parallelcluster: ParallelCluster, tmp_path: Path
) -> None:
    parallelcluster.changes = changes
    deployed = Environment().write(tmp_path / "deployed")
    environment = Environment()
    if changes:
        environment.configuration["Changed"] = True
    result = update("--assembly", environment.write(tmp_path / "wanted"), "--against", deployed)
    assert result.exit_code == code, result.output
    assert message in result.output


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("name", "other", 'ClusterName trainium -> other: "Cannot update the ClusterName in the properties."'),
        ("version", "3.16.3", "ParallelCluster 3.16.1 -> 3.16.3"),
        ("logical_id", "Renamed", "the cluster's resource is called Renamed, it was Cluster"),
    ],
)
def test_what_parallelcluster_does_not_compare_is_refused_too(
    attribute: str, value: str, message: str, parallelcluster: ParallelCluster, tmp_path: Path
) -> None:
    environment = Environment()
    setattr(environment, attribute, value)
    deployed = Environment().write(tmp_path / "deployed")
    result = update("--assembly", environment.write(tmp_path / "wanted"), "--against", deployed)
    assert result.exit_code == 4, result.output
    assert message in result.output


def test_references_are_compared_by_the_name_of_what_they_refer_to(
    parallelcluster: ParallelCluster, tmp_path: Path
) -> None:
    deployed = Environment().write(tmp_path / "deployed")
    update("--assembly", Environment().write(tmp_path / "wanted"), "--against", deployed)
    old, new = parallelcluster.asked
    assert old == new
    assert old["SharedStorage"] == [{"Name": "fsx", "Id": "slipway-test-storage/Lustre"}]
    assert old["Script"] == f"s3://{TRAINING_STACK}/Scripts/cluster/node.sh"


def test_the_id_of_what_is_replaced_is_not_known_before_the_deployment(
    parallelcluster: ParallelCluster, tmp_path: Path
) -> None:
    environment = Environment()
    environment.storage["Resources"]["Lustre"]["Properties"]["SubnetIds"] = ["subnet-2"]
    deployed = Environment().write(tmp_path / "deployed")
    update("--assembly", environment.write(tmp_path / "wanted"), "--against", deployed)
    old, new = parallelcluster.asked
    assert old["SharedStorage"][0]["Id"] == "slipway-test-storage/Lustre"
    assert new["SharedStorage"][0]["Id"] == "slipway-test-storage/Lustre (not known before the deployment)"


def test_a_change_that_replaces_nothing_leaves_the_id_as_it_is(
    parallelcluster: ParallelCluster, tmp_path: Path
) -> None:
    environment = Environment()
    environment.storage["Resources"]["Lustre"]["Properties"]["StorageCapacity"] = 4800
    deployed = Environment().write(tmp_path / "deployed")
    update("--assembly", environment.write(tmp_path / "wanted"), "--against", deployed)
    old, new = parallelcluster.asked
    assert old == new


@pytest.mark.parametrize(("configured", "message"), [(False, "The head node does not"), (True, "The head node runs")])
def test_says_who_runs_scripts_that_change_under_the_same_keys(
    configured: bool, message: str, parallelcluster: ParallelCluster, tmp_path: Path
) -> None:
    parallelcluster.changes = (change(),) if configured else ()
    environment = Environment()
    environment.asset = "second.zip"
    deployed = Environment().write(tmp_path / "deployed")
    result = update("--assembly", environment.write(tmp_path / "wanted"), "--against", deployed)
    assert result.exit_code == 0
    assert message in result.output


def test_compares_with_the_stacks_that_are_deployed(
    parallelcluster: ParallelCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed = Environment()
    deploy({TRAINING_STACK: deployed.training, STORAGE_STACK: json.dumps(deployed.storage)}, monkeypatch)
    environment = Environment()
    environment.configuration["Scheduling"]["SlurmSettings"]["QueueUpdateStrategy"] = "TERMINATE"
    assert update("--assembly", environment.write(tmp_path / "wanted")).exit_code == 0
    old, new = parallelcluster.asked
    assert old["Scheduling"]["SlurmSettings"]["QueueUpdateStrategy"] == "DRAIN"
    assert new["Scheduling"]["SlurmSettings"]["QueueUpdateStrategy"] == "TERMINATE"
    assert old["SharedStorage"] == new["SharedStorage"]


def test_compares_with_the_training_template_of_another_branch(
    parallelcluster: ParallelCluster, tmp_path: Path
) -> None:
    stored = tmp_path / "main.json"
    stored.write_text(json.dumps(Environment().training), "utf-8")
    result = update("--assembly", Environment().write(tmp_path / "wanted"), "--against", stored)
    assert result.exit_code == 0, result.output
    old, new = parallelcluster.asked
    assert old == new
    assert old["SharedStorage"][0]["Id"] == "output LustreId of slipway-test-storage"


def assert_one_line(result: Result, message: str) -> None:
    """The command ended without an answer and with one line."""
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_a_stack_that_is_not_deployed_is_one_line(
    parallelcluster: ParallelCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy({}, monkeypatch)
    result = update("--assembly", Environment().write(tmp_path / "wanted"))
    assert_one_line(result, f"{TRAINING_STACK} is not deployed in us-west-2")


def test_no_credentials_are_one_line(
    parallelcluster: ParallelCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    # The session of an earlier test in this process keeps its credentials.
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    result = update("--assembly", Environment().write(tmp_path / "wanted"))
    assert_one_line(result, "Unable to locate credentials")


def test_a_missing_virtual_environment_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "UPDATE_DIRECTORY", tmp_path / "run")
    monkeypatch.setattr(parallelcluster_process, "PARALLELCLUSTER_PYTHON", tmp_path / "nothing")
    deployed = Environment().write(tmp_path / "deployed")
    result = update("--assembly", Environment().write(tmp_path / "wanted"), "--against", deployed)
    assert_one_line(result, "`make setup` installs it")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        ("[1, 2]", "is not a CloudFormation template"),
        ("{", "cannot be read"),
        ('{"Resources": {}}', "has no Slurm cluster (Custom::PclusterCluster): there is none to update"),
    ],
)
def test_another_side_that_is_no_template_is_one_line(
    content: str | None, message: str, parallelcluster: ParallelCluster, tmp_path: Path
) -> None:
    other = tmp_path / "other.json"
    if content is not None:
        other.write_text(content, "utf-8")
    result = update("--assembly", Environment().write(tmp_path / "wanted"), "--against", other)
    assert_one_line(result, message)


def test_an_assembly_that_is_none_is_one_line(parallelcluster: ParallelCluster, tmp_path: Path) -> None:
    assert_one_line(update("--assembly", tmp_path), "is not a cloud assembly")


def test_assemblies_in_folders_of_one_name_are_compared_apart(parallelcluster: ParallelCluster, tmp_path: Path) -> None:
    deployed = Environment().write(tmp_path / "deployed")
    folder = Environment().write(tmp_path / "cdk.out")

    assert update("--assembly", folder, "--against", deployed).exit_code == 0
    assert [path.name for path in (tmp_path / "run").iterdir() if path.is_dir()] == [TRAINING_STACK]


def test_an_environment_and_an_assembly_are_two_things(tmp_path: Path) -> None:
    result = update("-e", "default", "--assembly", tmp_path)

    assert result.exit_code == 2
    assert "one of them" in result.stderr
