"""The publish stage against an S3 stand-in: complete versions, immutable ones, nothing half-done after a kill."""

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.server import ThreadedMotoServer

from slipway_jobs.publishing import bucket as bucket_module
from slipway_jobs.publishing import files as files_module
from slipway_jobs.publishing.bucket import CLAIM_NAME
from slipway_jobs.publishing.files import model_files
from slipway_jobs.publishing.manifest import MANIFEST_NAME, Manifest
from slipway_jobs.publishing.refusal import PublishRefused
from tests.jobs.publishing_case import BUCKET, PublishCase, objects, recipe

REGION = "us-west-2"
MANIFEST_KEY = f"tanuki/v1/{MANIFEST_NAME}"
CLAIM_KEY = f"tanuki/v1/{CLAIM_NAME}"


class Killed(Exception):  # noqa: N818
    """Stands for a kill: nothing of the program runs on."""


def new_bucket(s3: Any) -> None:
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")


@pytest.fixture
def s3(credentials: None) -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("s3", region_name=REGION)
        new_bucket(client)
        yield client


@pytest.fixture
def case(tmp_path: Path) -> PublishCase:
    case = PublishCase(tmp_path, recipe())
    case.convert()
    return case


def manifest_of(s3: Any) -> Manifest:
    return Manifest.model_validate_json(objects(s3)[MANIFEST_KEY])


def assert_complete(s3: Any, case: PublishCase) -> None:
    """The version is what the converted folder holds, and the manifest says so of every byte."""
    stored = objects(s3, "tanuki/v1/")
    manifest = manifest_of(s3)
    expected = {
        f"tanuki/v1/{path.relative_to(case.converted).as_posix()}": path.read_bytes()
        for path in case.converted.rglob("*")
        if path.is_file() and path.name not in {"done", "slipway.json"}
    }
    assert {key: value for key, value in stored.items() if key not in {MANIFEST_KEY, CLAIM_KEY}} == expected
    assert {f"tanuki/v1/{name}": (file.size, file.sha256) for name, file in manifest.files.items()} == {
        key: (len(value), hashlib.sha256(value).hexdigest()) for key, value in expected.items()
    }


def test_a_published_version_is_complete_and_says_where_it_comes_from(s3: Any, case: PublishCase) -> None:
    case.publish(s3)

    assert_complete(s3, case)
    manifest = manifest_of(s3)
    assert (manifest.model, manifest.version, manifest.created_by) == ("tanuki", "v1", "0123abcd")
    assert (manifest.source.run, manifest.source.step, manifest.source.tensor_parallel_size) == ("run-1", 20, 2)
    assert manifest.compiled is None
    assert case.run.done_file("publish").is_file()
    assert "not compiled: publish.export is left out. No engine serves the model as it is" in case.told
    assert case.told[-1] == f"published: s3://{BUCKET}/tanuki/v1/"


def test_what_an_engine_starts_with_and_the_manifest_come_last(s3: Any, case: PublishCase) -> None:
    put: list[str] = []
    s3.meta.events.register("before-call.s3.PutObject", lambda params, **_: put.append(params["url_path"]))

    case.publish(s3)

    order = [path.rpartition("tanuki/v1/")[2] for path in put]
    assert order[0] == CLAIM_NAME
    assert order[-2:] == ["config.json", MANIFEST_NAME]


def test_a_version_without_a_name_is_named_after_the_run(s3: Any, case: PublishCase) -> None:
    case.recipe = recipe(publish={"model": "tanuki"})
    case.publish(s3)
    assert f"tanuki/run-1/{MANIFEST_NAME}" in objects(s3)


