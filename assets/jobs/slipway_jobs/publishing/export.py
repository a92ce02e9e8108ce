"""The export: optimum-neuron compiles the converted model for the endpoint's cores, on a node without accelerator.

Not proven without AWS: optimum-neuron 0.4.5 is made for hosts without a Neuron device (it asks for --instance_type
there); that 0.3.0 needs none is not documented. Where it does, publish from a node of an Inferentia or Trn1 queue.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slipway_jobs.exporters import Exporter
from slipway_jobs.publishing.bounded_process import run_bounded
from slipway_jobs.publishing.compatibility import EXPORT_PRECISION
from slipway_jobs.publishing.refusal import PublishRefused
from slipway_jobs.recipe.model import Export

DONE = "done"
"""File that says an export is complete."""

HOURS = 6.0
"""Longest time of a compilation."""

_CONFIGURATION = "neuron_config.json"
_NEEDED = ("config.json", _CONFIGURATION, "model.pt", "tokenizer_config.json")
"""What an engine reads, beside the weights."""

_WEIGHTS = "checkpoint"
_SHARD = "weights/tp{rank}_sharded_checkpoint.safetensors"
"""One file of weights for each core, below `_WEIGHTS`; an engine loads ranks 0 to cores - 1 and nothing else.

Sources: huggingface/optimum-neuron v0.3.0 and v0.4.5, optimum/neuron/models/inference/backend/pretrained_model.py
(`save`, `get_shards_path`, `get_shard_name`). The writer is `shard_checkpoint` of aws-neuron/neuronx-distributed,
src/neuronx_distributed/trace/model_builder.py: lines 1762 and 1773 in Neuron SDK 2.24.0 (commit c9ee222), 1793 and 1804
in tag v2.26.0.
"""


@dataclass(frozen=True)
class ModelExport:
    """One compilation.

    Attributes:
        source: the converted model.
        export: the recipe's wish.
        exporter: the exporter of the endpoint's engine.
        environment: its Python environment.
        tell: called with a line of progress.
    """

    source: Path
    export: Export
    exporter: Exporter
    environment: Path
    tell: Callable[[str], None]

    def into(self, output: Path) -> Path:
        """Compile the model; a finished export is taken as it is.

        Args:
            output: where the result goes; it is there only when it is complete and verified.

        Returns:
            The folder `output`.

        Raises:
            PublishRefused: the exporter failed, took too long, or made something else than it was asked for.
        """
        if not (output / DONE).is_file():
            work = output.with_name(f".{output.name}.unfinished")
            for folder in (work, output):
                shutil.rmtree(folder, ignore_errors=True)
            work.parent.mkdir(parents=True, exist_ok=True)
            self._compile(work)
            if problems := list(differences(work, self.export, self.exporter)):
                raise PublishRefused(problems)
            (work / DONE).touch()
            work.rename(output)
        if problems := list(differences(output, self.export, self.exporter)):
            raise PublishRefused([*problems, f"remove {output} to have it compiled again"])
        return output

    def command(self, work: Path) -> list[str]:
        """Return the program that compiles, with its arguments.

        Args:
            work: the folder that it writes.
        """
        export, exporter = self.export, self.exporter
        return [
            *(str(self.environment / "bin" / "optimum-cli"), "export", "neuron", "--model", str(self.source)),
            *("--task", "text-generation"),
            *("--batch_size", str(export.batch_size), "--sequence_length", str(export.sequence_length)),
            *(exporter.cores_option, str(export.tensor_parallel_size), *exporter.options, str(work)),
        ]

    def _compile(self, work: Path) -> None:
        variables = {
            # optimum-cli starts `python3` by its name, and the compiler as `neuronx-cc`.
            "PATH": f"{self.environment / 'bin'}:/usr/bin:/bin",
            # There is no chip to ask. Inferentia2 and Trn1 have the same NeuronCores.
            "NEURON_PLATFORM_TARGET_OVERRIDE": "trn1",
            # The model is a folder: nothing to look up, and nothing of it to tell.
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": "",
        }
        self.tell(
            f"optimum-neuron {self.exporter.version} compiles (neuronx-cc {self.exporter.compiler}), "
            f"at most {HOURS:.0f} h"
        )
        if problem := run_bounded(self.command(work), seconds=HOURS * 3600, tell=self.tell, environment=variables):
            raise PublishRefused([f"the export failed: {problem}"])


def differences(folder: Path, export: Export, exporter: Exporter) -> Iterator[str]:
    """Yield what a compiled model is not, although it was asked for."""
    missing = [name for name in _NEEDED if not (folder / name).is_file()]
    if missing:
        yield f"the export has no {', '.join(missing)}"
    yield from _other_shards(folder / _WEIGHTS, export.tensor_parallel_size)
    try:
        found: dict[str, Any] = json.loads((folder / _CONFIGURATION).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        yield f"{_CONFIGURATION} cannot be read: {error}"
        return
    wanted = {
        "batch_size": export.batch_size,
        "sequence_length": export.sequence_length,
        "tp_degree": export.tensor_parallel_size,
        "torch_dtype": EXPORT_PRECISION,
        "optimum_neuron_version": exporter.version,
        "target": exporter.target,
    }
    for key, value in wanted.items():
        if found.get(key) != value:
            yield f"{_CONFIGURATION} says {key} {found.get(key)!r}; {value!r} was asked for"
    # The compiler's wheel has a build suffix behind its version.
    compiler = str(found.get("neuronxcc_version"))
    if compiler.partition("+")[0] != exporter.compiler:
        yield f"{_CONFIGURATION} says neuronxcc_version {compiler!r}; the exporter's is {exporter.compiler!r}"


def _other_shards(folder: Path, cores: int) -> Iterator[str]:
    """Yield the files of weights that are missing, and those that no core loads."""
    wanted = [_SHARD.format(rank=rank) for rank in range(cores)]
    found = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
    if missing := [name for name in wanted if name not in found]:
        yield f"the export for {cores} cores has no {', '.join(f'{_WEIGHTS}/{name}' for name in missing)}"
    if surplus := [name for name in found if name not in wanted]:
        yield f"the export for {cores} cores has {', '.join(f'{_WEIGHTS}/{name}' for name in surplus)} too"
