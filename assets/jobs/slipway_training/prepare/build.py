"""Makes the folder of samples: whole or not there, whenever the job is killed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from slipway_jobs.recipe.model import Recipe
from slipway_jobs.recipe.source_files import SUFFIXES, TOKENS, missing_text, source_files
from slipway_jobs.run import TrainingRun
from slipway_training.data.manifest import (
    DONE,
    MANIFEST_FILE,
    PAIR_HEADER,
    TOKENIZER,
    Manifest,
    Shard,
    SpecialTokens,
    read_manifest,
)
from slipway_training.data.tokenizer import load_tokenizer
from slipway_training.durable import sync_folder, write_text
from slipway_training.prepare.documents import documents
from slipway_training.prepare.pairs import pair_samples
from slipway_training.prepare.shard import ShardWriter
from slipway_training.prepare.sources import Part, changes, describe, parts_of
from slipway_training.prepare.text import text_samples
from slipway_training.prepare.token_files import token_shard


class PrepareError(Exception):
    """The text cannot be prepared. The message is for the user."""


@dataclass(frozen=True)
class _Made:
    """What came of one part."""

    shard: Shard
    documents: int
    tokens: int


def prepare(run: TrainingRun, processes: int) -> Manifest:
    """Make the run's prepared folder, if it is not there, and return its manifest. The validation text has another run.

    Args:
        run: The run.
        processes: Parts that are read at the same time.

    Raises:
        PrepareError: there is no text, too little of it, or the folder was made of other files.
        TokenizerError, DocumentError: the tokenizer or a file of text is wrong.
        OSError: a file cannot be read or written.
    """
    recipe, directory = run.recipe, Path(run.prepared_directory)
    files = source_files(recipe.data.source)
    if not files:
        raise PrepareError(f"there is no {', '.join(SUFFIXES)} or {TOKENS} file at {recipe.data.source}")
    if wrong := [f"{one.message}. {one.fix}" for one in missing_text(("data", "source"), recipe.data.source, recipe)]:
        raise PrepareError("\n".join(wrong))
    sources = tuple(describe(file) for file in files)
    if (directory / DONE).is_file():
        manifest = read_manifest(directory)
        if changed := changes(manifest.sources, list(sources)):
            advice = "Submit the recipe again: a new run prepares the text anew."
            raise PrepareError("\n".join([f"{directory} was made of other text than there is now:", *changed, advice]))
        _check_enough(manifest, recipe)
        print(f"{directory} is there already: {manifest.samples:,} samples", flush=True)
        return manifest
    # The run's name: two runs of the same text may be prepared at the same time, and the first one's folder stays.
    work = directory.with_name(f".{directory.name}.{run.name}")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        manifest = _fill(work, recipe, files, sources, processes)
        sync_folder(work)
        _move(work, directory)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return manifest


def _fill(work: Path, recipe: Recipe, files: list[Path], sources: Any, processes: int) -> Manifest:
    tokenizer = load_tokenizer(recipe)
    tokenizer.model_max_length = recipe.model.max_position_embeddings  # what a published model says
    tokenizer.save_pretrained(work / TOKENIZER)
    if files[0].suffix == TOKENS:
        made = list(_token_shards(recipe, files, processes))
    else:
        made = list(_make_shards(work, recipe, files, processes))
    encoder = recipe.model.architecture == "bert"
    special = (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id, tokenizer.pad_token_id)
    manifest = Manifest(
        kind="pairs" if encoder else "text",
        sequence_length=recipe.data.sequence_length,
        tokenizer=recipe.data.tokenizer,
        special_tokens=SpecialTokens(
            cls=special[0], sep=special[1], mask=special[2], pad=special[3], size=len(tokenizer)
        )
        if encoder
        else None,
        documents=sum(part.documents for part in made),
        tokens=sum(part.tokens for part in made),
        shards=tuple(part.shard for part in made if part.shard.samples),
        sources=sources,
    )
    _check_enough(manifest, recipe)
    write_text(work / MANIFEST_FILE, manifest.model_dump_json(indent=2) + "\n")
    write_text(work / DONE, "")
    return manifest


def _token_shards(recipe: Recipe, files: list[Path], processes: int) -> Iterator[_Made]:
    """Check files of token ids: they are read where they are, so that a large data set is not there twice."""
    for number, file in enumerate(files, start=1):
        shard, documents = token_shard(file, recipe, processes)
        print(f"{number}/{len(files)} files of token ids: {shard.samples:,} samples in {file}", flush=True)
        yield _Made(shard, documents, shard.samples * recipe.data.sequence_length)


def _make_shards(work: Path, recipe: Recipe, files: list[Path], processes: int) -> Iterator[_Made]:
    """Make a shard of each part, in processes of their own, and tell how far it is; yield them in the parts' order."""
    parts = [part for file in files for part in parts_of(file)]
    size = sum(file.stat().st_size for file in files)
    print(f"tokenizing {len(files)} files, {size / 1e6:,.1f} MB, in {len(parts)} parts", flush=True)
    started, made = time.monotonic(), dict[int, _Made]()
    with _pool(min(processes, len(parts))) as pool:
        jobs = {pool.submit(_make_shard, work, recipe, number, part): number for number, part in enumerate(parts)}
        try:
            for job in as_completed(jobs):
                made[jobs[job]] = job.result()
                tokens = sum(part.tokens for part in made.values())
                seconds = time.monotonic() - started
                print(f"{len(made)}/{len(parts)} parts, {tokens:,} tokens, {seconds:.0f} s", flush=True)
        except BrokenExecutor as error:
            raise PrepareError("a process that tokenizes was killed, most likely for lack of memory") from error
        finally:
            pool.shutdown(cancel_futures=True)
    return (made[number] for number in range(len(parts)))


def _pool(processes: int) -> Executor:
    """Return what runs the parts. One alone is not worth a process of its own, which imports for seconds."""
    if processes <= 1:
        return ThreadPoolExecutor(1)
    # Not forked: the tokenizers library has threads.
    return ProcessPoolExecutor(processes, mp_context=get_context("spawn"))


def _make_shard(work: Path, recipe: Recipe, number: int, part: Part) -> _Made:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # each process has a part already
    tokenizer, length = load_tokenizer(recipe), recipe.data.sequence_length
    texts = documents(part, recipe.data.text_field)
    encoder = recipe.model.architecture == "bert"
    batches = pair_samples(texts, tokenizer, length) if encoder else text_samples(texts, tokenizer, length)
    columns, largest = (PAIR_HEADER + length, max(len(tokenizer), length)) if encoder else (length, len(tokenizer))
    shard, read, tokens = f"samples_{number:05d}.npy", 0, 0
    with ShardWriter(work / shard, columns, largest) as writer:
        for count, rows in batches:
            writer.write(rows)
            read += count
            tokens += int(rows[:, 1].sum()) if encoder else rows.size
    return _Made(Shard(file=shard, samples=writer.rows), read, tokens)


def _check_enough(manifest: Manifest, recipe: Recipe) -> None:
    needed = recipe.batch.global_size
    if manifest.samples < needed:
        raise PrepareError(
            f"{recipe.data.source}: {manifest.documents:,} documents make {manifest.samples:,} samples of "
            f"{manifest.sequence_length} tokens; one step takes {needed:,} (batch.global_size). Give more text, or "
            "lower batch.global_size or data.sequence_length"
        )


def _move(work: Path, directory: Path) -> None:
    try:
        work.rename(directory)
    except OSError:
        # Another run of the same text was faster: its folder is as good.
        if not (directory / DONE).is_file():
            raise
    sync_folder(directory.parent)