def test_a_large_file_goes_in_parts_whose_checksum_is_known_beforehand(
    s3: Any, case: PublishCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = 5 * 2**20
    for module in (bucket_module, files_module):
        monkeypatch.setattr(module, "PART_BYTES", part)
    content = os.urandom(2 * part + 17)
    case.convert(weights=content)

    case.publish(s3)

    digests = [hashlib.sha256(content[start : start + part]).digest() for start in range(0, len(content), part)]
    expected = base64.b64encode(hashlib.sha256(b"".join(digests)).digest()).decode()
    assert manifest_of(s3).files["model.safetensors"].s3_checksum == f"{expected}-3"
    assert_complete(s3, case)


@pytest.mark.parametrize("moment", ["before-call", "after-call"])
def test_killed_at_any_call_nothing_looks_published_and_the_next_run_completes(
    s3: Any, case: PublishCase, moment: str
) -> None:
    doomed = boto3.client("s3", region_name=REGION)
    seen: list[int] = []
    fatal = {0}  # no call yet: how many does a whole publication make?

    def count(**_: Any) -> None:
        seen.append(1)
        if len(seen) in fatal:
            raise Killed

    doomed.meta.events.register(f"{moment}.s3", count)
    case.publish(doomed)
    total = len(seen)
    assert total > 12
    for number in range(1, total + 1):
        case.again()
        for key in objects(s3):
            s3.delete_object(Bucket=BUCKET, Key=key)
        seen.clear()
        fatal.clear()
        fatal.add(number)
        with pytest.raises(Killed):
            case.publish(doomed)
        if MANIFEST_KEY in objects(s3):
            assert_complete(s3, case)
        assert not case.run.done_file("publish").exists()

        case.publish(s3)
        assert_complete(s3, case)


def test_a_process_that_is_killed_is_finished_by_the_next_one(credentials: None, tmp_path: Path) -> None:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        s3 = boto3.client("s3", region_name=REGION, endpoint_url=f"http://{host}:{port}")
        new_bucket(s3)
        case = PublishCase(tmp_path, recipe())
        case.convert(weights=os.urandom(30 * 2**20))
        command = [sys.executable, "-m", "slipway_jobs.publishing", "--run", str(case.write())]
        environment = {
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2] / "assets" / "jobs"),
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        }
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as first:
            assert first.stdout is not None
            # The first line about a file comes when the upload is under way.
            next(line for line in first.stdout if "is there" in line)
            first.send_signal(signal.SIGKILL)
        assert MANIFEST_KEY not in objects(s3)

        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=120)

        assert done.returncode == 0, done.stderr
        assert_complete(s3, case)
    finally:
        server.stop()


def test_publishing_the_same_again_changes_nothing(s3: Any, case: PublishCase) -> None:
    case.publish(s3)
    before = objects(s3)
    case.again()
    case.publish(s3)
    assert objects(s3) == before
    assert case.run.done_file("publish").is_file()


def test_other_weights_under_the_same_version_are_refused(s3: Any, case: PublishCase) -> None:
    case.publish(s3)
    before = objects(s3)
    case.again()
    case.convert(step=40, weights=b"x" * 4000)
    with pytest.raises(PublishRefused, match="other weights: run run-1, step 20; this is run run-1, step 40"):
        case.publish(s3)
    assert objects(s3) == before


def test_a_damaged_version_is_not_taken_for_a_published_one(s3: Any, case: PublishCase) -> None:
    case.publish(s3)
    case.again()
    s3.put_object(Bucket=BUCKET, Key="tanuki/v1/model.safetensors", Body=b"v" * 4000, ChecksumAlgorithm="SHA256")
    with pytest.raises(PublishRefused, match=r"model\.safetensors has another SHA-256"):
        case.publish(s3)


def test_two_runs_never_fill_one_version(s3: Any, case: PublishCase, tmp_path: Path) -> None:
    s3.put_object(Bucket=BUCKET, Key=f"tanuki/v1/{CLAIM_NAME}", Body=json.dumps({"run": "run-2"}).encode())
    with pytest.raises(PublishRefused, match=r"run 'run-2' is publishing .*administrator can remove"):
        case.publish(s3)
    assert MANIFEST_KEY not in objects(s3)


