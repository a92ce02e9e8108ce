"""The prepare job's command. Exit status 1: the user's text, tokenizer or disk; nothing half-done is left."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import pyarrow

from slipway_jobs.run import TrainingRun, read_training_run
from slipway_training.data.manifest import Manifest
from slipway_training.data.tokenizer import TokenizerError
from slipway_training.prepare.build import PrepareError, prepare
from slipway_training.prepare.documents import DocumentError


def main(arguments: list[str]) -> int:
    """Do what the command line says and return the exit status."""
    parser = argparse.ArgumentParser(prog="slipway_training.prepare", description="Tokenize a run's text.")
    parser.add_argument("--run", type=Path, required=True, help="the run's file")
    options = parser.parse_args(arguments)
    try:
        run = read_training_run(options.run)
        processes = len(os.sched_getaffinity(0))
        print(_summary(run, prepare(run, processes)), flush=True)
        if run.validation:
            print(_summary_of_validation(run, prepare(run.validation, processes)), flush=True)
    except (PrepareError, TokenizerError, DocumentError, OSError, ValueError, pyarrow.ArrowException) as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def _summary(run: TrainingRun, manifest: Manifest) -> str:
    epochs = run.recipe.steps * run.recipe.batch.global_size / manifest.samples
    return (
        f"{manifest.documents:,} documents, {manifest.tokens:,} tokens, {manifest.samples:,} samples in "
        f"{run.prepared_directory}; {run.recipe.steps:,} steps read them {epochs:.2g} times"
    )


def _summary_of_validation(run: TrainingRun, manifest: Manifest) -> str:
    assert run.recipe.data.validation
    read = run.recipe.data.validation.batches * run.recipe.batch.global_size / manifest.samples
    return f"{manifest.samples:,} samples to validate with; each measurement reads {read:.2g} times as many"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
