"""An account of moto's with a deployed endpoint, whose secret `slipway rotate-key` changes."""

import json
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ecs.models import ecs_backends
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway.operate.endpoint import deployed
from slipway.operate.rotate_key import tasks
from tests.assembly import environment_path

FILE, STACK, REGION = str(environment_path("apikey")), "slipway-apikey-inference", "us-east-1"
OLD = "Sesame-0pen"
TARGETS = f"arn:aws:elasticloadbalancing:{REGION}:{DEFAULT_ACCOUNT_ID}:targetgroup/llama/0123456789abcdef"


class Clock:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Account:
    """An account with a deployed endpoint; it notes the secret's text whenever tasks are replaced."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        monkeypatch.delenv("AWS_PROFILE", raising=False)
        # So many tasks of a service run in moto: deployments are complete at once.
        monkeypatch.setenv("MOTO_ECS_SERVICE_RUNNING", "1")
        monkeypatch.setattr(tasks, "time", Clock())
        self.secrets, self.ecs = boto3.client("secretsmanager", REGION), boto3.client("ecs", REGION)
        self.arn = self.secrets.create_secret(Name="endpoint-key", SecretString=OLD)["ARN"]
        self.ecs.create_cluster(clusterName=STACK)
        self._create_service("llama", loadBalancers=[{"targetGroupArn": TARGETS, "containerName": "Proxy"}])
        self._create_service("watcher")
        self.watcher = self._deployment("watcher")
        self.seen_by_tasks = list[str]()
        replace = tasks.Tasks.replace

        def replace_and_note(these: tasks.Tasks, tell: Callable[[str], None]) -> None:
            self.seen_by_tasks.append(self.text)
            replace(these, tell)

        monkeypatch.setattr(tasks.Tasks, "replace", replace_and_note)

    @property
    def text(self) -> str:
        return str(self.secrets.get_secret_value(SecretId=self.arn)["SecretString"])

    @property
    def watcher_is_untouched(self) -> bool:
        """Whether the service that takes no requests has the tasks that it had."""
        return self._deployment("watcher") == self.watcher

    def settle(self, rollout_state: str) -> None:
        """Say what becomes of deployments, as Amazon ECS does."""
        service = ecs_backends[DEFAULT_ACCOUNT_ID][REGION].services[f"{STACK}:llama"]
        service.deployments[0]["rolloutState"] = rollout_state

    def deploy(self, **description: Any) -> None:
        """Deploy the endpoint's stack."""
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

    def _create_service(self, name: str, **properties: Any) -> None:
        containers = [{"name": "Proxy", "image": "x", "memory": 64}]
        self.ecs.register_task_definition(family=name, containerDefinitions=containers)
        self.ecs.create_service(cluster=STACK, serviceName=name, taskDefinition=name, desiredCount=1, **properties)

    def _deployment(self, service: str) -> str:
        [found] = self.ecs.describe_services(cluster=STACK, services=[service])["services"]
        return str(found["deployments"][0]["id"])


def rotate(*arguments: str, file: str = FILE, answer: str | None = None) -> Result:
    """Run the command; without an answer it asks nothing."""
    yes = () if answer else ("--yes",)
    return CliRunner().invoke(app, ["rotate-key", "-e", file, *yes, *arguments], input=answer)
