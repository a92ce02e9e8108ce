"""Environment variables of the compile and train jobs: a table, with the reason and the source of each row.

Sources: `nxd` is aws-neuron/neuronx-distributed, examples/training (release 2.29); `samples` is
aws-neuron/aws-neuron-samples, torch-neuronx/training/dp_bert_hf_pretrain; `docs` is the Neuron documentation 2.33. That
these values are good ones on Trainium cannot be tried here: they are what AWS trains with.

Left out on purpose: XLA_USE_BF16 and XLA_DOWNCAST_BF16 (deprecated; the first ends in NCC_INLA001 with new compilers);
FI_EFA_FORK_SAFE (for kernels before 5.13: Ubuntu 22.04 and later have newer ones); `--cache_dir` in NEURON_CC_FLAGS (it
would win over NEURON_COMPILE_CACHE_URL); `--auto-cast-type=fp8_e4m3` (no loss is scaled, and no example of AWS's trains
with it); `--distribution-strategy llm-training` (only nemo-megatron's scripts have it,
NxD's do not); CCOM_SOCKET_IFNAME (Kubernetes only).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from slipway_jobs.recipe.model import Precision, Recipe
from slipway_jobs.run import TrainingRun, WorkerRun

Version = tuple[int, ...]


@dataclass(frozen=True)
class Variable:
    """One row. A condition that is left out holds for all recipes."""

    name: str
    """Name of the variable."""

    value: str
    """Its value."""

    device: Literal["neuron", "cpu"] = "neuron"
    """Device of the recipes it is for."""

    framework: Literal["xla", "native"] | None = None
    """Framework that reads it."""

    architecture: str | None = None
    """Model it is for."""

    strategies: tuple[str, ...] | None = None
    """Strategies it is for."""

    pipeline: bool | None = None
    """With or without pipeline parallelism."""

    precisions: tuple[Precision, ...] | None = None
    """Precisions it is for."""

    efa: bool = False
    """Only on nodes with EFA."""

    before: Version | None = None
    """Only with Neuron releases before this one."""

    scheduler: Literal["slurm", "kubernetes"] | None = None
    """Scheduler whose jobs it is for."""


AUTO_CAST: Mapping[Precision, str] = {
    "tf32": "--auto-cast=matmult --auto-cast-type=tf32",
    "float16": "--auto-cast=matmult --auto-cast-type=fp16",
}
"""neuronx-cc's options for the precisions that it makes of float32."""

_TRANSFORMER = "--model-type transformer"

