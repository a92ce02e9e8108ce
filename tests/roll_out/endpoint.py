"""A deployed endpoint on the emulator, and versions in its model bucket."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway_jobs.publishing.bucket import VersionPrefix
from slipway_jobs.publishing.files import model_files
from slipway_jobs.publishing.manifest import Compiled, Manifest, PublishedFile, Source
from tests.assembly import environment_path
from tests.rehearsal.emulator.running import RunningEmulator, template

SERVICE = {
    "model": "tanuki-8b",
    "engine": "tgi",
    "neuron_release": "2.24.0",
    "instance_type": "inf2.8xlarge",
    "logical_neuron_cores": 2,
    "neuron_memory_gib": 32,
    "memory_gib": 128,
    "desired_count": 2,
}
COMPILED = Compiled(
    engine="tgi",
    neuron_release="2.24.0",
    exporter="optimum-neuron 0.3.0",
    compiler="2.19.8089.0",
    batch_size=4,
    sequence_length=4096,
    tensor_parallel_size=2,
    precision="bfloat16",
    device_bytes=17 * 2**30,
)
SOURCE = Source(
    run="tanuki-run",
    recipe="tanuki-8b",
    step=1000,
    architecture="llama",
    tensor_parallel_size=8,
    pipeline_parallel_size=1,
    precision="bfloat16",
    neuron_release="2.28.1",
    content_sha256="00",
)
NONE = "no-model-chosen"


def parameter() -> dict[str, Any]:
    return {"Type": "String", "Default": NONE, "AllowedPattern": f"^({NONE}|tanuki-8b/[a-z0-9.-]+)$"}


@dataclass
class EndpointStack:
    """An environment whose inference stack stands. Its one queue stands for hosts and tasks."""

    emulator: RunningEmulator
    name: str
    folder: Path

    @property
    def bucket(self) -> str:
        return f"models-{self.name}"

    @property
    def stack(self) -> str:
        return f"slipway-{self.name}-inference"

    @property
    def s3(self) -> Any:
        return self.emulator.client("s3")

    @property
    def file(self) -> Path:
        """Its environment file."""
        file = self.folder / f"{self.name}.yaml"
        content = yaml.safe_load(environment_path("rolledout").read_text())
        file.write_text(yaml.safe_dump({**content, "name": self.name}))
        return file

    def deploy(self, service: dict[str, Any] | None, **changes: Any) -> None:
        """Make bucket and stack. The version `broken` makes an update fail, as an unhealthy task does."""
        location = {"LocationConstraint": "us-west-2"}
        self.s3.create_bucket(Bucket=self.bucket, CreateBucketConfiguration=location)
        served = {"Fn::Join": ["-", {"Fn::Split": ["/", {"Ref": "ServedModel"}]}]}
        name: dict[str, Any] = {
            "Fn::If": ["IsBroken", "Not A Bucket", {"Fn::Join": ["-", [self.name, "serves", served]]}]
        }
        sections: dict[str, Any] = {
            "Parameters": {"ServedModel": parameter(), "PreviousModel": parameter(), "Other": {"Type": "String"}},
            "Conditions": {"IsBroken": {"Fn::Equals": [{"Ref": "ServedModel"}, "tanuki-8b/broken"]}},
            "Outputs": {"ModelBucket": {"Value": self.bucket}, "Before": {"Value": {"Ref": "PreviousModel"}}},
            **({"Metadata": {"Slipway::Service": {**service, **changes}}} if service else {}),
        }
        if service is None:
            sections["Parameters"] = {"Other": {"Type": "String"}}
            sections["Conditions"], sections["Outputs"] = {}, {"ModelBucket": {"Value": self.bucket}}
            name = {"Ref": "Other"}
        self.emulator.cloudformation.create_stack(
            StackName=self.stack,
            TemplateBody=template(
                {"Hosts": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": name}}}, **sections
            ),
            Parameters=[{"ParameterKey": "Other", "ParameterValue": f"other-{self.name}"}],
        )
        assert self.emulator.settled(self.stack) == "CREATE_COMPLETE"

    def publish(self, version: str, compiled: Compiled | None = COMPILED, **changes: Any) -> None:
        """Put a version into the bucket as the publish stage does."""
        publish_version(self.s3, self.bucket, version, self.folder / self.name / version, compiled, **changes)

    def parameters(self) -> dict[str, str]:
        found = self.emulator.stack(self.stack)["Parameters"]
        return {item["ParameterKey"]: item["ParameterValue"] for item in found}

    def served(self) -> tuple[str, str]:
        """What the stack's parameters say is served, and was before."""
        found = self.parameters()
        return found["ServedModel"], found["PreviousModel"]

    def hosts(self) -> str:
        """Name of the resource that stands for the hosts: it ends with what is served."""
        return self.emulator.physical_id(self.stack, "Hosts")

    def roll_out(self, *arguments: str, typed: str | None = None) -> Result:
        """Run the command."""
        return CliRunner().invoke(app, ["roll-out", "-e", str(self.file), *arguments], input=typed)


def publish_version(
    s3: Any, bucket: str, version: str, folder: Path, compiled: Compiled | None = COMPILED, **changes: Any
) -> None:
    """Publish a version of `tanuki-8b` with the job kit's own code.

    Args:
        s3: boto3 client.
        bucket: the model bucket.
        version: its name.
        folder: where its files are made.
        compiled: what the manifest says of the compilation.
        changes: further fields of the manifest.
    """
    folder.mkdir(parents=True)
    (folder / "neuron_config.json").write_text(json.dumps({"version": version}))
    (folder / "model.pt").write_bytes(hashlib.sha256(version.encode()).digest() * 20)
    files = model_files(folder, print)
    prefix = VersionPrefix(s3, bucket, f"tanuki-8b/{version}", print)
    prefix.fill(folder, files)
    manifest = {
        "model": "tanuki-8b",
        "version": version,
        "created_at": "2026-11-21T22:00:00+00:00",
        "created_by": "0123abcd",
        "max_position_embeddings": 4096,
        "precision": "bfloat16",
        "source": SOURCE,
        "compiled": compiled,
        "files": files,
        **changes,
    }
    prefix.finish(Manifest.model_validate(manifest))


def large(size: int) -> dict[str, PublishedFile]:
    """Files of a manifest that nobody uploads."""
    return {"model.pt": PublishedFile(size=size, sha256="00", s3_checksum="00")}
