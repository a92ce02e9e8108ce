"""An environment, its cloud assembly, and stand-ins for the programs of others."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from slipway.assembly.existing import EXISTING_METADATA, ExistingResource
from slipway.aws.account import Account

REGION = "us-west-2"
ENVIRONMENT = "tiny"
CLUSTER = "tiny-cluster"
TAGS = {"slipway:environment": ENVIRONMENT}
NETWORK, TRAINING = "slipway-tiny-network", "slipway-tiny-training"
STACKS = {NETWORK: TAGS, TRAINING: TAGS}
CLUSTER_RESOURCE = {
    "Type": "Custom::PclusterCluster",
    "Properties": {
        "ClusterName": CLUSTER,
        "ClusterConfiguration": {
            "SharedStorage": [
                {"StorageType": "Ebs", "MountDir": "/home", "EbsSettings": {"DeletionPolicy": "Snapshot"}},
                {"StorageType": "Ebs", "MountDir": "/apps", "EbsSettings": {"DeletionPolicy": "Retain"}},
            ]
        },
    },
}
BUCKET = {"Type": "AWS::S3::Bucket"}
TEMPLATES: dict[str, dict[str, Any]] = {
    NETWORK: {"Vpc": {"Type": "AWS::EC2::VPC", "DeletionPolicy": "Retain"}},
    TRAINING: {"Cluster": CLUSTER_RESOURCE},
}

_PCLUSTER = """#!/bin/sh
echo "$@" >> "{calls}"
answer=$(head -n 1 "{answers}")
[ "$(wc -l < "{answers}")" -gt 1 ] && sed -i 1d "{answers}"
echo "$answer"
case "$answer" in *message*) exit 1 ;; esac
"""


def answering(account: Account, service: str, client: Any) -> Account:
    """The account with another client of one service."""
    return replace(account, _clients={**account._clients, (service, account.region): client})


def write_assembly(
    folder: Path,
    templates: dict[str, dict[str, Any]] = TEMPLATES,
    *,
    tags: dict[str, str] = TAGS,
    protected: Sequence[str] = (),
    existing: Sequence[ExistingResource] = (),
) -> Path:
    """Write a cloud assembly: logical id -> resource, by stack; each stack uses what exists already."""
    metadata = {EXISTING_METADATA: [resource.as_metadata for resource in existing]} if existing else {}
    folder.mkdir(parents=True)
    artifacts = {}
    for name, resources in templates.items():
        (folder / f"{name}.json").write_text(
            json.dumps({"Metadata": metadata, "Resources": resources}), encoding="utf-8"
        )
        artifacts[name] = {
            "type": "aws:cloudformation:stack",
            "environment": f"aws://unknown-account/{REGION}",
            "properties": {
                "templateFile": f"{name}.json",
                "tags": tags,
                "terminationProtection": name in protected,
            },
        }
    (folder / "manifest.json").write_text(json.dumps({"artifacts": artifacts}), encoding="utf-8")
    return folder


def fake_pcluster(folder: Path, answers: Sequence[dict[str, str]]) -> Path:
    """A pcluster command that gives one answer after the other, the last one forever; it notes its calls."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = folder / "answers"
    lines.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
    program = folder / "pcluster"
    program.write_text(_PCLUSTER.format(calls=folder / "calls", answers=lines), encoding="utf-8")
    program.chmod(0o755)
    return program


def pcluster_calls(folder: Path) -> list[str]:
    """How it was called."""
    calls = folder / "calls"
    return calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []


class FakePrograms:
    """Stands in for `Programs`."""

    def __init__(self, folder: Path, cloudformation: Any) -> None:
        self.pcluster = fake_pcluster(folder, [{"status": "STOPPED"}])
        self.folder = folder
        self.attempts = 0
        self.failures = 0
        self.before_each: Callable[[], None] = lambda: None
        self._cloudformation = cloudformation

    def destroy(self, _assembly: Path) -> bool:
        self.before_each()
        self.attempts += 1
        if self.attempts <= self.failures:
            return False
        for name in (CLUSTER, *STACKS):
            self._cloudformation.delete_stack(StackName=name)
        return True


def start_nodes(ec2: Any, count: int = 1, *, cluster: str = CLUSTER, node_type: str = "Compute") -> list[str]:
    """Start instances with the tags that ParallelCluster gives its nodes."""
    tags = {
        "parallelcluster:cluster-name": cluster,
        "parallelcluster:node-type": node_type,
        "parallelcluster:queue-name": "trn2",
    }
    answer = ec2.run_instances(
        ImageId="ami-12c6146b",
        InstanceType="trn1.32xlarge",
        MinCount=count,
        MaxCount=count,
        TagSpecifications=[
            {"ResourceType": "instance", "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
        ],
    )
    return [instance["InstanceId"] for instance in answer["Instances"]]


def states(ec2: Any, instance_ids: list[str]) -> set[str]:
    """The states of instances."""
    reservations = ec2.describe_instances(InstanceIds=instance_ids)["Reservations"]
    return {instance["State"]["Name"] for reservation in reservations for instance in reservation["Instances"]}
