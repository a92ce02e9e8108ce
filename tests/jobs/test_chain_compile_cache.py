"""The compile cache between hosts: only what is complete, and whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipway_jobs.chain.compile_cache import copy_entries, main

VERSION = "neuronxcc-2.23.6484.0+4a9b2326"


def write(cache: Path, *files: str) -> None:
    for name in files:
        file = cache / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name, encoding="utf-8")


def files(cache: Path) -> set[str]:
    return {file.relative_to(cache).as_posix() for file in cache.rglob("*") if file.is_file()}


def test_complete_entries_travel_from_host_to_host(tmp_path: Path) -> None:
    complete = {
        f"{VERSION}/MODULE_1+a/model.hlo_module.pb",
        f"{VERSION}/MODULE_1+a/model.neff",
        f"{VERSION}/MODULE_1+a/model.done",
        "ab/cd/abcd.neff",
    }
    one, shared, other = (tmp_path / name for name in ("one", "shared", "other"))
    write(one, *complete)
    # A compilation that runs, or was killed; a lock; a file that is being written.
    write(one, f"{VERSION}/MODULE_2+a/model.hlo_module.pb", f"{VERSION}/lock", "ab/cd/abce.neff.tmp")

    assert copy_entries(one, shared) == 2
    assert copy_entries(one, shared) == 0
    # Left behind on the other host by a killed compilation.
    write(other, f"{VERSION}/MODULE_1+a/model.hlo_module.pb.lock")
    assert copy_entries(shared, other) == 2
    assert copy_entries(shared, other) == 0

    assert files(other) == complete


def test_what_another_node_is_copying_is_not_fetched(tmp_path: Path) -> None:
    write(tmp_path / "shared", f".copying-1/{VERSION}/MODULE_3+a/model.done", ".copying-1/ab/cd/abcd.neff")

    assert copy_entries(tmp_path / "shared", tmp_path / "cache") == 0
    assert files(tmp_path / "cache") == set()


def test_another_node_that_was_first_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "one", f"{VERSION}/MODULE_1+a/model.done")
    rename = Path.rename

    def after_another(new: Path, place: Path) -> Path:
        write(place, "model.done")
        return rename(new, place)

    monkeypatch.setattr(Path, "rename", after_another)

    copy_entries(tmp_path / "one", tmp_path / "shared")

    assert files(tmp_path / "shared") == {f"{VERSION}/MODULE_1+a/model.done"}


def test_a_shared_folder_that_cannot_be_written_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "ab/cd/abcd.neff", "file")

    assert main(["store", str(tmp_path), f"{tmp_path}/file/cache"]) == 1

    assert f"warning: compile cache: store {tmp_path}/file/cache: " in capsys.readouterr().err


def test_the_command_says_how_much_it_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "cache", "ab/cd/abcd.neff")

    assert main(["store", str(tmp_path / "cache"), f"{tmp_path}/shared"]) == 0

    assert capsys.readouterr().out == f"compile cache: store {tmp_path}/shared: 1 new entries\n"
