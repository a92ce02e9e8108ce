"""Published versions in the model bucket, as their manifests describe them.

The job kit writes the manifests (assets/jobs/slipway_jobs/publishing/manifest.py, format 1). This reader takes what a
roll-out needs and lets the rest be, so that a newer kit may say more.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from botocore.exceptions import ClientError
from pydantic import BaseModel, ConfigDict, ValidationError

from slipway import facts
from slipway.errors import RefusedError
from slipway.operate.roll_out.state import digest_of, pinned, prefix_of

MANIFEST_NAME = "slipway-manifest.json"
"""The object that makes a prefix a published version."""

CONFIGURATION_NAME = "config.json"
"""The object that names the model's architecture, as the transformers library writes it."""

_MISSING = frozenset({"404", "NoSuchKey", "NotFound"})
_SIDE_BY_SIDE = 8


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class PublishedFile(_Part):
    """One object of a version: its size, and the checksum that S3 must report for it."""

    size: int
    s3_checksum: str


class Source(_Part):
    """Where the weights come from."""

    run: str
    step: int | None = None
    imported_from: str | None = None

    @property
    def told(self) -> str:
        """Run and step, or the import's source, as messages name them."""
        return f"run {self.run}, {self.imported_from or f'step {self.step}'}"


class Compiled(_Part):
    """What the version was compiled for."""

    engine: str
    neuron_release: str
    exporter: str
    batch_size: int
    sequence_length: int
    tensor_parallel_size: int
    precision: str
    device_bytes: int

    @property
    def shape(self) -> facts.CompiledShape:
        """What is the same for the engine's arguments and the model's file."""
        return facts.CompiledShape(
            batch_size=self.batch_size,
            sequence_length=self.sequence_length,
            tensor_parallel_size=self.tensor_parallel_size,
        )


class PublishedModel(_Part):
    """One version."""

    format: Literal[1]
    model: str
    version: str
    created_at: str
    source: Source
    compiled: Compiled | None
    files: Mapping[str, PublishedFile]

    @property
    def prefix(self) -> str:
        """Its folder of the bucket."""
        return f"{self.model}/{self.version}"

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files.values())

    def summary(self) -> str:
        """Return what a person wants to know of it, in a line."""
        made = f"{self.source.told}, {self.size / 2**30:.1f} GiB, {self.created_at}"
        if self.compiled is None:
            return f"{made}; not compiled for an engine"
        how = self.compiled
        return (
            f"{made}; for {how.engine} (Neuron {how.neuron_release}): batch {how.batch_size}, "
            f"{how.sequence_length} tokens, {how.tensor_parallel_size} cores, {how.precision}"
        )


