"""A NeuronX Distributed checkpoint as tensors of the transformers library, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from slipway_conversion.checkpoint_files import CheckpointFiles
from slipway_conversion.problems import ConversionError, some
from slipway_conversion.shard_file import ShardFile
from slipway_conversion.tensor_layout import Block, Shape, TensorLayout

DRIFT = 0.05
"""Norm of the difference of two copies by the norm of one, up to which both are the same weights: rounding makes copies
drift apart in a long training. Other heads, as a wrong order of heads has them, differ by about 1.4."""


@dataclass(frozen=True)
class Survey:
    """What all files of a checkpoint hold."""

    stages_of: Mapping[str, tuple[int, ...]]
    """Pipeline stages that have a tensor, by its name in the files."""

    shape_of: Mapping[str, Shape]
    """Its shape on each worker."""

    dtypes: frozenset[torch.dtype]
    """All types of tensors."""


def survey(files: CheckpointFiles) -> Survey:
    """Look at all files: names, shapes and types, which must be equal for the workers that share a layer.

    Raises:
        ConversionError: all differences, and all files that cannot be read.
    """
    stages_of: dict[str, tuple[int, ...]] = {}
    shape_of: dict[str, Shape] = {}
    dtypes: set[torch.dtype] = set()
    problems: list[str] = []
    for stage, paths in enumerate(files.stages):
        first: dict[str, torch.Tensor] = {}
        for rank, path in enumerate(paths):
            try:
                shard = ShardFile(path)
                tensors = {name: shard.tensor(name) for name in sorted(shard.names)}
            except ConversionError as error:
                problems.extend(error.problems)
                continue
            first = first or {name: value.to("meta") for name, value in tensors.items()}
            problems.extend(_differences(paths[0].name, first, path.name if rank else None, tensors))
            dtypes.update(value.dtype for value in tensors.values())
        for name, value in first.items():
            stages_of[name] = (*stages_of.get(name, ()), stage)
            if shape_of.setdefault(name, tuple(value.shape)) != tuple(value.shape):
                problems.append(f"{paths[0]}: {name} is {tuple(value.shape)}, but {shape_of[name]} in an earlier stage")
    if problems:
        raise ConversionError(*problems)
    return Survey(stages_of, shape_of, frozenset(dtypes))


def _differences(
    first_name: str, first: Mapping[str, torch.Tensor], other_name: str | None, other: Mapping[str, torch.Tensor]
) -> Iterator[str]:
    """Say how a worker's names, shapes and types differ from the first worker's."""
    if other_name is None:
        return
    if names := sorted(set(first) ^ set(other)):
        yield f"{first_name} and {other_name} do not hold the same tensors: {some(names)}. Copy the checkpoint again"
    for name in sorted(set(first) & set(other)):
        told = [(tuple(value.shape), value.dtype) for value in (first[name], other[name])]
        if told[0] != told[1]:
            yield f"{name} is {told[0]} in {first_name}, but {told[1]} in {other_name}: the files are of different runs"


class NxdCheckpoint:
    """The tensors of a checkpoint whose files fit its layout."""

    def __init__(
        self, files: CheckpointFiles, found: Survey, layouts: Sequence[TensorLayout], tied: Mapping[str, str]
    ) -> None:
        """Check names and shapes.

        Args:
            files: where they are.
            found: what they hold.
            layouts: where each tensor of the model lies.
            tied: names that may be there for a tensor that the files have under another name already.

        Raises:
            ConversionError: all tensors that are missing, unknown or of another shape.
        """
        self._files, self._found, self._layouts = files, found, layouts
        self._tied = {name: first for name, first in tied.items() if name in found.stages_of}
        self.drifted: dict[str, float] = {}
        wanted = _shapes_on_rank(layouts)
        problems = []
        folder = files.checkpoint / "model"
        if missing := [name for name in wanted if name not in found.stages_of]:
            problems.append(
                f"{folder}: {len(missing)} tensors of the model are in no file: {some(missing)}. The configuration has "
                "more layers or other parts than the checkpoint, or pipeline stages are missing"
            )
        if unknown := sorted(set(found.stages_of) - set(wanted) - set(self._tied)):
            problems.append(
                f"{folder}: {len(unknown)} tensors are not part of the model: {some(unknown)}. The configuration must "
                "be the one that was trained"
            )
        problems.extend(
            f"{folder}: {name} is {found.shape_of[name]} on each worker, but the configuration makes it {shape}"
            for name, shape in wanted.items()
            if found.shape_of.get(name, shape) != shape
        )
        if problems:
            raise ConversionError(*problems)

    @property
    def shapes(self) -> dict[str, Shape]:
        """All tensors in the order of the model."""
        return {layout.name: layout.shape for layout in self._layouts}

    @property
    def dtype(self) -> torch.dtype:
        """Type that holds all of the checkpoint's values."""
        return next(iter(self._found.dtypes)) if len(self._found.dtypes) == 1 else torch.float32

    def pieces(self) -> Iterator[tuple[str, int, torch.Tensor]]:
        """Yield name, first row and rows of each tensor. Of copies that differ a little, the first worker's is taken.

        Files are opened anew for each part of the model, so that no more of them than that part stays in memory.

        Raises:
            ConversionError: copies of the same rows are not the same weights, or a file changed meanwhile.
        """
        opened: tuple[object, dict[int, list[ShardFile]]] = (None, {})
        for layout in self._layouts:
            part = _part(layout.name)
            if opened[0] != part:
                opened = (part, {})
            yield from self._pieces_of(layout, opened[1])
        for name, first in self._tied.items():
            self._check_tied(name, first)

    def _shards(self, stage: int, opened: dict[int, list[ShardFile]]) -> list[ShardFile]:
        if stage not in opened:
            opened[stage] = [ShardFile(path) for path in self._files.stages[stage]]
        return opened[stage]

    def _pieces_of(
        self, layout: TensorLayout, opened: dict[int, list[ShardFile]]
    ) -> Iterator[tuple[str, int, torch.Tensor]]:
        taken: dict[int, tuple[torch.Tensor, ShardFile]] = {}
        first_stage, *other_stages = self._found.stages_of[layout.blocks[0].name]
        for stage in (first_stage, *other_stages):
            shards = self._shards(stage, opened)
            for block in layout.blocks:
                values = _cut(shards[block.rank].tensor(block.name), layout.dimension, block)
                known = taken.setdefault(block.begin, (values, shards[block.rank]))
                if known[0] is values or _same(known[0], values):
                    continue
                drift = _difference(known[0], values)
                if not drift <= DRIFT:
                    raise _differing_copies(layout, block, known[1], shards[block.rank])
                self.drifted[layout.name] = max(drift, self.drifted.get(layout.name, 0.0))
        parts = [values for _, (values, _) in sorted(taken.items())]
        if layout.dimension == 1:
            yield layout.name, 0, torch.cat(parts, dim=1)
            return
        for begin, (values, _) in sorted(taken.items()):
            yield layout.name, begin, values

    def _check_tied(self, name: str, first: str) -> None:
        """Refuse a tensor that should be the same as another, and is not."""
        for stage in self._found.stages_of[name]:
            for rank, path in enumerate(self._files.stages[stage]):
                original = self._files.stages[self._found.stages_of[first][0]][rank]
                if not _same(ShardFile(path).tensor(name), ShardFile(original).tensor(first)):
                    raise ConversionError(
                        f"{path}: {name} is not equal to {first} in {original.name}, but the configuration ties them: "
                        "set tie_word_embeddings to false if they were trained apart"
                    )


