"""`slipway rotate-key` against moto: what the secret holds at each moment, and what is refused."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway.endpoint import deployed
from slipway.endpoint.keys import Keys
from slipway.rotate_key import run
from tests.assembly import environment_path

FILE, STACK, REGION = str(environment_path("apikey")), "slipway-apikey-inference", "us-east-1"
OLD = "Sesame-0pen"


class Account:
    """An account with a deployed endpoint; it notes the secret's text whenever tasks are replaced."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.secrets, self.ecs = boto3.client("secretsmanager", REGION), boto3.client("ecs", REGION)
        self.arn = self.secrets.create_secret(Name="endpoint-key", SecretString=OLD)["ARN"]
        self.ecs.create_cluster(clusterName=STACK)
        self.ecs.register_task_definition(
            family="task", containerDefinitions=[{"name": "Proxy", "image": "x", "memory": 64}]
        )
        self.ecs.create_service(cluster=STACK, serviceName="llama", taskDefinition="task", desiredCount=1)
        self.seen_by_tasks = list[str]()
        self.goes_back = False
        begin, is_done = run._Tasks._begin, run._Tasks._is_done

        def begin_and_note(tasks: Any, service: str) -> str:
            self.seen_by_tasks.append(self.text)
            return begin(tasks, service)

        def done_unless_it_goes_back(tasks: Any, service: str, deployment: str) -> bool:
            return is_done(tasks, service, "another" if self.goes_back else deployment) or True

        monkeypatch.setattr(run._Tasks, "_begin", begin_and_note)
        monkeypatch.setattr(run._Tasks, "_is_done", done_unless_it_goes_back)

    @property
    def text(self) -> str:
        return str(self.secrets.get_secret_value(SecretId=self.arn)["SecretString"])

    def deploy(self, **description: Any) -> None:
        described = {
            "models": [],
            "authentication": "api_key",
            "api_key_secret_output": "Key",
            "takes_several_keys": True,
        }
        template = {
            "Metadata": {deployed.METADATA: described | description},
            "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
            "Outputs": {"Key": {"Value": self.arn}},
        }
        boto3.client("cloudformation", REGION).create_stack(StackName=STACK, TemplateBody=json.dumps(template))


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        yield Account(monkeypatch)


def rotate(*arguments: str, answer: str | None = None) -> Result:
    yes = () if answer else ("--yes",)
    return CliRunner().invoke(app, ["rotate-key", "-e", FILE, *yes, *arguments], input=answer)


def test_the_new_key_is_current_only_when_all_tasks_take_it(account: Account) -> None:
    account.deploy()
    result = rotate()

    assert result.exit_code == 0, result.output
    [during] = [Keys.of(text) for text in account.seen_by_tasks]
    after = Keys.of(account.text)
    assert (during.current, during.previous) == (OLD, None)
    assert after == Keys(str(during.coming), previous=OLD)
    assert len(after.current) == 48
    assert not {OLD, after.current} & set(result.output.replace("'", " ").split())


def test_finish_leaves_the_current_key_alone(account: Account) -> None:
    account.deploy()
    rotate()
    new = Keys.of(account.text).current
    result = rotate("--finish")

    assert result.exit_code == 0, result.output
    assert account.text == account.seen_by_tasks[-1] == new


def test_a_second_rotation_is_refused_until_the_first_is_finished(account: Account) -> None:
    account.deploy()
    rotate()
    before = account.text
    result = rotate()

    assert result.exit_code == 2
    assert "--finish` first" in result.output
    assert account.text == before


def test_an_interrupted_rotation_goes_on_with_the_same_key(account: Account) -> None:
    account.deploy()
    account.goes_back = True
    failed = rotate()
    begun = Keys.of(account.text)
    refused = rotate("--finish")
    account.goes_back = False
    result = rotate()

    assert (failed.exit_code, refused.exit_code, result.exit_code) == (1, 2, 0), result.output
    assert begun.current == OLD
    assert Keys.of(account.text) == Keys(str(begun.coming), previous=OLD)


@pytest.mark.parametrize(
    ("description", "said"),
    [({"takes_several_keys": False}, "take one key only"), ({"authentication": "none"}, "has no API key")],
)
def test_an_endpoint_that_cannot_is_refused(account: Account, description: dict[str, Any], said: str) -> None:
    account.deploy(**description)
    result = rotate()

    assert result.exit_code == 2
    assert said in result.output
    assert account.text == OLD


def test_without_a_yes_nothing_is_changed(account: Account) -> None:
    account.deploy()
    result = rotate(answer="n\n")

    assert result.exit_code == 2
    assert (account.text, account.seen_by_tasks) == (OLD, [])


def test_an_endpoint_that_is_not_deployed_is_refused(account: Account) -> None:
    result = rotate()

    assert result.exit_code == 2
    assert "is not deployed" in result.output
