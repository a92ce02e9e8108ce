"""The copy of one version from bucket to bucket. Its manifest comes last, as when it was published."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from slipway.errors import FailedError, RefusedError
from slipway.operate.roll_out.published import MANIFEST_NAME, ModelBucket, PublishedModel

PART_BYTES = 64 * 2**20
"""Size of an upload's parts: that of the publish stage, since S3's checksum of a large object depends on it
(assets/jobs/slipway_jobs/publishing/files.py)."""

_SIDE_BY_SIDE = 8
_TAKEN = frozenset({"PreconditionFailed", "ConditionalRequestConflict"})


@dataclass(frozen=True)
class Copy:
    """A copy of a version. Every object is written as a new one, with `If-None-Match`: what is there stays.

    Attributes:
        source: bucket that has the version.
        target: bucket that gets it.
        published: what its manifest says.
        manifest: the manifest's content, of which somebody has named the SHA-256.
        tell: called with a line of progress.
    """

    source: ModelBucket
    target: ModelBucket
    published: PublishedModel
    manifest: bytes
    tell: Callable[[str], None]

    def missing(self) -> list[str]:
        """Return the files that the target does not have yet.

        Raises:
            RefusedError: its folder holds something else.
        """
        files, prefix = self.published.files, self.published.prefix
        found = [name for name in self.target.names(prefix) if name != MANIFEST_NAME]
        wrong = [f"{prefix}/{name} is there, and the manifest does not name it" for name in found if name not in files]
        wrong += [
            fault for name in found if name in files and (fault := self.target.fault(self._key(name), files[name]))
        ]
        if wrong:
            lines = "\n".join(f"- {fault}" for fault in wrong)
            raise RefusedError(
                f"s3://{self.target.name}/{prefix}/ holds something else:\n{lines}\nNothing was copied. Find out who "
                "wrote it; an administrator can remove what is not served"
            )
        return [name for name in files if name not in found]

    def carry_out(self, names: list[str]) -> None:
        """Copy files, compare S3's checksums of all that the version has, and write the manifest.

        Raises:
            FailedError: a file is another one than the manifest says.
            botocore.exceptions.ClientError: AWS refuses.
        """
        files, copied = self.published.files, 0
        total = sum(files[name].size for name in names)
        for name in names:
            try:
                if files[name].size < PART_BYTES:
                    body = self.source.s3.get_object(**self.source.place, Key=self._key(name))["Body"].read()
                    self._put(name, body)
                else:
                    self._copy_in_parts(name)
            except ClientError as error:
                # Somebody else copies the same: the check below finds out what they wrote.
                if error.response["Error"]["Code"] not in _TAKEN:
                    raise
            copied += files[name].size
            self.tell(f"{name} is there; {copied / 2**30:.2f} of {total / 2**30:.2f} GiB")
        if faults := self.target.faults(self.published, self.tell):
            lines = "\n".join(f"- {fault}" for fault in faults)
            raise FailedError(
                f"the copy is another one than the manifest says:\n{lines}\nThe manifest was not written, so nothing "
                "can be rolled out. An administrator can remove what was copied"
            )
        self._put(MANIFEST_NAME, self.manifest)

    def _copy_in_parts(self, name: str) -> None:
        """Have S3 copy a large object, which computes the checksum of each part."""
        key, size = self._key(name), self.published.files[name].size
        target = {**self.target.place, "Key": key}
        target["UploadId"] = self.target.s3.create_multipart_upload(**target, ChecksumAlgorithm="SHA256")["UploadId"]

        def copy(number: int) -> Mapping[str, Any]:
            first, end = (number - 1) * PART_BYTES, min(number * PART_BYTES, size)
            answer = self.target.s3.upload_part_copy(
                **target,
                PartNumber=number,
                CopySource={"Bucket": self.source.name, "Key": key},
                CopySourceRange=f"bytes={first}-{end - 1}",
                ExpectedSourceBucketOwner=self.source.owner,
            )["CopyPartResult"]
            # Not every S3-compatible store says the checksum.
            part = {field: answer[field] for field in ("ETag", "ChecksumSHA256") if field in answer}
            return {"PartNumber": number, **part}

        try:
            with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
                parts = list(pool.map(copy, range(1, -(-size // PART_BYTES) + 1)))
            # boto3's own copies cannot say If-None-Match here (s3transfer 0.19, ALLOWED_COPY_ARGS).
            self.target.s3.complete_multipart_upload(**target, MultipartUpload={"Parts": parts}, IfNoneMatch="*")
        except BaseException:
            self.target.s3.abort_multipart_upload(**target)
            raise

    def _put(self, name: str, content: bytes) -> None:
        self.target.s3.put_object(
            **self.target.place, Key=self._key(name), Body=content, ChecksumAlgorithm="SHA256", IfNoneMatch="*"
        )

    def _key(self, name: str) -> str:
        return f"{self.published.prefix}/{name}"