def _shapes_on_rank(layouts: Sequence[TensorLayout]) -> dict[str, Shape]:
    """Return the shape on a worker of each tensor in the files."""
    shapes: dict[str, Shape] = {}
    for layout in layouts:
        for block in layout.blocks:
            length = max(block.begin_on_rank + block.length, shapes.get(block.name, (0,) * 8)[layout.dimension])
            shapes[block.name] = tuple(
                length if number == layout.dimension else size for number, size in enumerate(layout.shape)
            )
    return shapes


def _part(name: str) -> str:
    """Return the layer that a tensor is of; or its own name, outside of layers."""
    words = name.split(".")
    number = next((index for index, word in enumerate(words) if word.isdigit()), len(words))
    return ".".join(words[: number + 1])


def _cut(values: torch.Tensor, dimension: int, block: Block) -> torch.Tensor:
    return values.narrow(dimension, block.begin_on_rank, block.length) if values.dim() else values


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Compare bits, so that a value that is not a number is equal to itself."""
    return torch.equal(*(values.contiguous().reshape(-1).view(torch.uint8) for values in (one, other)))


def _difference(one: torch.Tensor, other: torch.Tensor) -> float:
    """Return the norm of the difference by the norm of the first: NaN where a value is not finite."""
    return float((one.float() - other.float()).norm() / one.float().norm().clamp_min(1e-30))


def _differing_copies(layout: TensorLayout, block: Block, one: ShardFile, other: ShardFile) -> ConversionError:
    message = f"{one.file} and {other.file.name}: {block.name} must hold the same values of {layout.name}, but differ"
    if "qkv_proj" in block.name:
        message += (
            ". Either kv_size_multiplier or attention_order is not the one that was trained with (a checkpoint that "
            "NeuronX Distributed's converter wrote for trn2 repeats key heads as for trn1, which does not fit trn2's "
            "query heads), or the repeated heads drifted apart in training"
        )
    return ConversionError(message + ". Use another checkpoint if the options are right")
