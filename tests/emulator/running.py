"""A started emulator, as the tests use it."""

import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import boto3
from botocore.config import Config

from slipway.rehearse.inventory import Inventory, added, take_inventory
from slipway.rehearse.isolation import emulated_account, only_variables
from slipway.rehearse.ledger import Ledger
from slipway.rehearse.leftovers import Leftover, classify
from slipway_emulator.faults import Faults
from slipway_emulator.settings import ACCOUNT

REGION = "us-west-2"
_START_SECONDS = 60
_STACK_SECONDS = 120
_PROJECT = Path(__file__).parents[2]


@dataclass
class RunningEmulator:
    """An emulator process and what tests ask of it."""

    directory: Path
    options: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[str] = field(init=False)
    port: int = field(init=False)

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "slipway_emulator"),
                *("--directory", str(self.directory), "--region", REGION, *self.options),
            ],
            cwd=_PROJECT,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        announced = json.loads(self.process.stdout.readline())
        self.port = announced["port"]
        assert announced["pid"] == self.process.pid

    def stop(self) -> int:
        """End it as a user's kill does; answers the exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=_START_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def client(self, service: str) -> Any:
        """A boto3 client of an emulated service."""
        make = cast("Any", boto3.client)
        return make(
            service,
            region_name=REGION,
            endpoint_url=self.endpoint,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            config=Config(retries={"max_attempts": 0}, s3={"addressing_style": "path"}),
        )

    @cached_property
    def cloudformation(self) -> Any:
        """The client that most tests need."""
        return self.client("cloudformation")

    def create(self, name: str, resources: Mapping[str, Any], **sections: Any) -> str:
        """Create a stack and wait; answers its final status."""
        self.cloudformation.create_stack(StackName=name, TemplateBody=template(resources, **sections))
        return self.settled(name)

    def bootstrap(self) -> None:
        """Make the bucket and the parameter of the CDK's bootstrap stack."""
        self.client("s3").create_bucket(
            Bucket=f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}", CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        self.client("ssm").put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String")

    @cached_property
    def faults(self) -> Faults:
        """What is to fail."""
        return Faults(self.directory / "faults.json")

    def deploy(self, assembly: Path, name: str) -> None:
        """Upload the files of an assembly's stack and create it, after `bootstrap`."""
        self.upload(assembly, name)
        assert self.create_from(assembly, name) == "CREATE_COMPLETE", self.reasons(name)

    def create_from(self, assembly: Path, name: str) -> str:
        """Create a stack of an assembly whose files are uploaded, and wait; answers its final status."""
        text = (assembly / f"{name}.template.json").read_text(encoding="utf-8")
        self.cloudformation.create_stack(StackName=name, TemplateBody=text)
        return self.settled(name)

    def upload(self, assembly: Path, name: str) -> None:
        """Upload the files of an assembly's stack, after `bootstrap`."""
        manifest = json.loads((assembly / f"{name}.assets.json").read_text(encoding="utf-8"))
        s3 = self.client("s3")
        for asset in manifest["files"].values():
            source = assembly / asset["source"]["path"]
            [destination] = asset["destinations"].values()
            bucket = destination["bucketName"].replace("${AWS::AccountId}", ACCOUNT)
            body = _zipped(source) if asset["source"]["packaging"] == "zip" else source.read_bytes()
            s3.put_object(Bucket=bucket, Key=destination["objectKey"], Body=body)

    def update(self, name: str, resources: Mapping[str, Any], **sections: Any) -> str:
        """Update a stack and wait; answers its final status."""
        self.cloudformation.update_stack(StackName=name, TemplateBody=template(resources, **sections))
        return self.settled(name)

    def delete(self, name: str) -> str:
        """Delete a stack and wait; answers its final status."""
        stack_id = self.stack(name)["StackId"]
        self.cloudformation.delete_stack(StackName=name)
        return self.settled(stack_id)

    def settled(self, name: str) -> str:
        """Wait until no operation runs on a stack; answers its status."""
        deadline = time.monotonic() + _STACK_SECONDS
        while time.monotonic() < deadline:
            status = str(self.stack(name)["StackStatus"])
            if not status.endswith("_IN_PROGRESS"):
                return status
            time.sleep(0.05)
        raise TimeoutError(name)

    def stack(self, name: str) -> Any:
        """A stack's description."""
        return self.cloudformation.describe_stacks(StackName=name)["Stacks"][0]

    def outputs(self, name: str) -> dict[str, str]:
        """A stack's outputs."""
        return {output["OutputKey"]: output["OutputValue"] for output in self.stack(name).get("Outputs", [])}

    def physical_id(self, name: str, logical_id: str) -> str:
        """The physical id of a resource."""
        answer = self.cloudformation.describe_stack_resource(StackName=name, LogicalResourceId=logical_id)
        return str(answer["StackResourceDetail"]["PhysicalResourceId"])

    def events(self, name: str) -> list[dict[str, Any]]:
        """A stack's events of all pages, newest first."""
        pages = self.cloudformation.get_paginator("describe_stack_events").paginate(StackName=name)
        return [event for page in pages for event in page["StackEvents"]]

    def reasons(self, name: str) -> dict[str, str]:
        """Why resources of a stack failed, by logical id."""
        return {
            event["LogicalResourceId"]: event["ResourceStatusReason"]
            for event in self.events(name)
            if event["ResourceStatus"].endswith("_FAILED") and "ResourceStatusReason" in event
        }

    def ledger(self, **wanted: str) -> list[dict[str, Any]]:
        """The ledger's lines that have these values."""
        lines = (self.directory / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
        entries = [json.loads(line) for line in lines]
        return [entry for entry in entries if wanted.items() <= entry.items()]

    def inventory(self) -> Inventory:
        """What the APIs list."""
        with only_variables(emulated_account(self.endpoint, REGION)):
            return take_inventory(self.endpoint, REGION, ACCOUNT)

    def undocumented(self, before: Inventory, *, keeps_data: bool = False) -> list[Leftover]:
        """What is left, in the words of the APIs and of the ledger, and should not be."""
        ledger = Ledger(self.directory / "ledger.jsonl")
        ledger.poll()
        new = added(before, self.inventory())
        left = classify(new, ledger.resources(), keeps_data=keeps_data, ignored_stacks=frozenset())
        return [leftover for leftover in left if not leftover.documented]


def _zipped(folder: Path) -> bytes:
    """Pack a folder as the CDK CLI does."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return content.getvalue()


def template(resources: Mapping[str, Any], **sections: Any) -> str:
    """A template's text."""
    return json.dumps({"Resources": resources, **sections})


def is_alive(pid: int) -> bool:
    """Whether a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
