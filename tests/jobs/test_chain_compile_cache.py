"""The compile cache between hosts: only what is complete, and whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from slipway_jobs.chain.compile_cache import fetch, main, store

BUCKET = "checkpoints"
PREFIX = "compile-cache/2.23.6484.0/"
VERSION = "neuronxcc-2.23.6484.0+4a9b2326"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket=BUCKET)
        yield client


def write(cache: Path, *files: str) -> None:
    for name in files:
        file = cache / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name, encoding="utf-8")


def files(cache: Path) -> set[str]:
    return {file.relative_to(cache).as_posix() for file in cache.rglob("*") if file.is_file()}


def test_complete_entries_travel_from_host_to_host(tmp_path: Path, s3: Any) -> None:
    complete = {
        f"{VERSION}/MODULE_1+a/model.hlo_module.pb",
        f"{VERSION}/MODULE_1+a/model.neff",
        f"{VERSION}/MODULE_1+a/model.done",
        "ab/cd/abcd.neff",
    }
    write(tmp_path / "one", *complete)
    # A compilation that runs, or was killed; a lock; a file that is being written.
    write(tmp_path / "one", f"{VERSION}/MODULE_2+a/model.hlo_module.pb", f"{VERSION}/lock", "ab/cd/abce.neff.tmp")

    assert store(tmp_path / "one", s3, BUCKET, PREFIX) == 2
    assert store(tmp_path / "one", s3, BUCKET, PREFIX) == 0
    # Left behind on the other host by a killed compilation.
    write(tmp_path / "other", f"{VERSION}/MODULE_1+a/model.hlo_module.pb.lock")
    assert fetch(tmp_path / "other", s3, BUCKET, PREFIX) == 2
    assert fetch(tmp_path / "other", s3, BUCKET, PREFIX) == 0

    assert files(tmp_path / "other") == complete


def test_what_a_host_did_not_upload_to_its_end_is_not_fetched(tmp_path: Path, s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key=f"{PREFIX}{VERSION}/MODULE_3+a/model.neff", Body=b"half")

    assert fetch(tmp_path / "cache", s3, BUCKET, PREFIX) == 0
    assert files(tmp_path / "cache") == set()


def test_nothing_outside_of_the_cache_is_written(tmp_path: Path, s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key=f"{PREFIX}../../evil.neff", Body=b"x")
    s3.put_object(Bucket=BUCKET, Key=f"{PREFIX}/root.neff", Body=b"x")

    assert fetch(tmp_path / "a" / "b" / "cache", s3, BUCKET, PREFIX) == 0
    assert files(tmp_path) == set()


@pytest.mark.usefixtures("s3")
def test_a_bucket_that_is_not_there_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", str(tmp_path / "cache"), "s3://no-such-bucket/compile-cache/1"]) == 1

    assert "warning: compile cache: fetch s3://no-such-bucket/compile-cache/1: " in capsys.readouterr().err


@pytest.mark.usefixtures("s3")
def test_the_command_says_how_much_it_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "ab/cd/abcd.neff")

    assert main(["store", str(tmp_path), f"s3://{BUCKET}/compile-cache/2.28"]) == 0

    assert capsys.readouterr().out == f"compile cache: store s3://{BUCKET}/compile-cache/2.28: 1 new entries\n"
