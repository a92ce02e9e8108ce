"""A deployed environment in moto, and programs on the PATH that say how they were called."""

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

HEAD_NODE = (
    "aws ssm start-session --region us-west-2 --target i-0123 "
    '--document-name AWS-StartInteractiveCommand --parameters command="sudo su - ubuntu"'
)
STACKS = {
    "slipway-small-training": {"HeadNodeSession": HEAD_NODE},
    "slipway-kubernetes-kubernetes": {
        "ClusterName": "slipway-kubernetes-kubernetes",
        "Kubeconfig": "aws eks update-kubeconfig --region us-west-2 --name slipway-kubernetes-kubernetes",
        "Shell": "kubectl exec -it -n slipway deploy/shell -- bash",
    },
}

# What the AWS CLI, its plugin and the agent make of it together: the agent gives the text to `sh -c`
# (amazon-ssm-agent, agent/session/shell/shell_unix.go, StartCommandExecutor), whose exit code nobody passes on.
_AWS = """#!/usr/bin/env python3
import json, subprocess, sys
parameters = sys.argv[sys.argv.index("--parameters") + 1]
if parameters.startswith("{"):
    [command] = json.loads(parameters)["command"]
    sys.exit(subprocess.run(["sh", "-c", command]).returncode and 0)
print("aws", *sys.argv[1:])
"""
_SUDO = """#!/bin/sh
[ "$1 $2 $3 $4" = "su - ubuntu -c" ] && exec bash -c "$5"
"""
_SLIPWAY_JOB = """#!/usr/bin/env python3
import sys
print("slipway-job", sys.argv[1:])
sys.exit(int(sys.argv[-1]) if sys.argv[-1].isdigit() else 0)
"""
_KUBECTL = """#!/bin/sh
echo kubectl "$@"
exit 3
"""


@pytest.fixture(autouse=True)
def _deployed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with mock_aws():
        for stack, outputs in STACKS.items():
            template = {
                "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
                "Outputs": {name: {"Value": value} for name, value in outputs.items()},
            }
            boto3.client("cloudformation", region_name="us-west-2").create_stack(
                StackName=stack,
                TemplateBody=json.dumps(template),
                Tags=[{"Key": "slipway:environment", "Value": stack.split("-")[1]}],
            )
        yield


@pytest.fixture
def _programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "aws": _AWS,
        "sudo": _SUDO,
        "slipway-job": _SLIPWAY_JOB,
        "kubectl": _KUBECTL,
        "session-manager-plugin": "#!/bin/sh\n",
    }.items():
        (tmp_path / name).write_text(text, "utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
