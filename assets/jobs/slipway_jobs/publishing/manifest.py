"""The manifest of a published model: what makes a folder of the model bucket a complete version.

It is the last object that is written, after every other one was found to be as it says. A version without it is not
published, whatever else lies under its prefix. `slipway roll-out` reads it on a laptop.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Literal

from slipway_jobs.recipe.section import Section

MANIFEST_NAME = "slipway-manifest.json"
"""Its key below the version's prefix."""


class PublishedFile(Section):
    """One object of the version."""

    size: int
    """Bytes."""

    sha256: str
    """SHA-256 of the whole content, hexadecimal."""

    s3_checksum: str
    """The `ChecksumSHA256` that S3 computed and HeadObject returns: base64, with `-<parts>` behind it when the object
    was uploaded in parts, for then it is the SHA-256 of the parts' SHA-256."""


class Source(Section):
    """Where the weights come from."""

    run: str
    """The run's name."""

    architecture: str
    """Architecture of the model, for example `llama`."""

    precision: str
    """Precision of the training, or data type of the weights of an imported model."""

    recipe: str | None = None
    """The recipe's name, or None for an imported model."""

    step: int | None = None
    """Optimizer step of the checkpoint, or None for an imported model."""

    tensor_parallel_size: int | None = None
    """Workers that shared each layer in the training, or None for an imported model."""

    pipeline_parallel_size: int | None = None
    """Stages of the training, or None for an imported model."""

    neuron_release: str | None = None
    """Neuron SDK release of the training, or None for an imported model."""

    imported_from: str | None = None
    """Repository and commit, or folder, of an imported model, or None for a model that was trained here."""

    license: str | None = None
    """Licence that the repository of an imported model names."""

    content_sha256: str
    """One SHA-256 over names and SHA-256 of all files of the model's folder: the identity of the weights."""

    @property
    def told(self) -> str:
        """Run and step, or the import's source, as messages name them."""
        return f"run {self.run}, {self.imported_from or f'step {self.step}'}"


class Compiled(Section):
    """How the model was compiled for the endpoint."""

    engine: str
    """Name of the inference engine it was compiled for."""

    neuron_release: str
    """Neuron SDK release of exporter and engine."""

    exporter: str
    """Package and version that compiled it, for example `optimum-neuron 0.3.0`; an engine loads only its own."""

    compiler: str
    """Version of neuronx-cc."""

    batch_size: int
    """Requests that are answered at once."""

    sequence_length: int
    """Longest prompt and answer together, in tokens."""

    tensor_parallel_size: int
    """NeuronCores that share the model."""

    precision: str
    """Data type that it computes in."""

    device_bytes: int
    """Bytes of device memory for weights, keys and values, as far as they can be computed beforehand."""


class Manifest(Section):
    """One version of a model, complete."""

    format: Literal[1] = 1
    """Version of this format."""

    model: str
    """The model's name."""

    version: str
    """The version; the prefix is `<model>/<version>/`."""

    created_at: str
    """When it was written: ISO 8601, UTC."""

    created_by: str
    """Checksum of the job kit that wrote it: the name of its folder."""

    max_position_embeddings: int
    """Longest sequence that the model knows, in tokens."""

    precision: str
    """Data type of the published weights."""

    source: Source
    """Where it comes from."""

    compiled: Compiled | None
    """How it was compiled; none for a model as the transformers library reads it, which no endpoint loads by itself."""

    files: Mapping[str, PublishedFile]
    """Every other object of the version, by its key below the prefix."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())


def content_sha256(files: Mapping[str, PublishedFile]) -> str:
    """Return one SHA-256 over the names and SHA-256 of files, in the order of their names."""
    lines = "".join(f"{files[name].sha256}  {name}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()
