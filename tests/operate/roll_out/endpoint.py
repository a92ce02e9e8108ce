"""A deployed endpoint on the emulator, and versions in its model bucket."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway_jobs.publishing.bucket import VersionPrefix
from slipway_jobs.publishing.files import model_files
from slipway_jobs.publishing.manifest import Compiled, Manifest, PublishedFile, Source
from tests.assembly import environment_path
from tests.emulator.running import RunningEmulator
from tests.operate.roll_out.template import inference_template

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
MODEL = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
"""A version's `config.json`."""


@dataclass
class EndpointStack:
    """An environment whose inference stack stands. Buckets stand for hosts; no task of its services really runs."""

    emulator: RunningEmulator
    name: str
    folder: Path

    @property
    def bucket(self) -> str:
        return f"models-{self.name}"

    @property
    def stack(self) -> str:
        return f"slipway-{self.name}-inference"

    @cached_property
    def s3(self) -> Any:
        return self.emulator.client("s3")

    @property
    def file(self) -> Path:
        """Its environment file: `tanuki-8b` and `kitsune` are rolled out, `fixed` is not."""
        file = self.folder / f"{self.name}.yaml"
        content = yaml.safe_load(environment_path("rolledout").read_text())
        [tanuki] = content["inference"]["models"]
        models = [
            {**tanuki, "route": {"path": "/tanuki"}},
            {"name": "kitsune", "route": {"path": "/kitsune"}},
            {"name": "fixed", "prefix": "imported/fixed", "route": {"path": "/fixed"}},
        ]
        file.write_text(yaml.safe_dump({**content, "name": self.name, "inference": {"models": models}}))
        return file

    def deploy(self, body: str | None = None, **changes: Any) -> None:
        """Make bucket and stack.

        Args:
            body: another template than that of the rolled-out models.
            changes: what is different in the services' description.
        """
        location = {"LocationConstraint": "us-west-2"}
        self.s3.create_bucket(Bucket=self.bucket, CreateBucketConfiguration=location)
        body = body or inference_template(self.name, self.bucket, **changes)
        self.emulator.cloudformation.create_stack(StackName=self.stack, TemplateBody=body)
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
        return found["Tanuki8bServed"], found["Tanuki8bPrevious"]

    def candidate(self) -> tuple[str, str]:
        """What the stack's parameters say of the candidate: its version, and both weights."""
        found = self.parameters()
        return found["Tanuki8bCandidate"], f"{found['Tanuki8bServedWeight']}/{found['Tanuki8bCandidateWeight']}"

    def hosts(self, slug: str = "Tanuki8b") -> str:
        """Name of the resource that stands for a service's hosts: it ends with what they serve."""
        return self.emulator.physical_id(self.stack, f"{slug}Hosts")

    def stop_candidate(self) -> None:
        """End the candidate's task, as a dead host does."""
        self.emulator.client("ecs").update_service(cluster=self.stack, service="tanuki-8b-candidate", desiredCount=0)

    def roll_out(self, *arguments: str, typed: str | None = None) -> Result:
        """Run the command."""
        return CliRunner().invoke(app, ["roll-out", "-e", str(self.file), *arguments], input=typed)

    def must(self, *arguments: str) -> str:
        """Run the command without a question; answers what it says."""
        result = self.roll_out(*arguments, "--yes")
        assert result.exit_code == 0, result.output
        return result.output

    def refusal(self, *arguments: str) -> str:
        """Run the command, which must change nothing; answers what it says."""
        result = self.roll_out(*arguments)
        assert result.exit_code == 2, result.output
        assert "Traceback" not in result.output
        return result.output


def publish_version(
    s3: Any,
    bucket: str,
    version: str,
    folder: Path,
    compiled: Compiled | None = COMPILED,
    *,
    model: str = "tanuki-8b",
    configuration: Mapping[str, Any] = MODEL,
    **changes: Any,
) -> None:
    """Publish a version of a model with the job kit's own code, in the layout that optimum-neuron compiles to.

    The source of the layout is beside the stand-in of tests/jobs/publishing_case.py.

    Args:
        s3: boto3 client.
        bucket: the model bucket.
        version: its name.
        folder: where its files are made.
        compiled: what the manifest says of the compilation.
        model: the model's name.
        configuration: its `config.json`.
        changes: further fields of the manifest.
    """
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(configuration))
    (folder / "neuron_config.json").write_text(json.dumps({"version": version}))
    (folder / "model.pt").write_bytes(hashlib.sha256(version.encode()).digest() * 20)
    weights = folder / "checkpoint" / "weights"
    weights.mkdir(parents=True)
    for rank in range(compiled.tensor_parallel_size if compiled else 0):
        (weights / f"tp{rank}_sharded_checkpoint.safetensors").write_bytes(version.encode() * 20)
    files = model_files(folder, print)
    prefix = VersionPrefix(s3, bucket, f"{model}/{version}", print)
    prefix.fill(folder, files)
    manifest = {
        "model": model,
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
