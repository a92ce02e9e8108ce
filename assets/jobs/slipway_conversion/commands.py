"""What the converter's commands do with a run's file or with options."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from slipway_conversion.finished_folder import DONE
from slipway_conversion.from_transformers import Sharding, from_transformers, is_converted
from slipway_conversion.model_folder import CONFIGURATION_FILE, read_configuration
from slipway_conversion.nxd_split import ToldSplit
from slipway_conversion.problems import ConversionError
from slipway_conversion.recipe_model import check_same_model, recipe_model
from slipway_conversion.to_transformers import Conversion, to_transformers
from slipway_jobs.recipe.attention_order import attention_order
from slipway_jobs.run import TrainingRun, read_training_run
from slipway_training.checkpoints.layout import (
    CHECKPOINT_FILE,
    INITIAL,
    CheckpointFile,
    latest_complete,
    read_checkpoint_file,
)
from slipway_training.data.manifest import TOKENIZER
from slipway_training.models.transformers_configuration import transformers_configuration

Report = Callable[[str], None]
"""Takes one line of progress."""


def forth(options: Namespace, report: Report) -> None:
    """Convert to the transformers library's format.

    Raises:
        ConversionError: something has to be changed first.
        OSError: the disk is full or cannot be written.
    """
    run = _run(options.run) if options.run else None
    conversion = of_run(run) if run else of_options(options)
    report(f"{conversion.checkpoint} to {conversion.output}")
    if not to_transformers(conversion, report):
        report(f"{conversion.output} is there already")
    if run:
        done = run.done_file("convert")
        done.parent.mkdir(parents=True, exist_ok=True)
        done.touch()
    report(f"{conversion.output} is complete")


def of_run(run: TrainingRun) -> Conversion:
    """Return the conversion of a run's latest complete checkpoint.

    Raises:
        ConversionError: there is none.
    """
    checkpoint = latest_complete(Path(run.checkpoint_directory))
    if checkpoint is None:
        raise ConversionError(
            f"{run.checkpoint_directory} holds no complete checkpoint (step_N with a file {DONE}): the train job has "
            "not saved one yet"
        )
    told = _described(checkpoint)
    prepared = Path(run.prepared_directory) / TOKENIZER
    return Conversion(
        checkpoint=checkpoint,
        output=Path(run.converted_directory),
        configuration=transformers_configuration(told.model),
        split=_told_split(told),
        format=told.format,
        model=told.model,
        precision=run.recipe.weights_precision,
        tokenizer=str(prepared) if prepared.is_dir() else run.recipe.data.tokenizer,
        run=run.name,
        step=told.step,
    )


def of_options(options: Namespace) -> Conversion:
    """Return the conversion of a checkpoint from anywhere.

    Raises:
        ConversionError: what is known of it is not enough, or contradicts the options.
    """
    told = _described(options.checkpoint) if (options.checkpoint / CHECKPOINT_FILE).is_file() else None
    if (told is None) == (options.configuration is None):
        raise ConversionError(
            f"{options.checkpoint}: {CHECKPOINT_FILE} says what the model is; leave out --configuration"
            if told
            else f"{options.checkpoint} has no {CHECKPOINT_FILE}: give the model's config.json with --configuration"
        )
    split = _told_split(told) if told else ToldSplit()
    if told and options.attention_order not in (None, split.attention_order):
        raise ConversionError(f"{options.checkpoint / CHECKPOINT_FILE}: attention_order is {split.attention_order}")
    return Conversion(
        checkpoint=options.checkpoint.resolve(),
        output=options.output.absolute(),
        configuration=transformers_configuration(told.model) if told else read_configuration(options.configuration),
        split=ToldSplit(
            split.tensor_parallel_size,
            split.pipeline_parallel_size,
            options.kv_size_multiplier or split.kv_size_multiplier,
            options.attention_order or split.attention_order,
        ),
        format=told.format if told else "nxd",
        model=told.model if told else None,
        precision=options.precision,
        tokenizer=options.tokenizer,
        run=None,
        step=told.step if told else None,
    )


def back(options: Namespace, report: Report) -> None:
    """Convert from the transformers library's format.

    Raises:
        ConversionError: something has to be changed first.
        OSError: the disk is full or cannot be written.
    """
    sharding = _sharding_of_run(_run(options.run)) if options.run else _sharding_of_options(options)
    report(f"{sharding.model} to {sharding.output}")
    if is_converted(sharding):
        report(f"{sharding.output} is there already")
        return
    if not options.run and sharding.output.exists() and any(sharding.output.iterdir()):
        raise ConversionError(f"{sharding.output} exists: remove it, or name another folder")
    from_transformers(sharding, report)
    report(f"{sharding.output} is complete")


def _sharding_of_run(run: TrainingRun) -> Sharding:
    recipe = run.recipe
    if recipe.initial_weights is None:
        raise ConversionError(f"{run.file}: the recipe has no initial_weights; there is nothing to convert")
    model = Path(recipe.initial_weights)
    file = model / CONFIGURATION_FILE
    check_same_model(recipe_model(read_configuration(file), file), recipe.model, file)
    return Sharding(
        model=model,
        output=Path(run.checkpoint_directory) / INITIAL,
        tensor_parallel_size=recipe.parallelism.tensor_parallel_size,
        pipeline_parallel_size=recipe.parallelism.pipeline_parallel_size,
        kv_size_multiplier=recipe.parallelism.kv_size_multiplier,
        attention_order=attention_order(recipe.hardware),
        fuse_qkv=recipe.parallelism.fuse_qkv,
        run=run.name,
    )


def _sharding_of_options(options: Namespace) -> Sharding:
    return Sharding(
        model=options.model.resolve(),
        output=options.output.absolute(),
        tensor_parallel_size=options.tensor_parallel_size,
        pipeline_parallel_size=options.pipeline_parallel_size,
        kv_size_multiplier=options.kv_size_multiplier,
        attention_order=options.attention_order,
        fuse_qkv=options.fuse_qkv,
        xser=options.xser,
    )


def _run(file: Path) -> TrainingRun:
    try:
        return read_training_run(file)
    except ValidationError as error:
        raise ConversionError(
            f"{file} is no run's file: {error.errors()[0]['msg']}. Submit the recipe again"
        ) from error


def _described(checkpoint: Path) -> CheckpointFile:
    try:
        return read_checkpoint_file(checkpoint)
    except ValidationError as error:
        raise ConversionError(f"{checkpoint / CHECKPOINT_FILE} is not readable: {error.errors()[0]['msg']}") from error


def _told_split(told: CheckpointFile) -> ToldSplit:
    return ToldSplit(
        told.tensor_parallel_size, told.pipeline_parallel_size, told.kv_size_multiplier, told.attention_order
    )