@dataclass(frozen=True)
class ModelBucket:
    """A bucket with published versions.

    Attributes:
        s3: boto3 client.
        name: the bucket's name.
        owner: its AWS account; S3 refuses a bucket of another one.
    """

    s3: Any
    name: str
    owner: str

    @property
    def place(self) -> dict[str, str]:
        """What each call says of the bucket."""
        return {"Bucket": self.name, "ExpectedBucketOwner": self.owner}

    def pin(self, version: str) -> str:
        """Return a version with the SHA-256 of its manifest; one that has it stays as it is.

        Raises:
            RefusedError: it is not published.
        """
        return version if digest_of(version) else pinned(version, digest_of_content(self.manifest(version)))

    def read(self, version: str) -> PublishedModel:
        """Return what the manifest of a version says.

        Raises:
            RefusedError: it is not published, or its manifest is damaged, another version's or not the pinned one.
        """
        prefix, digest = str(prefix_of(version)), digest_of(version)
        content = self.manifest(prefix)
        if digest not in {None, digest_of_content(content)}:
            raise RefusedError(
                f"the manifest of {prefix} has SHA-256 {digest_of_content(content)}, and {digest} was rolled out: it "
                "was replaced since. Find out by whom, and publish another version"
            )
        return self.parsed(prefix, content)

    def parsed(self, prefix: str, content: bytes) -> PublishedModel:
        """Return what the content of a version's manifest says.

        Raises:
            RefusedError: it is damaged, or another version's.
        """
        try:
            found = PublishedModel.model_validate_json(content)
        except ValidationError as error:
            raise RefusedError(f"s3://{self.name}/{prefix}/{MANIFEST_NAME} cannot be read: {error}") from error
        if found.prefix != prefix:
            raise RefusedError(f"the manifest under {prefix} is that of {found.prefix}")
        return found

    def manifest(self, prefix: str) -> bytes:
        """Return the content of a version's manifest.

        Raises:
            RefusedError: the version is not published.
        """
        content = self.find_manifest(prefix)
        if content is None:
            raise RefusedError(
                f"{prefix} is not published: s3://{self.name}/{prefix}/{MANIFEST_NAME} does not exist. A version whose "
                "upload is not finished has none"
            )
        return content

    def find_manifest(self, prefix: str) -> bytes | None:
        """Return the content of a version's manifest; none where the version is not published."""
        try:
            content: bytes = self.s3.get_object(**self.place, Key=f"{prefix}/{MANIFEST_NAME}")["Body"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] not in _MISSING:
                raise
            return None
        return content

    def architectures(self, published: PublishedModel) -> tuple[str, ...]:
        """Return the architectures that a version's `config.json` names; none where it names none."""
        if CONFIGURATION_NAME not in published.files:
            return ()
        key = f"{published.prefix}/{CONFIGURATION_NAME}"
        try:
            found = json.loads(self.s3.get_object(**self.place, Key=key)["Body"].read())
        except ValueError:
            return ()
        except ClientError as error:
            # That it is missing is for `faults` to say.
            if error.response["Error"]["Code"] not in _MISSING:
                raise
            return ()
        names = found.get("architectures") if isinstance(found, dict) else None
        return tuple(str(name) for name in names) if isinstance(names, list) else ()

    def versions(self, model: str) -> Iterator[str]:
        """Yield the prefixes of a model's published versions, by name."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(**self.place, Prefix=f"{model}/")
        for page in pages:
            for entry in page.get("Contents", []):
                prefix, _, name = entry["Key"].rpartition("/")
                if name == MANIFEST_NAME and prefix.count("/") == 1:
                    yield prefix

    def names(self, prefix: str) -> Iterator[str]:
        """Yield the names of all objects below a version's folder."""
        folder = f"{prefix}/"
        for page in self.s3.get_paginator("list_objects_v2").paginate(**self.place, Prefix=folder):
            for entry in page.get("Contents", []):
                yield entry["Key"].removeprefix(folder)

    def faults(self, published: PublishedModel, tell: Callable[[str], None]) -> list[str]:
        """Return which objects of a version are missing or damaged; no object is downloaded."""
        prefix = published.prefix
        tell(f"checking {len(published.files)} objects, {published.size / 2**30:.1f} GiB, by the checksums S3 computed")
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            found = pool.map(lambda item: self.fault(f"{prefix}/{item[0]}", item[1]), published.files.items())
            return [fault for fault in found if fault]

    def fault(self, key: str, file: PublishedFile) -> str | None:
        """Return in which way an object is not the file that a manifest names; none where it is."""
        try:
            head = self.s3.head_object(**self.place, Key=key, ChecksumMode="ENABLED")
        except ClientError as error:
            if error.response["Error"]["Code"] not in _MISSING:
                raise
            return f"{key} is missing"
        if head["ContentLength"] != file.size:
            return f"{key} has {head['ContentLength']} bytes, the manifest says {file.size}"
        # The number of parts follows from the size; not every S3-compatible store repeats it.
        if head.get("ChecksumSHA256", "").partition("-")[0] != file.s3_checksum.partition("-")[0]:
            return f"{key} has another SHA-256 than the manifest says"
        return None


def digest_of_content(content: bytes) -> str:
    """Return the SHA-256 of a manifest, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
