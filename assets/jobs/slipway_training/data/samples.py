"""Reads the samples of a step from the prepared folder: only the rows that this worker needs."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from slipway_jobs.run import TrainingRun
from slipway_training.data.manifest import PAIR_HEADER, Manifest, Shard, SpecialTokens, read_manifest
from slipway_training.data.masking import mask_tokens
from slipway_training.data.order import sample_at
from slipway_training.strategy import MicroBatch


class Samples:
    """The samples of one model replica. A global batch has the same samples for each number of replicas."""

    def __init__(self, run: TrainingRun, data_parallel_rank: int, data_parallel_size: int) -> None:
        """Open the run's prepared folder; the files are mapped, not read.

        Raises:
            OSError: the folder is not complete, or a file is missing.
            ValueError: it does not fit the recipe, or the global batch cannot be divided.
        """
        recipe, directory = run.recipe, Path(run.prepared_directory)
        self._batch, self._seed = recipe.batch, recipe.data.seed
        share, rest = divmod(recipe.batch.global_size, data_parallel_size * recipe.batch.micro_size)
        if rest:
            raise ValueError(
                f"batch.global_size {recipe.batch.global_size} is not a multiple of {data_parallel_size} replicas x "
                f"batch.micro_size {recipe.batch.micro_size}"
            )
        self._own = share * recipe.batch.micro_size
        self._first = data_parallel_rank * self._own
        self._manifest = read_manifest(directory)
        _check_fit(run, self._manifest)
        self._shards = [_rows(directory, shard, recipe.data.sequence_length) for shard in self._manifest.shards]
        self._ends = list(accumulate(shard.samples for shard in self._manifest.shards))

    def of_step(self, step: int) -> list[MicroBatch]:
        """Return this replica's micro-batches of a step (from 1)."""
        first = (step - 1) * self._batch.global_size + self._first
        size = self._batch.micro_size
        return [self._micro_batch(range(start, start + size)) for start in range(first, first + self._own, size)]

    def _micro_batch(self, positions: range) -> MicroBatch:
        rows = [self._row(sample_at(position, self._manifest.samples, self._seed)) for position in positions]
        special = self._manifest.special_tokens
        if special is None:
            tokens = torch.from_numpy(np.stack(rows))
            return {"input_ids": tokens, "labels": tokens}
        # Masked anew in each epoch, and the same after a resume: the position counts through all epochs.
        pairs = [
            _pair(row, special, np.random.default_rng((self._seed, position)))
            for row, position in zip(rows, positions, strict=True)
        ]
        return {name: torch.from_numpy(np.stack([pair[name] for pair in pairs])) for name in pairs[0]}

    def _row(self, sample: int) -> npt.NDArray[np.int64]:
        shard = bisect_right(self._ends, sample)
        first = self._ends[shard - 1] if shard else 0
        row: npt.NDArray[np.int64] = self._shards[shard][sample - first].astype(np.int64)
        return row


def _rows(directory: Path, shard: Shard, length: int) -> Any:
    if shard.tokens_of is None:
        return np.load(directory / shard.file, mmap_mode="r")
    return np.memmap(shard.file, dtype=shard.tokens_of, mode="r", shape=(shard.samples, length))


def _pair(
    row: npt.NDArray[np.int64], special: SpecialTokens, random: np.random.Generator
) -> dict[str, npt.NDArray[np.int64]]:
    first_segment, used, is_random = row[:PAIR_HEADER]
    seen, labels = mask_tokens(row[PAIR_HEADER:], special, random)
    places = np.arange(len(seen))
    return {
        "input_ids": seen,
        "labels": labels,
        "attention_mask": (places < used).astype(np.int64),
        "token_type_ids": ((places >= first_segment) & (places < used)).astype(np.int64),
        "next_sentence_label": np.asarray(is_random),
    }


def _check_fit(run: TrainingRun, manifest: Manifest) -> None:
    recipe = run.recipe
    kind = "pairs" if recipe.model.architecture == "bert" else "text"
    wrong = []
    if manifest.kind != kind:
        wrong.append(f"it holds {manifest.kind}, a {recipe.model.architecture} model needs {kind}")
    if manifest.sequence_length != recipe.data.sequence_length:
        wrong.append(f"samples have {manifest.sequence_length} tokens, the recipe's {recipe.data.sequence_length}")
    if manifest.samples < recipe.batch.global_size:
        wrong.append(f"it holds {manifest.samples} samples, one step takes {recipe.batch.global_size}")
    if wrong:
        raise ValueError("\n".join([f"{run.prepared_directory} does not fit the recipe:", *wrong]))
