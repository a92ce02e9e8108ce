"""The pickle in a torch.distributed.checkpoint folder is read without running it, and believed if it adds up."""

import io
import os
import pickle
import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, Metadata, MetadataIndex
from torch.distributed.checkpoint.state_dict_saver import save

from slipway_conversion.dcp_metadata import StoredTensor, _Unpickler, read_metadata, read_part

VALUES = torch.arange(12, dtype=torch.float32).reshape(3, 4)
Change = Callable[[Metadata], Any]


pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A folder that torch has written."""
    folder = tmp_path / "state"
    save(
        {"model": {"weight": VALUES, "other": VALUES.bfloat16()}, "note": {"text": "not a tensor"}},
        storage_writer=FileSystemWriter(folder),
        no_dist=True,
    )
    return folder


def rewrite(state: Path, change: Change) -> None:
    """Change the metadata as somebody could who writes to the folder."""
    metadata = FileSystemReader(state).read_metadata()
    changed = change(metadata)
    (state / ".metadata").write_bytes(pickle.dumps(metadata if changed is None else changed))


def test_what_torch_wrote_is_read(state: Path) -> None:
    tensors = read_metadata(state)

    assert tensors.keys() == {"model.weight", "model.other"}
    weight = tensors["model.weight"]
    assert (weight.dtype, weight.shape, len(weight.parts)) == (torch.float32, (3, 4), 1)
    assert tensors["model.other"].dtype == torch.bfloat16
    assert torch.equal(read_part(state, weight, weight.parts[0]), VALUES)


class Harm:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


PLACES: dict[str, Callable[[Metadata, Harm], Any]] = {
    "instead": lambda _metadata, harm: harm,
    "as a tensor": lambda metadata, harm: metadata.state_dict_metadata.update({"model.weight": harm}),  # type: ignore[dict-item]
    "in what nobody reads": lambda metadata, harm: setattr(metadata, "planner_data", [{"deep": (harm,)}]),
    "as a key": lambda metadata, harm: metadata.storage_data.update({harm: None}),
    "as a path": lambda metadata, harm: setattr(metadata.storage_meta, "checkpoint_id", harm),
}


@pytest.mark.parametrize("place", PLACES)
def test_nothing_in_the_pickle_is_run(tmp_path: Path, state: Path, place: str) -> None:
    rewrite(state, lambda metadata: PLACES[place](metadata, Harm(tmp_path / "harm")))

    with pytest.raises(ValueError, match=r"asks for posix\.mkdir"):
        read_metadata(state)
    assert not (tmp_path / "harm").exists()

    # The same file does its harm where torch reads it: the test's weapon is loaded.
    FileSystemReader(state).read_metadata() if place != "instead" else pickle.loads((state / ".metadata").read_bytes())
    assert (tmp_path / "harm").exists()


def test_getattr_gets_nothing() -> None:
    """Python 3.11.0 to 3.11.3 have it in the pickle of an enumeration's member."""
    assert _Unpickler(io.BytesIO(b"cbuiltins\ngetattr\n(ctorch\nSize\nVcount\ntR.")).load() is None


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "eval"),
        ("torch", "load"),
        ("torch", "ops.load_library"),
        ("torch.distributed.checkpoint.metadata", "os.system"),
        ("torch.distributed.checkpoint.filesystem", "pickle.loads"),
        ("torch.storage", "_load_from_bytes"),
        ("pathlib", "os"),
    ],
)
def test_other_names_are_refused_by_module_and_name(state: Path, module: str, name: str) -> None:
    """Dotted names too, by which newer pickles reach what a module has imported."""
    text = [value.encode() for value in (module, name)]
    code = b"\x80\x04" + b"".join(b"\x8c" + bytes([len(value)]) + value for value in text) + b"\x93."
    assert pickletools.optimize(code)  # it is a pickle
    (state / ".metadata").write_bytes(code)

    with pytest.raises(ValueError, match=f"asks for {module}.{name}"):
        read_metadata(state)


