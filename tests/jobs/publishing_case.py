"""A run with a converted model in a folder of a test, and a model bucket that only that test sees."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slipway_jobs.environment import Environment
from slipway_jobs.exporters import Exporter, exporters
from slipway_jobs.ownership import user_path
from slipway_jobs.publishing.stage import EXPORTERS, Publication
from slipway_jobs.run import TrainingRun, read_training_run

BUCKET = "models-for-tests"
LLAMA = {
    "architecture": "llama",
    "vocab_size": 384,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
}
BERT = {
    "architecture": "bert",
    "vocab_size": 384,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 512,
}
EXPORT = {"batch_size": 4, "sequence_length": 1024, "tensor_parallel_size": 2}
SERVICE = {"model": "tanuki", "engine": "tgi", "engine_release": "2.24.0", "instance_type": "inf2.xlarge"}
HOST = {
    "vcpus": 4,
    "memory_gib": 16,
    "neuron_devices": 1,
    "logical_neuron_cores": 2,
    "neuron_memory_gib": 32,
    "efa_interfaces": 0,
    "nvme_gib": 0,
    "usd_per_hour": 0.76,
    "price_as_of": "2026-01-01",
}

# What optimum-neuron writes, as far as Slipway looks at it. `answers.json` changes keys of neuron_config.json; DIE ends
# the program early; RANKS are the cores whose weights it writes.
#
# Sources: huggingface/optimum-neuron v0.3.0 and v0.4.5. config.json, neuron_config.json, model.pt and the folder of the
# weights: optimum/neuron/models/inference/backend/pretrained_model.py, lines 155-178 and 151-174. Keys beside those of
# the configuration's class: optimum/neuron/configuration_utils.py, lines 292-300. The tokenizer:
# optimum/exporters/neuron/__main__.py, lines 776-779 and 775-778. The names of the weights' files are NeuronX
# Distributed's: slipway_jobs/publishing/export.py has their source.
STUB_EXPORTER = f"""#!{sys.executable}
import json, os, pathlib, sys
arguments = sys.argv[1:]
assert arguments[:2] == ["export", "neuron"], arguments
given = dict(zip(arguments[2:-1:2], arguments[3:-1:2]))
out = pathlib.Path(arguments[-1])
here = pathlib.Path(__file__).parent.parent
(here / "calls").open("a").write(json.dumps(arguments) + "\\n")
answers = json.loads((here / "answers.json").read_text())
weights = out / "checkpoint" / "weights"
weights.mkdir(parents=True)
cores = int(given.get("--num_cores") or given["--tensor_parallel_size"])
for rank in answers.pop("RANKS", range(cores)):
    (weights / f"tp{{rank}}_sharded_checkpoint.safetensors").write_bytes(b"weights" * 100)
(out / "model.pt").write_bytes(os.urandom(64))
if answers.pop("DIE", None):
    sys.exit(3)
for name in ("config.json", "tokenizer_config.json"):
    (out / name).write_bytes((pathlib.Path(given["--model"]) / name).read_bytes())
(out / "neuron_config.json").write_text(json.dumps({{
    "batch_size": int(given["--batch_size"]), "sequence_length": int(given["--sequence_length"]),
    "tp_degree": cores, "torch_dtype": "bfloat16", "_serialized_key": "NxDNeuronConfig", **answers}}))
"""


def recipe(**changes: Any) -> dict[str, Any]:
    """A recipe that publishes `tanuki`; a change replaces a whole section."""
    return {
        "name": "tiny",
        "model": LLAMA,
        "hardware": {"device": "cpu", "framework": "xla", "nodes": 1, "workers_per_node": 2},
        "data": {"source": "/fsx/data/text.jsonl", "tokenizer": "byte-level", "sequence_length": 32},
        "parallelism": {"strategy": "tensor_parallel", "tensor_parallel_size": 2},
        "batch": {"global_size": 4},
        "steps": 20,
        "optimizer": {"learning_rate": 0.001},
        "checkpoint": {"interval_steps": 10},
        "publish": {"model": "tanuki", "version": "v1"},
        **changes,
    }


def configuration(model: dict[str, Any], precision: str = "bfloat16") -> dict[str, Any]:
    """config.json of a model, as the transformers library writes it, as far as publishing reads it."""
    values = {key: value for key, value in model.items() if key != "architecture"}
    return {"model_type": model["architecture"], "torch_dtype": precision, **values}


def install_exporter(runs: Path, exporter: Exporter, **answers: Any) -> Path:
    """Put a stand-in where the exporter's environment is built, complete; answers differ from what is right."""
    folder = user_path(runs) / EXPORTERS / exporter.name
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    right = {
        "optimum_neuron_version": exporter.version,
        "neuronxcc_version": f"{exporter.compiler}+8ad7a3f",
        "target": exporter.target,
    }
    (folder / "answers.json").write_text(json.dumps({**right, **answers}))
    program = folder / "bin" / "optimum-cli"
    program.write_text(STUB_EXPORTER)
    program.chmod(0o755)
    (folder / "done").touch()
    return folder


