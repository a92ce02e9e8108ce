"""One version's prefix in the model bucket: claimed, filled, verified, and only then made a model by its manifest.

Every write says `If-None-Match: *`: the bucket refuses jobs any other (the storage stack), so what is there stays.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from slipway_jobs.publishing.files import PART_BYTES
from slipway_jobs.publishing.manifest import MANIFEST_NAME, Manifest, PublishedFile
from slipway_jobs.publishing.refusal import PublishRefused

CLAIM_NAME = "slipway-run.json"
"""Says which run fills a prefix, and stays there."""

# An engine starts with these. They come last, so that what an upload left unfinished cannot be loaded.
_LAST = ("config.json", "neuron_config.json")
_SIDE_BY_SIDE = 8
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
                        f"write another publish.version. {self._remove}"
                    ]
                )
            try:
                self._put(CLAIM_NAME, claim)
            except ClientError as error:
                if _code(error) not in _TAKEN:
                    raise
        owner = json.loads(self._content(CLAIM_NAME) or claim)["run"]
        if owner != run:
            raise PublishRefused(
                [f"run {owner!r} is publishing {self.url}, or began to: write another publish.version. {self._remove}"]
            )

    def fill(self, folder: Path, files: Mapping[str, PublishedFile]) -> None:
        """Upload what is not there yet.

        Raises:
            PublishRefused: an earlier attempt left what this one does not have, or has otherwise.
        """
        left = [name for name in self._keys() if name not in {CLAIM_NAME, MANIFEST_NAME}]
        other = [f"{self.url}{name} is left of an earlier attempt" for name in left if name not in files]
        other += [fault for name in left if name in files and (fault := self._fault(name, files[name]))]
        if other:
            raise PublishRefused([*other, f"a job changes no published object: write another version. {self._remove}"])
        total, uploaded = sum(file.size for file in files.values()), 0
        for name in sorted(files, key=lambda name: (name in _LAST, name)):
            if name not in left:
                self._upload(folder / name, name, files[name].size)
            uploaded += files[name].size
            self.tell(f"{name} is there; {uploaded / 2**30:.2f} of {total / 2**30:.2f} GiB")

    def faults(self, files: Mapping[str, PublishedFile]) -> list[str]:
        """Return what of some files is missing or different in the bucket, a sentence each."""
        return [fault for name, file in files.items() if (fault := self._fault(name, file))]

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, once and for all.

        Raises:
            PublishRefused: another manifest is there already.
        """
        try:
            self._put(MANIFEST_NAME, manifest.model_dump_json(indent=2).encode())
        except ClientError as error:
            if _code(error) not in _TAKEN:
                raise
            raise PublishRefused([f"{self.url} was published by somebody else meanwhile"]) from error

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

    def _upload(self, path: Path, name: str, size: int) -> None:
        """Upload a file as a new object. S3 computes the checksums while it takes the bytes."""
        try:
            # boto3's own transfers cannot say If-None-Match (s3transfer 0.19.3, ALLOWED_UPLOAD_ARGS).
            if size < PART_BYTES:
                self._put(name, path.read_bytes())
            else:
                self._upload_in_parts(path, name, size)
        except ClientError as error:
            # An earlier attempt may end now: `faults` finds out what it wrote.
            if _code(error) not in _TAKEN:
                raise

    def _upload_in_parts(self, path: Path, name: str, size: int) -> None:
        target = {"Bucket": self.bucket, "Key": self._key(name)}
        target["UploadId"] = self.s3.create_multipart_upload(**target, ChecksumAlgorithm="SHA256")["UploadId"]

        def upload(number: int) -> dict[str, Any]:
            content = os.pread(file.fileno(), PART_BYTES, (number - 1) * PART_BYTES)
            sent = self.s3.upload_part(**target, PartNumber=number, Body=content, ChecksumAlgorithm="SHA256")
            return {"PartNumber": number, "ETag": sent["ETag"], "ChecksumSHA256": sent["ChecksumSHA256"]}

        try:
            with path.open("rb") as file, ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
                parts = list(pool.map(upload, range(1, -(-size // PART_BYTES) + 1)))
            self.s3.complete_multipart_upload(**target, MultipartUpload={"Parts": parts}, IfNoneMatch="*")
        except BaseException:
            self.s3.abort_multipart_upload(**target)
            raise

    def _content(self, name: str) -> bytes | None:
        try:
            content: bytes = self.s3.get_object(Bucket=self.bucket, Key=self._key(name))["Body"].read()
        except ClientError as error:
            if _code(error) in _MISSING:
                return None
            raise
        return content

    def _put(self, name: str, content: bytes) -> None:
        self.s3.put_object(
            Bucket=self.bucket, Key=self._key(name), Body=content, ChecksumAlgorithm="SHA256", IfNoneMatch="*"
        )

    @property
    def _remove(self) -> str:
        return f"An administrator can remove what nobody serves: aws s3 rm --recursive {self.url}"

    def _key(self, name: str) -> str:
        return f"{self.prefix}/{name}"


def _code(error: ClientError) -> str:
    return str(error.response["Error"]["Code"])
