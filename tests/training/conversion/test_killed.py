"""A conversion that is killed leaves nothing that looks complete, and the next one makes the same folder."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
import torch

from slipway_conversion import finished_folder as finished
from slipway_conversion.finished_folder import DONE
from slipway_conversion.safetensors_folder import SafetensorsFolder
from tests.training.conversion.sharder import Layout
from tests.training.conversion.tiny import checkpoint, convert, llama

MODEL = 4
ONE_LAYER = llama(4, layers=1)


def _content(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def _killed_at(event: int, source: Path, output: Path) -> bool:
    """Convert in a process that ends at once, as by SIGKILL, when it makes, writes or renames for the n-th time."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    left = event

    def count(name: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if name == "write" or any(str(output.parent / ".model") in str(argument) for argument in arguments):
            left -= 1
            if left < 0:
                os._exit(9)

    sys.addaudithook(count)
    write_rows = SafetensorsFolder.write_rows

    def counted(writer: SafetensorsFolder, name: str, first_row: int, values: torch.Tensor) -> None:
        count("write", ())
        write_rows(writer, name, first_row, values)

    patch.object(SafetensorsFolder, "write_rows", counted).start()
    patch.object(os, "fsync").start()  # it matters when the machine stops, not when a process does
    convert(source, output, ONE_LAYER, shard_bytes=4000)
    os._exit(0)


def test_killed_at_any_moment(tmp_path: Path) -> None:
    source = checkpoint(tmp_path / "step", ONE_LAYER, Layout(2))
    convert(source, tmp_path / "whole", ONE_LAYER, shard_bytes=4000)
    whole = _content(tmp_path / "whole")
    output = tmp_path / "model"
    event = 0
    while _killed_at(event, source, output):
        assert not output.exists() or _content(output) == whole
        event += 1
    assert event > 30
    assert _content(output) == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "step", "whole"]


def test_a_later_step_takes_the_place_of_an_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = checkpoint(tmp_path / "step", llama(MODEL), Layout(2))
    output = tmp_path / "model"
    assert convert(source, output, llama(MODEL), run="run", step=1)
    assert not convert(source, output, llama(MODEL), run="run", step=1)
    before = _content(output)
    with monkeypatch.context() as patched:
        patched.setattr(finished, "_sync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space left"):
            convert(source, output, llama(MODEL), run="run", step=2)
    assert _content(output) == before
    assert convert(source, output, llama(MODEL), run="run", step=2)
    assert '"step": 2' in (output / "slipway.json").read_text()
    assert (output / DONE).is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "step"]
