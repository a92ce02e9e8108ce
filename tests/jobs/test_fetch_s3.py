"""`slipway-job fetch s3://...`: moto is S3, on loopback, where the job asks it, too."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError
from moto.server import ThreadedMotoServer

from slipway_jobs.environment import read_environment
from slipway_jobs.importing.data_folder import DataManifest
from slipway_jobs.importing.s3_objects import S3Refused, list_objects
from slipway_jobs.recipe.source_files import FETCHED
from slipway_jobs.run import DataRun, read_run
from tests.jobs.chain_case import FakeSlurm
from tests.jobs.test_fetch import call, content, fetch, slurm, words

__all__ = ["slurm"]

BUCKET = "teams-texts"
PART = 5 * 2**20
LARGE = bytes(range(256)) * (50 * 1024)  # 12.5 MiB: three parts


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    address, port = server.get_host_and_port()
    for name, value in {
        "HOME": str(tmp_path / "home"),
        "AWS_ENDPOINT_URL": f"http://{address}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("time.sleep", lambda _: None)
    client = boto3.client("s3", region_name="us-east-1")
    client.create_bucket(Bucket=BUCKET)
    client.put_object(Bucket=BUCKET, Key="ja/a.jsonl", Body=b'{"text": "a"}\n')
    client.put_object(Bucket=BUCKET, Key="ja/b.jsonl", Body=b'{"text": "b"}\n', ChecksumAlgorithm="SHA256")
    client.put_object(Bucket=BUCKET, Key="ja/sub/", Body=b"")
    client.put_object(Bucket=BUCKET, Key="ja-other/c.jsonl", Body=b"beside")
    config = TransferConfig(multipart_threshold=PART, multipart_chunksize=PART)
    client.upload_fileobj(io.BytesIO(LARGE), BUCKET, "ja/sub/large.txt", Config=config)
    yield client
    server.stop()


def submitted(tmp_path: Path) -> DataRun:
    result = call(f"s3://{BUCKET}/ja/", "--to", f"{tmp_path}/data/ja", "--yes")
    assert result.exit_code == 0, result.output
    assert "licence not known" in words(result)
    assert "files 3 (2 .jsonl, 1 .txt), 0.01 GiB" in words(result)
    run = read_run(tmp_path / "runs" / "fetch-ja" / "run.json")
    assert isinstance(run, DataRun)
    return run


@pytest.mark.usefixtures("s3", "slurm")
def test_objects_arrive_with_the_checksums_that_s3_names(tmp_path: Path) -> None:
    run = submitted(tmp_path)

    result = fetch(run)

    assert result.returncode == 0, result.stderr
    found = content(Path(run.data.directory))
    assert set(found) == {"a.jsonl", "b.jsonl", "sub/large.txt", FETCHED, "done"}
    assert found["sub/large.txt"] == LARGE
    assert "sub/large.txt is there, md5-of-parts right" in result.stdout
    manifest = DataManifest.model_validate_json(found[FETCHED])
    checksums = {name: file.checksum for name, file in manifest.files.items()}
    assert checksums["a.jsonl"] == f"md5:{hashlib.md5(found['a.jsonl']).hexdigest()}"
    assert checksums["b.jsonl"] == f"sha256:{hashlib.sha256(found['b.jsonl']).hexdigest()}"
    assert "is complete" in call(f"s3://{BUCKET}/ja", "--to", f"{tmp_path}/data/ja").output


@pytest.mark.usefixtures("slurm")
def test_a_part_that_is_there_is_not_fetched_again(tmp_path: Path, s3: Any) -> None:
    del s3
    objects = list_objects(BUCKET, "ja", "us-east-1")
    (tmp_path / "work" / "sub").mkdir(parents=True)
    # Other bytes than the object's: the checksum says so, and the file is fetched anew.
    (tmp_path / "work" / "sub" / "large.txt.part").write_bytes(b"x" * PART)
    asked: list[str] = []
    objects.client.meta.events.register(
        "before-call.s3.GetObject", lambda params, **_: asked.append(params["headers"]["Range"])
    )
    file = objects.described("sub/large.txt")
    objects.bring(file, tmp_path / "work", lambda _: None)
    assert asked == [f"bytes={PART}-{len(LARGE) - 1}", f"bytes=0-{len(LARGE) - 1}"]

    (tmp_path / "work" / "sub" / "large.txt").unlink()
    (tmp_path / "work" / "sub" / "large.txt.part").write_bytes(LARGE[:PART])
    asked.clear()
    objects.bring(file, tmp_path / "work", lambda _: None)
    assert asked == [f"bytes={PART}-{len(LARGE) - 1}"]
    assert (tmp_path / "work" / "sub" / "large.txt").read_bytes() == LARGE


@pytest.mark.usefixtures("slurm")
def test_objects_that_changed_since_the_submission_are_refused(tmp_path: Path, s3: Any) -> None:
    run = submitted(tmp_path)
    s3.put_object(Bucket=BUCKET, Key="ja/a.jsonl", Body=b'{"text": "other"}\n')
    result = fetch(run)
    assert (result.returncode, "has changed since the fetch was submitted" in result.stderr) == (1, True)
    assert not Path(run.data.directory).exists()


@pytest.mark.usefixtures("slurm")
def test_an_object_that_changes_while_it_is_fetched_is_refused(s3: Any, tmp_path: Path) -> None:
    objects = list_objects(BUCKET, "ja", "us-east-1")
    file = objects.described("a.jsonl")
    s3.put_object(Bucket=BUCKET, Key="ja/a.jsonl", Body=b'{"text": "other"}\n')
    with pytest.raises(S3Refused, match=r"s3://teams-texts/ja/a.jsonl has changed since it was listed"):
        objects.bring(file, tmp_path, lambda _: None)


@pytest.mark.usefixtures("s3", "slurm")
@pytest.mark.parametrize(
    ("address", "message"),
    [
        (f"s3://{BUCKET}/nothing", "no file of s3://teams-texts/nothing matches"),
        ("s3://no-such-bucket-here/x", "there is no bucket no-such-bucket-here"),
        ("s3://Not_A_Bucket/x", "is not the address of objects: write s3://BUCKET/PREFIX"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, address: str, message: str) -> None:
    result = call(address, "--to", f"{tmp_path}/data/ja", "--yes")
    assert (result.exit_code, message in words(result)) == (1, True), result.output


@pytest.mark.usefixtures("s3", "slurm")
def test_one_object_is_a_data_set_too(tmp_path: Path) -> None:
    result = call(f"s3://{BUCKET}/ja/a.jsonl", "--to", f"{tmp_path}/data/one", "--yes")
    assert result.exit_code == 0, result.output
    run = read_run(tmp_path / "runs" / "fetch-one" / "run.json")
    assert isinstance(run, DataRun)
    assert fetch(run).returncode == 0
    assert "a.jsonl" in content(tmp_path / "data" / "one")


@pytest.mark.usefixtures("s3")
def test_a_missing_permission_is_named_with_the_role(
    tmp_path: Path, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    del slurm

    class Denied:
        def get_paginator(self, _: str) -> Denied:
            return self

        def paginate(self, **_: object) -> list[dict[str, Any]]:
            # What S3 answers (Amazon S3 API reference, Error responses).
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "Access Denied"}}, "ListObjectsV2")

    real = boto3.client
    monkeypatch.setattr("boto3.client", lambda name, **more: Denied() if name == "s3" else real(name, **more))
    result = call("s3://another-teams/x", "--to", f"{tmp_path}/data/x", "--yes")
    assert result.exit_code == 1
    assert "arn:aws:sts::" in words(result)
    assert "may not read s3://another-teams/x: it needs s3:ListBucket on arn:aws:s3:::another-teams and " in words(
        result
    )
    assert "s3:GetObject on arn:aws:s3:::another-teams/*" in words(result)


@pytest.mark.usefixtures("slurm")
def test_the_data_buckets_own_objects_are_on_the_disk_already(tmp_path: Path, s3: Any) -> None:
    bucket = "slipway-data"
    file = tmp_path / "environment.json"
    deployed = read_environment(file).model_copy(update={"data_bucket": bucket})
    file.write_text(deployed.model_dump_json(), encoding="utf-8")
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="wiki/a.txt", Body=b"text")
    result = call(f"s3://{bucket}/wiki", "--to", f"{tmp_path}/data/copy", "--yes")
    assert f"{tmp_path}/data shows these objects already" in words(result)
    assert result.exit_code == 0