def test_a_folder_that_somebody_filled_by_hand_is_left_alone(s3: Any, case: PublishCase) -> None:
    s3.put_object(Bucket=BUCKET, Key="tanuki/v1/config.json", Body=b"{}")
    with pytest.raises(PublishRefused, match=r"already holds 'config\.json'"):
        case.publish(s3)
    assert objects(s3) == {"tanuki/v1/config.json": b"{}"}


@pytest.mark.parametrize("name", ["model-00001-of-00002.safetensors", "config.json"])
def test_what_an_earlier_attempt_left_otherwise_is_refused(s3: Any, case: PublishCase, name: str) -> None:
    s3.put_object(Bucket=BUCKET, Key=CLAIM_KEY, Body=json.dumps({"run": "run-1"}).encode())
    s3.put_object(Bucket=BUCKET, Key=f"tanuki/v1/{name}", Body=b"old")
    with pytest.raises(PublishRefused, match=rf"{name} .*\n.*write another version"):
        case.publish(s3)
    assert set(objects(s3)) == {CLAIM_KEY, f"tanuki/v1/{name}"}


def test_every_write_is_one_that_the_bucket_lets_a_job_make(
    s3: Any, case: PublishCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (bucket_module, files_module):
        monkeypatch.setattr(module, "PART_BYTES", 5 * 2**20)
    case.convert(weights=os.urandom(11 * 2**20))
    wishes: list[tuple[str, str | None]] = []

    def note(model: Any, params: dict[str, Any], **_: Any) -> None:
        wishes.append((model.name, params["headers"].get("If-None-Match")))

    s3.meta.events.register("before-call.s3", note)
    case.publish(s3)

    creates = [wish for wish in wishes if wish[0] in {"PutObject", "CompleteMultipartUpload"}]
    assert {name for name, _ in creates} == {"PutObject", "CompleteMultipartUpload"}
    assert {header for _, header in creates} == {"*"}
    assert not [name for name, _ in wishes if name.startswith(("Delete", "Copy"))]


def test_an_object_that_changes_after_its_upload_stops_the_manifest(s3: Any, case: PublishCase) -> None:
    other = boto3.client("s3", region_name=REGION)

    def overwrite(params: dict[str, Any], **_: Any) -> None:
        if params["url_path"].endswith("/config.json"):
            other.put_object(
                Bucket=BUCKET, Key="tanuki/v1/model.safetensors", Body=b"?" * 4000, ChecksumAlgorithm="SHA256"
            )

    s3.meta.events.register("before-call.s3.PutObject", overwrite)
    with pytest.raises(PublishRefused, match="another SHA-256"):
        case.publish(s3)
    assert MANIFEST_KEY not in objects(s3)


@pytest.mark.parametrize("missing", ["done", "config.json", "slipway.json", "model.safetensors"])
def test_an_incomplete_folder_is_refused_before_anything_is_uploaded(s3: Any, case: PublishCase, missing: str) -> None:
    (case.converted / missing).unlink()
    with pytest.raises(PublishRefused, match=missing.replace("model.", r"\*.")):
        case.publish(s3)
    assert objects(s3) == {}


def test_a_shard_that_the_index_names_must_be_there(s3: Any, case: PublishCase) -> None:
    index = {"weight_map": {"lm_head.weight": "model-00002-of-00002.safetensors"}}
    (case.converted / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(PublishRefused, match=r"names model-00002-of-00002\.safetensors, which is missing"):
        case.publish(s3)


def test_a_link_out_of_the_folder_is_not_followed(case: PublishCase, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (case.converted / "readme.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(ValueError, match=r"readme\.txt is not a file of this folder"):
        model_files(case.converted, case.told.append)


def test_the_command_says_what_s3_refuses_and_ends_with_one(credentials: None, case: PublishCase) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[2] / "assets" / "jobs"),
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_MAX_ATTEMPTS": "1",
    }
    (case.converted / "done").unlink()
    command = [sys.executable, "-m", "slipway_jobs.publishing", "--run", str(case.write())]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "run the convert stage first" in done.stderr
    assert "Traceback" not in done.stderr