VARIABLES: Sequence[Variable] = (
    # nxd, samples: several nodes talk over EFA, with direct access to the devices' memory.
    Variable("FI_PROVIDER", "efa", efa=True),
    Variable("FI_EFA_USE_DEVICE_RDMA", "1", efa=True),
    # libfabric's fi_efa(7): a pod may use no huge pages, since it asks for none; mapping one may end in SIGBUS.
    Variable("FI_EFA_USE_HUGE_PAGE", "0", efa=True, scheduler="kubernetes"),
    # nxd: all Llama scripts; samples: dp_bert_large_hf_pretrain_hdf5.py. float32 stays float32, whatever a
    # release's default of --auto-cast is; the other types are those of --auto-cast-type that are for matrix products of
    # a training, for trn1 and trn2 alike (docs v2.28.1: compiler/neuronx-cc/api-reference-guide/index.rst, lines
    # 102-121; about-neuron/arch/neuron-features/data-types.rst).
    Variable("NEURON_CC_FLAGS", _TRANSFORMER, framework="xla", precisions=("bfloat16",)),
    Variable("NEURON_CC_FLAGS", f"{_TRANSFORMER} --auto-cast=none", framework="xla", precisions=("float32",)),
    Variable("NEURON_CC_FLAGS", f"{_TRANSFORMER} {AUTO_CAST['tf32']}", framework="xla", precisions=("tf32",)),
    Variable("NEURON_CC_FLAGS", f"{_TRANSFORMER} {AUTO_CAST['float16']}", framework="xla", precisions=("float16",)),
    Variable("NEURON_FUSE_SOFTMAX", "1", framework="xla"),
    # nxd: how many executions are queued ahead; release 2.31 took the variable away (docs).
    Variable("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "3", framework="xla", pipeline=False, before=(2, 31)),
    Variable("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "7", framework="xla", pipeline=True, before=(2, 31)),
    # nxd: one heap for each thread of 32 processes takes the host's memory.
    Variable("MALLOC_ARENA_MAX", "64", framework="xla", pipeline=False),
    Variable("MALLOC_ARENA_MAX", "128", framework="xla", pipeline=True),
    Variable("MALLOC_ARENA_MAX", "64", framework="native"),
    # samples: with autocast, 1. nxd: with master weights in float32, 0 (run_llama_nxd.py, line 499): they keep small
    # updates without it, and copies of a weight on several workers stay equal. Weights of float32 need none either: 0,
    # so that no value of the user's shell reaches the job.
    Variable("NEURON_RT_STOCHASTIC_ROUNDING_EN", "1", precisions=("bfloat16",), strategies=("data_parallel",)),
    Variable(
        "NEURON_RT_STOCHASTIC_ROUNDING_EN",
        "0",
        precisions=("bfloat16",),
        strategies=("tensor_parallel", "fully_sharded"),
    ),
    Variable("NEURON_RT_STOCHASTIC_ROUNDING_EN", "0", precisions=("float16", "tf32", "float32")),
    # samples: seconds until an execution counts as hung; the default of 30 is short for a first collective.
    Variable("NEURON_RT_EXEC_TIMEOUT", "600", framework="xla"),
    # samples: gradients are reduced in buckets of 512 MB. torch_xla 2.9 reads this name (core/xla_model.py, line 1148;
    # its Neuron plug-in would set 50), not the samples' BUCKET_CAP_MB.
    Variable("ALLREDUCE_GRADIENTS_BUCKET_SIZE_MB", "512", framework="xla", strategies=("data_parallel",)),
    Variable("XLA_TRANSFER_SEED_ASYNC", "1", framework="xla", architecture="bert"),
    # Each worker on processors takes one thread, or they would stand in each other's way.
    Variable("OMP_NUM_THREADS", "1", device="cpu"),
    # transformers' tokenizers warn and may hang when a process with their threads forks.
    Variable("TOKENIZERS_PARALLELISM", "false", device="neuron"),
    Variable("TOKENIZERS_PARALLELISM", "false", device="cpu"),
)
"""The table. A variable has one value at most for a recipe."""


def variables(run: WorkerRun, *, efa: bool) -> dict[str, str]:
    """Return the environment variables of a run's compile and train jobs; the recipe's own win.

    A script gets what does not depend on a model; its own variables are for the script alone.

    Args:
        run: the run.
        efa: whether the nodes reach each other by EFA.
    """
    recipe = run.recipe if isinstance(run, TrainingRun) else None
    rows = [row for row in VARIABLES if _of_nodes(row, run, efa=efa) and _of_model(row, recipe)]
    return {row.name: row.value for row in rows} | (recipe.environment_variables if recipe else {})


def _of_nodes(row: Variable, run: WorkerRun, *, efa: bool) -> bool:
    return (
        row.device == run.hardware.device
        and row.framework in (None, run.hardware.framework)
        and row.scheduler in (None, run.scheduler)
        and (efa or not row.efa)
        and (row.before is None or _version(run.neuron_release) < row.before)
    )


def _of_model(row: Variable, recipe: Recipe | None) -> bool:
    if recipe is None:
        return (row.architecture, row.strategies, row.pipeline, row.precisions) == (None, None, None, None)
    return (
        row.architecture in (None, recipe.model.architecture)
        and recipe.parallelism.strategy in (row.strategies or (recipe.parallelism.strategy,))
        and row.pipeline in (None, recipe.parallelism.pipeline_parallel_size > 1)
        and recipe.precision in (row.precisions or (recipe.precision,))
    )


def _version(release: str) -> Version:
    return tuple(int(part) for part in release.split(".") if part.isdecimal())
