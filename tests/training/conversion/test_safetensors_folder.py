"""The files are those that the safetensors and transformers libraries write, whatever comes in which order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open

from slipway_conversion.safetensors_folder import PlannedTensor, SafetensorsFolder, shards
from tests.training.conversion.tiny import llama, loaded, weights

SHAPES = st.lists(st.lists(st.integers(0, 5), max_size=3).map(tuple), min_size=1, max_size=6)


@settings(max_examples=40)
@given(shapes=SHAPES, limit=st.integers(1, 200), dtype=st.sampled_from([torch.float32, torch.bfloat16]), data=st.data())
def test_any_tensors_in_any_order(
    shapes: list[tuple[int, ...]],
    limit: int,
    dtype: torch.dtype,
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("model")
    tensors = {f"layers.{number}": torch.randn(shape) for number, shape in enumerate(shapes)}
    planned = [PlannedTensor(name, tuple(value.shape), dtype) for name, value in tensors.items()]
    with SafetensorsFolder(folder, planned, limit) as writer:
        for name in data.draw(st.permutations(list(tensors))):
            value = tensors[name]
            if value.dim() and value.shape[0] > 1 and data.draw(st.booleans()):
                cut = data.draw(st.integers(1, value.shape[0] - 1))
                writer.write_rows(name, cut, value[cut:])
                writer.write_rows(name, 0, value[:cut])
            else:
                writer.write(name, value)
    assert {name: value.tolist() for name, value in loaded(folder).items()} == {
        name: value.to(dtype).tolist() for name, value in tensors.items()
    }


@given(sizes=st.lists(st.integers(0, 50), min_size=1), limit=st.integers(1, 100))
def test_a_file_passes_the_limit_only_with_one_tensor(sizes: list[int], limit: int) -> None:
    planned = [PlannedTensor(str(number), (size,), torch.bfloat16) for number, size in enumerate(sizes)]
    files = shards(planned, limit)
    assert [tensor for file in files for tensor in file] == planned
    assert all(sum(tensor.size for tensor in file) <= limit or len(file) == 1 for file in files)


def test_files_and_index_are_those_of_save_pretrained(tmp_path: Path) -> None:
    model = llama(4)
    model.save_pretrained(tmp_path, max_shard_size="4KB")
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    (tmp_path / "ours").mkdir()
    planned = [PlannedTensor(name, tuple(value.shape), value.dtype) for name, value in weights(model).items()]
    with SafetensorsFolder(tmp_path / "ours", planned, 4000) as writer:
        for name, value in weights(model).items():
            writer.write(name, value)
    ours = json.loads((tmp_path / "ours" / "model.safetensors.index.json").read_text())
    assert ours["metadata"] == index["metadata"]
    assert ours["weight_map"].keys() == index["weight_map"].keys()
    for file in sorted((tmp_path / "ours").glob("*.safetensors")):
        with safe_open(str(file), "pt") as opened:  # type: ignore[no-untyped-call]
            assert opened.metadata() == {"format": "pt"}
            assert {name for name, held_in in ours["weight_map"].items() if held_in == file.name} == set(opened.keys())


@pytest.fixture
def writer(tmp_path: Path) -> SafetensorsFolder:
    return SafetensorsFolder(tmp_path, [PlannedTensor("a", (4, 2), torch.float32)])


def test_what_is_missing_twice_or_wrong_is_refused(writer: SafetensorsFolder, tmp_path: Path) -> None:
    writer.write_rows("a", 1, torch.ones(2, 2))
    for name, first_row, values in [
        ("a", 2, torch.ones(1, 2)),
        ("a", 0, torch.ones(2, 2)),
        ("a", 3, torch.ones(2, 2)),
        ("a", 0, torch.ones(1, 3)),
        ("b", 0, torch.ones(1, 2)),
    ]:
        with pytest.raises(ValueError, match=name):
            writer.write_rows(name, first_row, values)
    with pytest.raises(ValueError, match="shape"):
        writer.write("a", torch.ones(4))
    with pytest.raises(ValueError, match="tensors were not written: a"), writer:
        pass
    with pytest.raises(ValueError, match="planned twice: b"):
        SafetensorsFolder(tmp_path, [PlannedTensor("b", (), torch.float32)] * 2)
    with pytest.raises(ValueError, match="no type of safetensors for b"):
        SafetensorsFolder(tmp_path, [PlannedTensor("b", (), torch.complex64)])
