"""What this strategy cannot split or train. The recipe's checks say the same earlier, before a job is submitted."""

from __future__ import annotations

from slipway_jobs.recipe.architecture import Llama
from slipway_jobs.recipe.attention_order import attention_order
from slipway_jobs.run import TrainingRun


def check_limits(run: TrainingRun) -> None:
    """Check the recipe's split.

    Raises:
        ValueError: it does not work; all reasons, with the numbers.
    """
    recipe = run.recipe
    model, split = recipe.model, recipe.parallelism
    if not isinstance(model, Llama):
        raise ValueError(f"tensor_parallel trains a llama, not a {model.architecture}: write strategy data_parallel")  # noqa: TRY004
    tensor, stages, repeats = split.tensor_parallel_size, split.pipeline_parallel_size, split.kv_size_multiplier
    heads = model.num_key_value_heads * repeats
    replicas = max(run.world_size // (tensor * stages), 1)
    divided = {
        "num_attention_heads": model.num_attention_heads,
        "num_key_value_heads times kv_size_multiplier": heads,
        "intermediate_size": model.intermediate_size,
        "vocab_size": model.vocab_size,
        "data.sequence_length": recipe.data.sequence_length,
    }
    problems = [
        f"{name} is {number}, which tensor_parallel_size {tensor} does not divide"
        for name, number in divided.items()
        if number % tensor
    ]
    if run.world_size % (tensor * stages):
        problems.append(f"{run.world_size} workers cannot be divided into groups of {tensor} x {stages}")
    if recipe.batch.global_size % (recipe.batch.micro_size * replicas):
        problems.append(
            f"batch.global_size {recipe.batch.global_size} is not a multiple of micro_size {recipe.batch.micro_size} "
            f"times {replicas} replicas"
        )
    if tensor % repeats:
        problems.append(f"kv_size_multiplier {repeats} does not divide tensor_parallel_size {tensor}")
    if repeats > 1 and attention_order(recipe.hardware) == "trn2" and heads != tensor:
        where = recipe.hardware.instance_type
        problems.append(f"on {where} num_key_value_heads times kv_size_multiplier must be {tensor}, not {heads}")
    if stages > 1 and recipe.batch.global_size // (recipe.batch.micro_size * replicas) < stages:
        problems.append(
            f"batch.global_size {recipe.batch.global_size} makes fewer micro-batches for each of {replicas} replicas "
            f"than there are stages ({stages}), which would never all be at work"
        )
    if stages > model.num_hidden_layers:
        problems.append(f"{model.num_hidden_layers} layers cannot be divided into {stages} stages")
    if stages > 1 and model.tie_word_embeddings:
        problems.append("tie_word_embeddings needs both matrices in one stage: write pipeline_parallel_size 1")
    if recipe.optimizer.name != "adamw":
        problems.append(f"the optimizer is {recipe.optimizer.name}: tensor_parallel trains with adamw")
    if problems:
        raise ValueError("the recipe cannot be trained with tensor_parallel:\n" + "\n".join(problems))
