"""Nothing that a checkpoint's files hold is ever executed, and no reference leads out of its folder."""

from __future__ import annotations

import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from slipway_conversion.problems import ConversionError
from slipway_conversion.shard_file import ShardFile, load
from tests.training.conversion.sharder import Layout, TensorReference, checkpoint_name, save_references
from tests.training.conversion.tiny import checkpoint, convert, llama


class Calls:
    """Pickles as a call of something."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.function, self.arguments


def _hostile(marker: Path) -> list[Any]:
    return [
        Calls(eval, f"open({str(marker)!r}, 'w').close()"),
        Calls(exec, f"open({str(marker)!r}, 'w').close()"),
        Calls(Path.touch, marker),
        Calls(__import__, "antigravity"),
        Calls(getattr, TensorReference, "__init__"),
    ]


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("place", ["shard", "tensor", "information"])
def test_nothing_is_executed(number: int, place: str, tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    step = checkpoint(tmp_path / "step", llama(4), Layout(2, xser=True))
    shard = step / "model" / checkpoint_name(1, 0)
    file = {
        "shard": shard,
        "tensor": Path(f"{shard}.tensors") / "tensor_2.pt",
        "information": Path(f"{shard}.info.pt"),
    }[place]
    torch.save({"model.norm.weight": _hostile(marker)[number]}, file)
    with pytest.raises(ConversionError, match="could run code"):
        convert(step, tmp_path / "model", llama(4))
    assert not marker.exists()
    assert "antigravity" not in sys.modules
    assert not (tmp_path / "model").exists()


def test_a_bare_pickle_is_not_executed(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    (tmp_path / "bare.pt").write_bytes(pickle.dumps(_hostile(marker)[0]))
    with pytest.raises(ConversionError, match="cannot be read"):
        load(tmp_path / "bare.pt")
    assert not marker.exists()


def test_torch_xla_is_not_imported(tmp_path: Path) -> None:
    step = checkpoint(tmp_path / "step", llama(4), Layout(2, xser=True))
    convert(step, tmp_path / "model", llama(4))
    assert not [name for name in sys.modules if name.startswith("torch_xla")]


@pytest.mark.parametrize("number", ["../../../secret", "/etc/passwd", -1, 1.5, True, None, [0]], ids=str)
def test_a_reference_is_a_number(number: Any, tmp_path: Path) -> None:
    save_references(tmp_path / "shard.pt", {"model.norm.weight": TensorReference(number)})
    torch.save(torch.zeros(2), tmp_path / "secret.pt")
    with pytest.raises(ConversionError, match="refers to tensor"):
        ShardFile(tmp_path / "shard.pt").tensor("model.norm.weight")


def test_a_reference_cannot_bring_methods_of_its_own(tmp_path: Path) -> None:
    reference = TensorReference(0)
    reference.__dict__["__setstate__"] = "x"
    save_references(tmp_path / "shard.pt", {"model.norm.weight": reference})
    with pytest.raises(ConversionError, match="is missing"):
        ShardFile(tmp_path / "shard.pt").tensor("model.norm.weight")


@pytest.mark.parametrize(
    "content", [b"", b"text", b"PK\x03\x04broken", b"\x80\x02."], ids=["empty", "text", "zip", "pickle"]
)
def test_what_is_no_file_of_torch(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "shard.pt").write_bytes(content)
    with pytest.raises(ConversionError, match="cannot be read"):
        ShardFile(tmp_path / "shard.pt")


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "shard.pt", "w") as archive:
        archive.writestr("readme", "text")
    with pytest.raises(ConversionError, match="cannot be read"):
        ShardFile(tmp_path / "shard.pt")


@pytest.mark.parametrize("content", [[1, 2], torch.zeros(2), None], ids=["list", "tensor", "none"])
def test_what_is_no_state_dict(content: object, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "shard.pt")
    with pytest.raises(ConversionError, match="not a model's state dict"):
        ShardFile(tmp_path / "shard.pt")
