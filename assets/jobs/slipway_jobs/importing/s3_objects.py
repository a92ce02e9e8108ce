"""Objects of S3: what is below an address, and their content with its checksums."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import boto3
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from slipway_jobs.importing.remote_file import TRIES, Checksum, RemoteFile, bring

_READ_BYTES = 8 * 2**20
_DENIED = frozenset({"403", "AccessDenied", "AllAccessDisabled", "Forbidden"})
_ARCHIVED = frozenset({"GLACIER", "DEEP_ARCHIVE"})
_PART = ".part"


class S3Refused(Exception):  # noqa: N818 (a user's mistake or a missing permission, not an error of the program)
    """S3 does not have what was asked for, or does not give it; the message is for the user."""


@dataclass(frozen=True)
class S3Object:
    """An object at the time it was listed.

    Attributes:
        key: its key.
        size: bytes.
        etag: its ETag, without quotation marks. Another content has another one.
    """

    key: str
    size: int
    etag: str


@dataclass(frozen=True)
class S3Objects:
    """The objects below an address.

    Attributes:
        client: boto3 client.
        bucket: the bucket.
        prefix: what the keys begin with, without a slash at the end.
        objects: the objects by their names below the prefix.
    """

    client: Any
    bucket: str
    prefix: str
    objects: Mapping[str, S3Object]

    def described(self, name: str) -> RemoteFile:
        """Return an object with its checksum, for which S3 is asked.

        Raises:
            S3Refused: S3 does not tell.
        """
        found = self.objects[name]
        about = {"Bucket": self.bucket, "Key": found.key}
        parts = int(found.etag.partition("-")[2] or 0)
        try:
            head = self.client.head_object(**about, IfMatch=f'"{found.etag}"', ChecksumMode="ENABLED")
            first = self.client.head_object(**about, PartNumber=1)["ContentLength"] if parts else 0
        except (ClientError, BotoCoreError) as error:
            refuse(error, self.bucket, found.key)
        return RemoteFile(name, found.size, _checksum(found, head, parts, first))

    def bring(self, file: RemoteFile, folder: Path, tell: Callable[[str], None]) -> None:
        """Bring an object into a folder, under its own name; a part that is there is not fetched again.

        Args:
            file: the object, as `described`.
            folder: where it goes.
            tell: called with a line of progress.

        Raises:
            S3Refused: S3 does not give it, or gives another content than it says.
            OSError: it cannot be written.
        """
        path = folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            there = bring(file, path, lambda: self._get(file, path), may_pass=_may_pass, tell=tell)
        except (ClientError, BotoCoreError) as error:
            refuse(error, self.bucket, self.objects[file.name].key)
        if not there:
            raise S3Refused(
                f"s3://{self.bucket}/{self.objects[file.name].key} arrived with another checksum than S3 names, "
                f"{TRIES} times"
            )

    def _get(self, file: RemoteFile, path: Path) -> None:
        found, part = self.objects[file.name], path.with_name(path.name + _PART)
        with part.open("ab") as stream:
            start = stream.tell()
            if start > file.size:
                stream.truncate(0)
                start = 0
            if start < file.size:
                answer = self.client.get_object(
                    Bucket=self.bucket, Key=found.key, IfMatch=f'"{found.etag}"', Range=f"bytes={start}-{file.size - 1}"
                )
                for block in answer["Body"].iter_chunks(_READ_BYTES):
                    stream.write(block)
        part.rename(path)


def list_objects(bucket: str, prefix: str, region: str) -> S3Objects:
    """Ask S3 for what is below an address: an object, or all whose keys go on behind a slash.

    Args:
        bucket: the bucket.
        prefix: key of an object or of a folder, without slashes at its ends; empty for the whole bucket.
        region: AWS Region of the client; S3 names the bucket's own where it is another.

    Raises:
        S3Refused: S3 does not tell, or has nothing there that can be read.
    """
    objects: dict[str, S3Object] = {}
    archived: list[str] = []
    try:
        client = boto3.client("s3", region_name=region)
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for entry in page.get("Contents", []):
                name = _name(entry["Key"], prefix)
                if name is None:
                    continue
                objects[name] = S3Object(entry["Key"], entry["Size"], entry["ETag"].strip('"'))
                if entry.get("StorageClass") in _ARCHIVED:
                    archived.append(entry["Key"])
    except (ClientError, BotoCoreError) as error:
        refuse(error, bucket, prefix)
    if archived:
        raise S3Refused(f"s3://{bucket}/{archived[0]} is archived, with {len(archived) - 1} more: restore them first")
    return S3Objects(client, bucket, prefix, objects)


def refuse(error: Exception, bucket: str, key: str) -> NoReturn:
    """Say what an error of S3 means.

    Raises:
        S3Refused: always.
    """
    if isinstance(error, NoCredentialsError):
        raise S3Refused("there are no AWS credentials here: run this on a node of the cluster") from None
    if not isinstance(error, ClientError):
        raise S3Refused(f"S3 does not answer: {error}") from None
    code = str(error.response["Error"]["Code"])
    if code in _DENIED:
        raise S3Refused(
            f"{_caller()} may not read s3://{bucket}/{key}: it needs s3:ListBucket on arn:aws:s3:::{bucket} and "
            f"s3:GetObject on arn:aws:s3:::{bucket}/*. The bucket's policy can allow the role both; of another "
            "account's bucket the role's own policy must allow them, too"
        ) from None
    if code == "NoSuchBucket":
        raise S3Refused(f"there is no bucket {bucket}") from None
    if code in ("412", "PreconditionFailed", "404", "NoSuchKey"):
        raise S3Refused(f"s3://{bucket}/{key} has changed since it was listed: submit the fetch again") from None
    raise S3Refused(f"s3://{bucket}/{key}: {error}") from None


def _name(key: str, prefix: str) -> str | None:
    """Return an object's name below a prefix, or None if it is beside it or stands for a folder."""
    if key.endswith("/"):
        return None
    if key == prefix:
        return key.rpartition("/")[2]
    return key[len(prefix) + 1 if prefix else 0 :] if not prefix or key.startswith(f"{prefix}/") else None


