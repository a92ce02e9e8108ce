"""The pods of every shipped recipe fit the nodes that they are for, one to a node, and no node more than asked for."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from slipway import facts
from slipway.config import Environment
from slipway_jobs.check.resolve import resolve
from slipway_jobs.environment import Environment as JobEnvironment
from slipway_jobs.kubernetes.manifests import job_set, mpi_job
from slipway_jobs.recipe.load import load_recipe
from slipway_jobs.recipe.problems import RecipeProblems
from slipway_jobs.run import TRAINING_STAGES, TrainingRun
from tests.jobs.chain_case import RECIPES
from tests.kubernetes.job_nodes import environment_of, job_environment_of, nodes_of, types_of
from tests.kubernetes.scheduling import schedule

STACKS = [row.name for row in facts.training_stacks().values() if row.job_kit]
STAGES = TRAINING_STAGES
LAUNCHERS = ("torchrun", "mpi")
NEURON = "aws.amazon.com/neuron"
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "1"}

PodSpec = dict[str, Any]


class Case(NamedTuple):
    """A recipe on an instance type."""

    recipe: str
    instance_type: str
    stack: str


class Placed(NamedTuple):
    """A run and where it is."""

    run: TrainingRun
    environment: Environment
    jobs: JobEnvironment


@cache
def placed(case: Case, launcher: str) -> Placed:
    """Resolve a recipe.

    Raises:
        RecipeProblems: It does not run on that type: its arithmetic, or the chips' memory.
    """
    environment = environment_of(case.stack, launcher)
    jobs = job_environment_of(environment)
    file = RECIPES / f"{case.recipe}.yaml"
    # There is no endpoint to compile a model for.
    uncompiled = ["publish.export=null"] if load_recipe(file).publish else []
    recipe = load_recipe(file, [f"hardware.instance_type={case.instance_type}", *uncompiled])
    return Placed(resolve(recipe, file, jobs, Path("/nowhere/environment.json")), environment, jobs)


def cases() -> Iterator[Case]:
    """Yield each shipped recipe for Trainium on each type that it runs on."""
    for file in sorted(RECIPES.glob("*.yaml")):
        if load_recipe(file).hardware.device != "neuron":
            continue
        for stack in STACKS:
            for instance_type in types_of(stack):
                case = Case(file.stem, instance_type, stack)
                try:
                    placed(case, LAUNCHERS[0])
                except RecipeProblems:
                    continue
                yield case


CASES = list(cases())
EACH_CASE = pytest.mark.parametrize("case", CASES, ids=[f"{case.recipe}-{case.instance_type}" for case in CASES])
ONE_CASE = pytest.mark.parametrize("case", CASES[:1], ids=[CASES[0].recipe])


def stages_of(where: Placed) -> dict[str, list[PodSpec]]:
    """Return the pods of each job of the JobSet, by its name."""
    jobs = job_set(where.run, where.jobs, STAGES, "0123456789ab")["spec"]["replicatedJobs"]
    return {
        job["name"]: [job["template"]["spec"]["template"]["spec"]] * job["template"]["spec"]["parallelism"]
        for job in jobs
    }


def mpi_pods_of(where: Placed) -> dict[str, list[PodSpec]]:
    """Return the pods of the MPIJob, by their role."""
    replicas = mpi_job(where.run, where.jobs, OWNER, "0123456789ab", 0)["spec"]["mpiReplicaSpecs"]
    return {role: [one["template"]["spec"]] * one["replicas"] for role, one in replicas.items()}


def workers_of(case: Case, launcher: str) -> tuple[Placed, list[PodSpec]]:
    """Return a run and its pods that train."""
    where = placed(case, launcher)
    return where, mpi_pods_of(where)["Worker"] if launcher == "mpi" else stages_of(where)["train"]


def test_every_recipe_and_every_type_for_several_nodes_is_there() -> None:
    shipped = {file.stem for file in RECIPES.glob("*.yaml") if load_recipe(file).hardware.device == "neuron"}
    assert {case.recipe for case in CASES} == shipped
    assert {"trn1.32xlarge", "trn1n.32xlarge", "trn2.48xlarge"} <= {case.instance_type for case in CASES}


@EACH_CASE
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_one_pod_that_trains_on_each_node(case: Case, launcher: str) -> None:
    where, workers = workers_of(case, launcher)
    nodes = nodes_of(where.environment, {"cpu": 1, where.run.queue: len(workers)})
    outcomes = schedule([*workers, workers[0]], nodes)
    assert len(workers) == where.run.recipe.hardware.nodes
    assert {outcome.node for outcome in outcomes[:-1]} == {f"{where.run.queue}-{n}" for n in range(len(workers))}
    # One more waits: for devices where they are, and it is not for the CPU node.
    one_more = outcomes[-1]
    assert one_more.node is None
    assert "didn't match Pod's node affinity/selector" in one_more.reasons["cpu-0"]
    assert all(f"Insufficient {NEURON}" in one_more.reasons[node.name] for node in nodes[1:])


@EACH_CASE
def test_a_pod_that_trains_takes_all_that_its_node_has_for_it(case: Case) -> None:
    where, [worker, *_] = workers_of(case, "torchrun")
    [node] = nodes_of(where.environment, {where.run.queue: 1})
    schedule([worker], [node])
    assert all(node.free(resource) == 0 for resource in node.allocatable if resource != "pods")


@EACH_CASE
@pytest.mark.parametrize("stage", ["prepare", "convert", "publish"])
def test_other_stages_take_a_node_without_accelerator(case: Case, stage: str) -> None:
    where = placed(case, "torchrun")
    [pod] = stages_of(where)[stage]
    nodes = nodes_of(where.environment, {where.run.queue: 1, "cpu": 1})
    first, second = schedule([pod, pod], nodes)
    assert first.node == "cpu-0"
    assert second.reasons["cpu-0"] == ["Insufficient cpu", "Insufficient memory"]
    assert f"had untolerated taint {{{NEURON}: true}}" in second.reasons[nodes[0].name]


@EACH_CASE
def test_what_starts_and_watches_mpi_shares_a_node(case: Case) -> None:
    where = placed(case, "mpi")
    [watcher], [launcher] = stages_of(where)["train"], mpi_pods_of(where)["Launcher"]
    [prepare] = stages_of(where)["prepare"]
    nodes = nodes_of(where.environment, {"cpu": 1})
    outcomes = schedule([watcher, launcher, prepare], nodes)
    assert [outcome.node for outcome in outcomes] == ["cpu-0", "cpu-0", None]
    # Another run prepares its data on another CPU node meanwhile: docs/kubernetes.md says so.
    assert outcomes[-1].reasons == {"cpu-0": ["Insufficient cpu", "Insufficient memory"]}


@ONE_CASE
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nodeSelector": {"slipway/node-group": "core"}}, "didn't match Pod's node affinity/selector"),
        ({"tolerations": []}, "had untolerated taint {slipway/node-group: cpu}"),
        ({"resource": ("cpu", "31111m")}, "Insufficient cpu"),
        ({"resource": ("memory", "117740Mi")}, "Insufficient memory"),
        ({"resource": ("vpc.amazonaws.com/efa", "1")}, "Insufficient vpc.amazonaws.com/efa"),
    ],
)
def test_a_wrong_pod_is_noticed(case: Case, change: dict[str, Any], reason: str) -> None:
    where = placed(case, "torchrun")
    [pod] = stages_of(where)["prepare"]
    changes = dict(change)
    if "resource" in changes:
        resource, amount = changes.pop("resource")
        container = pod["containers"][0]
        amounts = {**container["resources"]["limits"], resource: amount}
        changes["containers"] = [{**container, "resources": {"requests": amounts, "limits": amounts}}]
    [outcome] = schedule([{**pod, **changes}], nodes_of(where.environment, {"cpu": 1}))
    assert outcome.reasons == {"cpu-0": [reason]}


@ONE_CASE
def test_pods_that_train_need_no_toleration_on_eks(case: Case) -> None:
    where, [worker, *_] = workers_of(case, "torchrun")
    [outcome] = schedule([{**worker, "tolerations": []}], nodes_of(where.environment, {where.run.queue: 1}))
    assert outcome.node
