"""A host's own copy of its model: whole or not served, resumed, healed, and made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.assets.inference_host import FOLDER, LOG, MODEL, PREFIX, SHARD, InferenceHost

SENTINEL = "/mnt/models/.slipway-complete"
FORMAT = "mkfs.xfs -q -L slipway /dev/nvme2n1"


@pytest.fixture
def host(tmp_path: Path) -> InferenceHost:
    return InferenceHost(tmp_path, "sync", published=True)


def copied(host: InferenceHost) -> list[str]:
    """Which files were copied, in order."""
    return (host.state / "copied").read_text(encoding="utf-8").splitlines()


def test_copy_is_what_the_bucket_has(host: InferenceHost) -> None:
    outcome = host.boot()

    assert outcome.status == 0, outcome.stderr
    assert {name: host.read(f"{FOLDER}/{name}") for name in MODEL} == MODEL
    assert outcome.calls_of("mkfs.xfs") == [FORMAT]
    assert host.read(SENTINEL) == f"s3://llm-models/{PREFIX}/ none\n"


def test_many_requests_run_side_by_side(host: InferenceHost) -> None:
    host.stub_first("aws", '[[ "$*" != *sync* ]] || cp "$AWS_CONFIG_FILE" "$STATE/aws-config"')
    host.boot()

    assert "max_concurrent_requests = 32" in (host.state / "aws-config").read_text(encoding="utf-8")


def test_copy_that_was_killed_goes_on_where_it_ended(host: InferenceHost) -> None:
    (host.state / "kill").write_text("model.pt")
    first = host.boot(SLIPWAY_COPY_SECONDS="0")

    assert first.status != 0
    assert not (host.root / SENTINEL.lstrip("/")).exists()
    assert list((host.root / FOLDER.lstrip("/")).glob("model.pt.*"))

    second = host.boot()

    assert second.status == 0, second.stderr
    assert second.calls_of("mkfs.xfs") == []
    assert len(copied(host)) == len(set(copied(host))) == len(MODEL) + 1
    assert not list((host.root / FOLDER.lstrip("/")).glob("model.pt.*"))


def test_copy_that_breaks_off_within_the_time_is_tried_again(host: InferenceHost) -> None:
    (host.state / "kill").write_text("model.pt")
    outcome = host.boot(SLIPWAY_COPY_SECONDS="60")

    assert outcome.status == 0, outcome.stderr
    assert len([call for call in outcome.calls if " s3 sync " in call]) == 2


def test_file_that_is_damaged_on_the_way_is_copied_again(host: InferenceHost) -> None:
    (host.state / "damage").write_text("model.pt")
    outcome = host.boot()

    assert outcome.status == 0, outcome.stderr
    assert "model.pt has another SHA-256 than the manifest says" in host.read(LOG)
    assert host.read(f"{FOLDER}/model.pt") == MODEL["model.pt"]
    assert copied(host).count("model.pt") == 2


def test_file_that_is_damaged_in_the_bucket_leaves_no_sentinel(host: InferenceHost) -> None:
    (host.bucket / "model.pt").write_text("X" * 4096, encoding="utf-8")

    assert host.boot().status != 0
    assert not (host.root / SENTINEL.lstrip("/")).exists()


def test_second_set_up_copies_nothing(host: InferenceHost) -> None:
    host.boot()
    outcome = host.boot()

    assert outcome.status == 0, outcome.stderr
    assert [call for call in outcome.calls if " s3 sync " in call] == []
    assert outcome.calls_of("mkfs.xfs") == []


def test_copy_of_another_version_does_not_count(host: InferenceHost) -> None:
    host.boot()
    host.write(SENTINEL, "s3://llm-models/tanuki-8b/v0/\n")

    assert [call for call in host.boot().calls if " s3 sync " in call]


def test_model_that_does_not_fit_is_not_copied(host: InferenceHost) -> None:
    huge = 8 * 2**50
    host.stub_first("aws", f'[[ "$*" != *list-objects* ]] || {{ echo \'[["{PREFIX}/x", {huge}]]\'; exit; }}')
    outcome = host.boot()

    assert outcome.status != 0
    assert "8388608.0 GiB are to be copied, the volume has" in host.read(LOG)
    assert [call for call in outcome.calls if " s3 sync " in call] == []


def test_folder_that_is_not_published_is_checked_by_the_listing(tmp_path: Path) -> None:
    host = InferenceHost(tmp_path, "sync")
    host.stub_first("aws", f'[[ "$*" != *sync* ]] || rm "$STATE/bucket/tanuki-8b/v1/{SHARD}"')
    outcome = host.boot()

    assert outcome.status != 0
    assert f"{SHARD}: No such file" in host.read(LOG)
