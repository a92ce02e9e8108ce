"""Runs of the shipped recipes on Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

from slipway_jobs.check.resolve import shared_fields
from slipway_jobs.environment import Environment, Kubernetes, PodResources
from slipway_jobs.recipe.model import Export, Publish
from slipway_jobs.recipe.problems import RecipeProblems
from slipway_jobs.run import FetchedModel, ImportRun, TrainingRun
from tests.jobs.chain_case import RECIPES, environment_below, run_of

NAMES = sorted(file.stem for file in RECIPES.glob("*.yaml"))
LAUNCHERS: tuple[Literal["torchrun", "mpi"], ...] = ("torchrun", "mpi")
SECRET = "arn:aws:secretsmanager:us-east-1:111122223333:secret:hugging-face-AbCdEf"
OWNER: Mapping[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "name": "tiny-llama-train-0",
    "uid": "11111111-2222-3333-4444-555555555555",
    "controller": False,
    "blockOwnerDeletion": False,
}


def on_kubernetes(
    environment: Environment,
    launcher: Literal["torchrun", "mpi"] = "torchrun",
    *,
    local_queue: str | None = None,
    secret: str | None = None,
) -> Environment:
    """Return an environment whose queues are node groups. What a pod has of a node is made up."""
    nodes = {
        name: PodResources(cpu_millicores=(row.vcpus or 0) * 950, memory_mib=(row.memory_gib or 0) * 900)
        for name, row in environment.instance_types.items()
    }
    kubernetes = Kubernetes(
        version="1.35",
        namespace="slipway",
        service_account="jobs",
        image="111122223333.dkr.ecr.us-east-1.amazonaws.com/slipway-training:0123456789abcdef",
        volume_claim="fsx",
        launcher=launcher,
        local_queue=local_queue,
        hugging_face_token_secret=secret,
        pods=nodes,
    )
    return environment.model_copy(update={"kubernetes": kubernetes})


@cache
def placed(
    name: str,
    launcher: Literal["torchrun", "mpi"] | None = "torchrun",
    directory: Path = Path("/fsx"),
    *,
    local_queue: str | None = None,
    secret: str | None = None,
) -> tuple[TrainingRun, Environment]:
    """Resolve a shipped recipe in the first environment that has a place for it; without a launcher, on Slurm."""
    for where in ("cpu", "trn1", "trn2"):
        environment = environment_below(directory, where)
        if launcher:
            environment = on_kubernetes(environment, launcher, local_queue=local_queue, secret=secret)
        try:
            return run_of(environment, name), environment
        except RecipeProblems:
            continue
    raise LookupError(f"no environment has a place for {name}")


def imported(environment: Environment, hub: str = "https://huggingface.co") -> ImportRun:
    """Return the import of a model of the Hub."""
    model = FetchedModel(
        directory=f"{environment.prepared_directory}/1000/owner--model-01234567",
        repository="owner/model",
        commit="0123456789abcdef0123456789abcdef01234567",
        hub=hub,
    )
    export = Export(batch_size=4, sequence_length=1024, tensor_parallel_size=2)
    return ImportRun(
        **shared_fields("tanuki-v1", environment, Path(environment.runs_directory).parent / "environment.json"),
        cpu_queue="cpu",
        model=model,
        publication=Publish(model="tanuki", version="v1", export=export),
    )
