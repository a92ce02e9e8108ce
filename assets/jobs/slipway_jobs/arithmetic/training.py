"""What fits together in a recipe: strategy, framework and architecture; schedule; tokenizer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slipway_jobs.recipe.architecture import Llama
from slipway_jobs.recipe.model import Recipe
from slipway_jobs.recipe.problems import Finding
from slipway_jobs.recipe.source_files import BYTE_LEVEL, vocabulary_size

BYTE_LEVEL_TOKENS = 384
"""Tokens of the byte-level tokenizer: 256 bytes, special ones, room up to a multiple of 128."""

BYTE_LEVEL_END = 1
"""Its token that ends a text."""

SCRIPTS_OWN = re.compile(
    r"SLURM_.*|SLIPWAY_.*|PATH|PYTHONPATH|PYTHONNOUSERSITE|PYTHONUNBUFFERED|AWS_DEFAULT_REGION|MASTER_ADDRESS"
    r"|NEURON_COMPILE_CACHE_URL|TORCH_NEURONX_NEFF_CACHE_DIR"
)
"""Variables that the job scripts set, and that jobs need as they are."""

SECRET = re.compile(r".*(TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|(ACCESS|API|PRIVATE)_?KEY)(_.*)?", re.IGNORECASE)
"""Names of variables that hold a secret: a run's files on /fsx are readable by others."""

_STRATEGIES = {"tensor_parallel": ("xla", "llama"), "fully_sharded": ("native", "llama")}


def strategy(recipe: Recipe) -> Iterator[Finding]:
    """Each strategy has its framework and its models."""
    name, framework = recipe.parallelism.strategy, recipe.hardware.framework
    architecture = "llama" if isinstance(recipe.model, Llama) else recipe.model.architecture
    key = ("parallelism", "strategy")
    needed = _STRATEGIES.get(name)
    if needed and (framework, architecture) != needed:
        message = (
            f"`{name}` is for framework {needed[0]} and architecture {needed[1]}, not {framework} and {architecture}"
        )
        fits = [other for other, pair in _STRATEGIES.items() if pair == (framework, architecture)]
        yield Finding(key, message, f"Write {fits[0] if fits else 'data_parallel'}.")
    if recipe.optimizer.name == "lamb" and name != "data_parallel":
        message = f"`lamb` takes the norm of whole weights, and with `{name}` a worker holds parts of them"
        yield Finding(("optimizer", "name"), message, "Write adamw.")


def strategy_options(recipe: Recipe) -> Iterator[Finding]:
    """A strategy refuses the options that it does not have, rather than pass over them."""
    parallelism = recipe.parallelism
    has = {
        "data_parallel": (),
        "fully_sharded": ("tensor_parallel_size",),
        "tensor_parallel": ("tensor_parallel_size", "pipeline_parallel_size", "kv_size_multiplier", "fuse_qkv"),
    }[parallelism.strategy]
    for option in ("tensor_parallel_size", "pipeline_parallel_size", "kv_size_multiplier", "fuse_qkv"):
        value = getattr(parallelism, option)
        if option not in has and (value is True or value > 1):
            message = f"`{parallelism.strategy}` has no such option (got {str(value).lower()})"
            yield Finding(("parallelism", option), message, "Leave it out.")
    if parallelism.activation_checkpointing == "selective_mlp" and parallelism.strategy != "tensor_parallel":
        message = f"`selective_mlp` is of `tensor_parallel`, not of `{parallelism.strategy}`"
        yield Finding(("parallelism", "activation_checkpointing"), message, "Write selective or full.")


def precision(recipe: Recipe) -> Iterator[Finding]:
    """What neuronx-cc makes of float32 needs neuronx-cc, and its options in NEURON_CC_FLAGS."""
    if recipe.precision == recipe.weights_precision:
        return
    key, hardware = ("precision",), recipe.hardware
    if (hardware.device, hardware.framework) != ("neuron", "xla"):
        where = "processors" if hardware.device == "cpu" else "framework native"
        message = f"neuronx-cc makes `{recipe.precision}` of float32 (`--auto-cast`) with framework xla, not on {where}"
        yield Finding(key, message, "Write bfloat16 or float32.")
    elif "--auto-cast" not in recipe.environment_variables.get("NEURON_CC_FLAGS", "--auto-cast"):
        message = f"your NEURON_CC_FLAGS have no `--auto-cast`, which makes `{recipe.precision}` of float32"
        yield Finding(key, message, "Write float32, or leave your NEURON_CC_FLAGS out.")


def architecture(recipe: Recipe) -> Iterator[Finding]:
    """A decoder has no fields but its own, and tokens see all of those before them."""
    model = recipe.model
    if not isinstance(model, Llama):
        return
    for name in ("head_dim", "rope_scaling", "sliding_window"):
        if getattr(model, name) is not None and not getattr(model.features, name):
            yield Finding(("model", name), f"a {model.architecture} has none", "Leave it out.")
    window, length = model.sliding_window, recipe.data.sequence_length
    if window is not None and window < length:
        message = f"{window} tokens are fewer than the {length} of a sample, and attention sees all of these"
        fix = f"Write data.sequence_length {window} or less, or null as Mistral v0.2 and later have it."
        yield Finding(("model", "sliding_window"), message, fix)