@dataclass
class PublishCase:
    """One run; `publish` is the stage, as often as wanted."""

    folder: Path
    recipe: dict[str, Any]
    service: dict[str, Any] | None = field(default_factory=lambda: dict(SERVICE))
    host: dict[str, Any] = field(default_factory=lambda: dict(HOST))
    name: str = "run-1"
    told: list[str] = field(default_factory=list)

    @property
    def converted(self) -> Path:
        return self.folder / self.name / "converted"

    @property
    def run(self) -> TrainingRun:
        """The run, from its file."""
        return read_training_run(self._write_run())

    @property
    def environment(self) -> Environment:
        return Environment.model_validate_json(self._write_environment().read_text())

    def convert(self, *, step: int = 20, weights: bytes = b"w" * 4000, precision: str = "bfloat16") -> None:
        """Leave what the convert stage leaves."""
        self.converted.mkdir(parents=True, exist_ok=True)
        files = {
            "model.safetensors": weights,
            "config.json": json.dumps(configuration(self.recipe["model"], precision)).encode(),
            "tokenizer_config.json": b"{}",
            "nested/vocabulary.txt": b"a\nb\n",
            "slipway.json": json.dumps({"run": self.name, "step": step}).encode(),
            "done": b"",
        }
        for name, content in files.items():
            (self.converted / name).parent.mkdir(exist_ok=True)
            (self.converted / name).write_bytes(content)

    def publication(self, s3: Any) -> Publication:
        run = self.run
        assert run.recipe.publish is not None
        return Publication(run, run.recipe.publish, self.environment, s3, self.told.append)

    def publish(self, s3: Any) -> None:
        self.publication(s3).carry_out()

    def again(self) -> None:
        """Forget that the stage was finished, as a resubmission of the run does."""
        self.run.done_file("publish").unlink(missing_ok=True)

    @property
    def exporter(self) -> Exporter:
        assert self.service is not None
        return exporters()[self.service["engine_release"]]

    def install_exporter(self, **answers: Any) -> Path:
        return install_exporter(self.folder, self.exporter, **answers)

    def write(self) -> Path:
        """Write environment and run; return the run's file."""
        self._write_environment()
        return self._write_run()

    def _write_run(self) -> Path:
        directory = self.folder / self.name
        directory.mkdir(parents=True, exist_ok=True)
        run = {
            "name": self.name,
            "recipe": self.recipe,
            "queue": "trn1",
            "cpu_queue": "cpu",
            "training_stack": "xla-2.28.1",
            "neuron_release": "2.28.1",
            "compiler": "2.23.6484.0",
            "python": sys.executable,
            "kit_directory": "/apps/slipway/jobs/0123abcd",
            "kit_python": sys.executable,
            "environment_file": str(self.folder / "environment.json"),
            "directory": str(directory),
            "checkpoint_directory": str(directory / "checkpoints"),
            "prepared_directory": str(directory / "prepared"),
            "converted_directory": str(self.converted),
            "scratch_directory": "/scratch",
            "compile_cache": str(user_path(self.folder) / "compile-cache" / "2.23.6484.0"),
            "model_bucket": BUCKET,
            "region": "us-west-2",
            "master_port": 44000,
            "usd_per_node_hour": None,
        }
        file = directory / "run.json"
        file.write_text(json.dumps(run))
        return file

    def _write_environment(self) -> Path:
        environment = {
            "name": "default",
            "region": "us-west-2",
            "cluster_name": "trainium",
            "data_bucket": "data",
            "checkpoint_bucket": "checkpoints",
            "model_bucket": BUCKET,
            "runs_directory": str(self.folder),
            "queues": [],
            "instance_types": {"inf2.xlarge": self.host},
            "training_stacks": {},
            "lustre_capacity_gib": 4800,
            "lustre_throughput_mb_s": 600,
            "inference": [self.service] if self.service else [],
        }
        file = self.folder / "environment.json"
        file.write_text(json.dumps(environment))
        return file


def objects(s3: Any, prefix: str = "") -> dict[str, bytes]:
    """Every object of the bucket below a prefix, with its content."""
    keys = [entry["Key"] for entry in s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])]
    return {key: s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}