def test_pytorch_s_own_classes_are_not_changed(state: Path) -> None:
    """A pickle may set attributes of what it names: here a stand-in's, which ends with the unpickling."""
    name = b"ctorch.distributed.checkpoint.metadata\nMetadata\n"
    (state / ".metadata").write_bytes(b"\x80\x02" + name + b"N}X\x04\x00\x00\x00evilK\x01s\x86b.")

    with pytest.raises(ValueError, match="metadata"):
        read_metadata(state)

    assert not hasattr(Metadata, "evil")


def with_path(path: str) -> Change:
    def change(metadata: Metadata) -> None:
        for info in metadata.storage_data.values():
            info.relative_path = path

    return change


def with_offset(offset: Any) -> Change:
    def change(metadata: Metadata) -> None:
        for info in metadata.storage_data.values():
            info.offset = offset

    return change


def with_chunks(*chunks: tuple[tuple[int, int], tuple[int, int]]) -> Change:
    """Say that `model.weight` lies in other blocks, each of which is somewhere."""

    def change(metadata: Metadata) -> None:
        stored = metadata.state_dict_metadata["model.weight"]
        stored.chunks = [ChunkStorageMetadata(torch.Size(at), torch.Size(size)) for at, size in chunks]  # type: ignore[union-attr]
        info = metadata.storage_data[MetadataIndex("model.weight", (0, 0))]
        metadata.storage_data.update({MetadataIndex("model.weight", at): info for at, _ in chunks})

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_path("../elsewhere"), "outside of the folder"),
        (with_path("/etc/passwd"), "outside of the folder"),
        (with_path(".."), "outside of the folder"),
        (with_offset(-1), "bytes at -1"),
        (with_offset("0"), "bytes at '0'"),
        (with_chunks(((0, 0), (2, 4))), "do not cover"),
        (with_chunks(((0, 0), (2, 4)), ((1, 0), (2, 4))), "do not cover"),
        (with_chunks(((0, 0), (3, 2)), ((0, 2), (2, 2))), "do not cover"),
        (with_chunks(((0, 0), (3, 4)), ((0, 0), (3, 4))), "do not cover"),
        (lambda metadata: metadata.storage_data.clear(), "no file holds"),
        (lambda _metadata: {"a": 1}, "it is a dict"),
        (lambda metadata: setattr(metadata, "storage_data", None), "where a dictionary belongs"),
    ],
)
def test_what_does_not_add_up_is_refused(state: Path, change: Change, message: str) -> None:
    rewrite(state, change)

    with pytest.raises(ValueError, match=message):
        read_metadata(state)


def test_blocks_may_lie_in_a_grid(state: Path) -> None:
    rewrite(
        state, with_chunks(((2, 0), (1, 1)), ((0, 1), (2, 3)), ((0, 0), (2, 1)), ((2, 1), (1, 3)), ((3, 0), (0, 4)))
    )

    parts = read_metadata(state)["model.weight"].parts

    assert [part.offsets for part in parts] == [(0, 0), (0, 1), (2, 0), (2, 1)]


@pytest.mark.parametrize("keep", [0, 1, 10, 200])
def test_a_cut_metadata_file_is_refused(state: Path, keep: int) -> None:
    file = state / ".metadata"
    file.write_bytes(file.read_bytes()[:keep])

    with pytest.raises(ValueError, match="cannot be read as the metadata"):
        read_metadata(state)


def test_a_pickle_in_a_data_file_is_not_run(tmp_path: Path, state: Path) -> None:
    tensor = read_metadata(state)["model.weight"]
    torch.save(Harm(tmp_path / "harm"), state / tensor.parts[0].file)

    with pytest.raises(ValueError, match="damaged"):
        read_part(state, tensor, tensor.parts[0])
    assert not (tmp_path / "harm").exists()


def test_another_tensor_in_the_place_is_refused(state: Path) -> None:
    tensors = read_metadata(state)
    wrong = StoredTensor(torch.float32, (3, 4), tensors["model.other"].parts)

    with pytest.raises(ValueError, match="another tensor"):
        read_part(state, wrong, wrong.parts[0])