def ahead_of_time(recipe: Recipe) -> Iterator[Finding]:
    """neuron_parallel_compile traces XLA graphs; TorchNeuron compiles while it runs."""
    if recipe.compile.ahead_of_time and recipe.hardware.framework == "native":
        message = "`neuron_parallel_compile` is of framework xla, not native"
        fix = "Write false: the compile job's steps fill the compile cache."
        yield Finding(("compile", "ahead_of_time"), message, fix)


def compiled_steps(recipe: Recipe) -> Iterator[Finding]:
    """The first step's graph differs from those after it: optimizer states are made in it."""
    hardware, steps = recipe.hardware, recipe.compile.steps
    if hardware.device == "neuron" and hardware.framework == "xla" and steps < 2:
        message = f"{steps} step compiles the first step's graphs only, the train job would compile the others"
        yield Finding(("compile", "steps"), message, "Write 2 or more.")


def tied_embeddings(recipe: Recipe) -> Iterator[Finding]:
    """Embedding and output layer are one matrix only where one stage has both."""
    stages = recipe.parallelism.pipeline_parallel_size
    if isinstance(recipe.model, Llama) and recipe.model.tie_word_embeddings and stages > 1:
        message = f"embedding and output layer are one matrix, and of {stages} stages the first and the last have them"
        yield Finding(("parallelism", "pipeline_parallel_size"), message, "Write 1.")


def schedule(recipe: Recipe) -> Iterator[Finding]:
    """The warm-up ends before the training, and the learning rate falls."""
    optimizer = recipe.optimizer
    if optimizer.warmup_steps >= recipe.steps:
        message = f"{optimizer.warmup_steps} steps of warm-up in {recipe.steps} steps of training"
        yield Finding(("optimizer", "warmup_steps"), message, f"Write {recipe.steps - 1} or less.")
    elif optimizer.warmup_steps + (optimizer.decay_steps or 0) > recipe.steps:
        message = (
            f"{optimizer.decay_steps} steps of decay after {optimizer.warmup_steps} of warm-up in {recipe.steps} steps"
        )
        fix = f"Write {recipe.steps - optimizer.warmup_steps} or less."
        yield Finding(("optimizer", "decay_steps"), message, fix)
    if optimizer.minimum_learning_rate > optimizer.learning_rate:
        message = f"{optimizer.minimum_learning_rate:g} is more than learning_rate {optimizer.learning_rate:g}"
        yield Finding(("optimizer", "minimum_learning_rate"), message, f"Write {optimizer.learning_rate:g} or less.")


def vocabulary(recipe: Recipe) -> Iterator[Finding]:
    """Each token of the tokenizer has a row in the embedding, as far as the tokenizer can be read here."""
    rows = recipe.model.vocab_size
    tokens = BYTE_LEVEL_TOKENS if recipe.data.tokenizer == BYTE_LEVEL else vocabulary_size(recipe.data.tokenizer)
    if tokens and tokens > rows:
        message = f"{rows} rows for the {tokens} tokens of the tokenizer {recipe.data.tokenizer}"
        yield Finding(("model", "vocab_size"), message, f"Write {-(-tokens // 128) * 128} or choose another tokenizer.")
    if isinstance(recipe.model, Llama):
        if recipe.data.tokenizer == BYTE_LEVEL and recipe.model.eos_token_id != BYTE_LEVEL_END:
            message = (
                f"{recipe.model.eos_token_id}, and texts end with token {BYTE_LEVEL_END} of the byte-level tokenizer"
            )
            yield Finding(("model", "eos_token_id"), message, f"Write {BYTE_LEVEL_END}.")
        for name in ("bos_token_id", "eos_token_id"):
            if not 0 <= (token := getattr(recipe.model, name)) < rows:
                message = f"{token} is not one of the {rows} rows of the embedding"
                yield Finding(("model", name), message, "Take it from the model's config.json.")


def interval(recipe: Recipe) -> Iterator[Finding]:
    """Notice: a failure would cost the whole training; a hundred steps are soon taken again."""
    every = recipe.checkpoint.interval_steps
    if every >= recipe.steps > 100:
        message = f"{every} steps between checkpoints in {recipe.steps} steps: a failure begins anew"
        yield Finding(("checkpoint", "interval_steps"), message, f"Write {max(1, recipe.steps // 10)} or so.")


def environment_variables(recipe: Recipe) -> Iterator[Finding]:
    """Own variables leave those of the job scripts alone, and hold no secret."""
    for name in recipe.environment_variables:
        key = ("environment_variables", name)
        if SCRIPTS_OWN.fullmatch(name):
            yield Finding(key, "the job scripts set it themselves", "Leave it out.")
        elif name != "TOKENIZERS_PARALLELISM" and SECRET.fullmatch(name):
            message = "its name says that it is a secret, and a run's files are readable by others"
            yield Finding(key, message, "Leave it out, and let your code read a file of yours in your home folder.")