def _checksum(found: S3Object, head: Mapping[str, Any], parts: int, first_bytes: int) -> Checksum:
    """Return what an object can be compared with.

    The ETag is the MD5 of what was uploaded at once, and that of the parts' MD5s with their number otherwise, unless a
    key of KMS or of the customer encrypts the object (Amazon S3 API reference, Object). Other checksums than SHA-256
    need a library that the kit has not.
    """
    if head.get("ChecksumSHA256") and head.get("ChecksumType", "FULL_OBJECT") == "FULL_OBJECT" and not parts:
        return Checksum("sha256", base64.b64decode(head["ChecksumSHA256"]).hex())
    if head.get("ServerSideEncryption", "AES256") != "AES256" or head.get("SSECustomerAlgorithm"):
        return Checksum("none")
    if not parts:
        return Checksum("md5", found.etag)
    # Parts may have had any size: with others than these the MD5 cannot be computed.
    if first_bytes and -(-found.size // first_bytes) == parts:
        return Checksum("md5-of-parts", found.etag.partition("-")[0], first_bytes)
    return Checksum("none")


def _may_pass(error: Exception) -> bool:
    """Tell whether an error may be gone with the next try: the network's, or S3's own."""
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
        return int(status) >= 500 or status == 429
    return isinstance(error, BotoCoreError) and not isinstance(error, NoCredentialsError)


def _caller() -> str:
    """Return the role that asks, as far as AWS tells."""
    with contextlib.suppress(ClientError, BotoCoreError):
        return str(boto3.client("sts").get_caller_identity()["Arn"])
    return "the role of this machine"
