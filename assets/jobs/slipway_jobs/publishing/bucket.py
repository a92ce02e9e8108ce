"""One version's prefix in the model bucket: claimed, filled, verified, and only then made a model by its manifest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from slipway_jobs.publishing.files import PART_BYTES
from slipway_jobs.publishing.manifest import MANIFEST_NAME, Manifest, PublishedFile
from slipway_jobs.publishing.refusal import PublishRefused

CLAIM_NAME = "slipway-unfinished.json"
"""Says whose unfinished upload a prefix is; it goes when the manifest is there."""

# An engine starts with these. They come last, so that what an upload left unfinished cannot be loaded.
_LAST = ("config.json", "neuron_config.json")
_DELETED_AT_ONCE = 1000
_MISSING = frozenset({"404", "NoSuchKey", "NotFound"})
_TAKEN = frozenset({"PreconditionFailed", "ConditionalRequestConflict"})


@dataclass(frozen=True)
class VersionPrefix:
    """The folder of one version.

    Attributes:
        s3: boto3 client.
        bucket: the model bucket.
        prefix: `<model>/<version>`, without slashes at its ends.
        tell: called with a line of progress.
    """

    s3: Any
    bucket: str
    prefix: str
    tell: Callable[[str], None]

    @property
    def url(self) -> str:
        """The folder as an `s3://` address."""
        return f"s3://{self.bucket}/{self.prefix}/"

    def manifest(self) -> Manifest | None:
        """Return the manifest; none while the version is not published.

        Raises:
            PublishRefused: what is there is no manifest of this format.
        """
        content = self._content(MANIFEST_NAME)
        if content is None:
            return None
        try:
            return Manifest.model_validate_json(content)
        except ValueError as error:
            raise PublishRefused([f"{self.url}{MANIFEST_NAME} is not a manifest this kit reads: {error}"]) from error

    def claim(self, run: str) -> None:
        """Say whose upload this is, so that two runs never fill one version together.

        Raises:
            PublishRefused: another run is at it, or the prefix holds what no run of the kit put there.
        """
        claim = json.dumps({"run": run}).encode()
        if self._content(CLAIM_NAME) is None:
            if foreign := next(self._keys(), None):
                raise PublishRefused(
                    [
                        f"{self.url} already holds {foreign!r}, and neither a manifest nor a run says what it is: "
                        "write another publish.version, or remove what is there"
                    ]
                )
            try:
                self._put(CLAIM_NAME, claim, IfNoneMatch="*")
            except ClientError as error:
                if _code(error) not in _TAKEN:
                    raise
        owner = json.loads(self._content(CLAIM_NAME) or claim)["run"]
        if owner != run:
            raise PublishRefused(
                [
                    f"run {owner!r} is publishing {self.url}, or began to: write another publish.version; if that run "
                    f"is given up, remove the prefix (aws s3 rm --recursive {self.url})"
                ]
            )

    def fill(self, folder: Path, files: Mapping[str, PublishedFile]) -> None:
        """Upload what is not there yet, and remove what an earlier attempt left and this one does not have."""
        strays = [name for name in self._keys() if name not in files and name not in {CLAIM_NAME, MANIFEST_NAME}]
        self._delete(strays)
        # S3 computes the checksums itself while it takes the bytes, and refuses what arrives damaged.
        transfer = TransferConfig(multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES)
        total, uploaded = sum(file.size for file in files.values()), 0
        for name in sorted(files, key=lambda name: (name in _LAST, name)):
            if self._fault(name, files[name]):
                self.s3.upload_file(
                    str(folder / name),
                    self.bucket,
                    self._key(name),
                    ExtraArgs={"ChecksumAlgorithm": "SHA256"},
                    Config=transfer,
                )
            uploaded += files[name].size
            self.tell(f"{name} is there; {uploaded / 2**30:.2f} of {total / 2**30:.2f} GiB")

    def faults(self, files: Mapping[str, PublishedFile]) -> list[str]:
        """Return what of some files is missing or different in the bucket, a sentence each."""
        return [fault for name, file in files.items() if (fault := self._fault(name, file))]

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, once and for all, and give the claim back.

        Raises:
            PublishRefused: another manifest is there already.
        """
        try:
            self._put(MANIFEST_NAME, manifest.model_dump_json(indent=2).encode(), IfNoneMatch="*")
        except ClientError as error:
            if _code(error) not in _TAKEN:
                raise
            raise PublishRefused([f"{self.url} was published by somebody else meanwhile"]) from error
        self.release()

    def release(self) -> None:
        """Remove the claim, where a kill came between the manifest and this."""
        self.s3.delete_object(Bucket=self.bucket, Key=self._key(CLAIM_NAME))

    def _fault(self, name: str, file: PublishedFile) -> str | None:
        try:
            head = self.s3.head_object(Bucket=self.bucket, Key=self._key(name), ChecksumMode="ENABLED")
        except ClientError as error:
            if _code(error) not in _MISSING:
                raise
            return f"{self.url}{name} is missing"
        if head["ContentLength"] != file.size:
            return f"{self.url}{name} has {head['ContentLength']} bytes, not {file.size}"
        # The number of parts follows from the size; not every S3-compatible store repeats it.
        if head.get("ChecksumSHA256", "").partition("-")[0] != file.s3_checksum.partition("-")[0]:
            return f"{self.url}{name} has another SHA-256 than the file"
        return None

    def _keys(self) -> Iterator[str]:
        """Yield the names below the prefix."""
        folder = self._key("")
        for page in self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=folder):
            for entry in page.get("Contents", []):
                yield entry["Key"].removeprefix(folder)

    def _delete(self, names: list[str]) -> None:
        for start in range(0, len(names), _DELETED_AT_ONCE):
            keys = [{"Key": self._key(name)} for name in names[start : start + _DELETED_AT_ONCE]]
            self.s3.delete_objects(Bucket=self.bucket, Delete={"Objects": keys, "Quiet": True})
        for name in names:
            self.tell(f"{name} of an earlier attempt is removed")

    def _content(self, name: str) -> bytes | None:
        try:
            content: bytes = self.s3.get_object(Bucket=self.bucket, Key=self._key(name))["Body"].read()
        except ClientError as error:
            if _code(error) in _MISSING:
                return None
            raise
        return content

    def _put(self, name: str, content: bytes, **conditions: str) -> None:
        self.s3.put_object(
            Bucket=self.bucket,
            Key=self._key(name),
            Body=content,
            ContentType="application/json",
            ChecksumAlgorithm="SHA256",
            **conditions,
        )

    def _key(self, name: str) -> str:
        return f"{self.prefix}/{name}"


def _code(error: ClientError) -> str:
    return str(error.response["Error"]["Code"])
