"""Which shipped recipe runs unmodified in which shipped environment, by the environment.json that is deployed there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slipway_jobs.arithmetic.estimate_table import dollars, hours
from slipway_jobs.arithmetic.placement import cpu_queue
from slipway_jobs.environment import Environment, Queue
from slipway_jobs.publishing.export import HOURS
from slipway_jobs.recipe.load import load_recipe
from slipway_jobs.recipe.shipped import shipped_recipes
from tests.assembly import PROJECT, SHIPPED
from tests.conftest import AssemblyFactory
from tests.documented_commands import commands
from tests.jobs.recipe_case import estimate_of, problems_of
from tests.unit.test_job_kit_upload import kit_environment
from tests.unit.test_kubernetes_stack import told

README = PROJECT / "README.md"
TRAINING = PROJECT / "docs" / "training.md"
SHORT = ("llama-2-7b", "llama-3-8b", "qwen3-8b")
RECIPES = [file.stem for file in shipped_recipes()]

ENVIRONMENT_OF_PAGE = {
    "README.md": "default",
    "first-deploy.md": "default",
    "first-training.md": "small",
    "kubernetes.md": "kubernetes",
    "onboarding.md": "team",
    "operations.md": "small",
    "training.md": "default",
}
"""The environment in which a document's commands are typed: the one that it deploys, or a copy of it."""


@pytest.fixture(scope="module")
def environments(assemblies: AssemblyFactory) -> dict[str, Environment]:
    """What the kit is told in each shipped environment."""
    found = {name: assemblies(name) for name in SHIPPED}
    return {
        name: told(assembly) if assembly.environment.kubernetes else kit_environment(assembly)
        for name, assembly in found.items()
    }


@cache
def on_trainium(recipe: str) -> bool:
    [file] = [file for file in shipped_recipes() if file.stem == recipe]
    return load_recipe(file).hardware.device == "neuron"


def documented() -> dict[str, set[str]]:
    """The recipes of docs/training.md's table, with the environments that its last column names."""
    text = TRAINING.read_text(encoding="utf-8")
    rows = [row.strip("|").split("|") for row in text.splitlines() if row.startswith("| `")]
    return {
        recipe: set(re.findall("`([a-z]+)`", row[-1]))
        for row in rows
        for recipe in re.findall("`([a-z0-9-]+)`", row[0])
        if recipe in RECIPES
    }


def without_folders(text: str) -> str:
    return re.sub(rf"{re.escape(str(Path(shipped_recipes()[0]).parent))}/", "", text)


def test_what_is_accepted_and_why_the_rest_is_refused(
    environments: dict[str, Environment], snapshot: SnapshotAssertion
) -> None:
    table = {
        name: {recipe: outcome(recipe, environment) for recipe in RECIPES} for name, environment in environments.items()
    }
    assert table == snapshot


def outcome(recipe: str, environment: Environment) -> list[str]:
    """`accepted` with the notices, or `refused` with the problems."""
    if problems := problems_of(recipe, where=environment):
        return ["refused", *map(without_folders, problems)]
    return ["accepted", *estimate_of(recipe, where=environment).notices]


def test_each_environment_trains_a_shipped_recipe_on_trainium(environments: dict[str, Environment]) -> None:
    for name, environment in environments.items():
        assert [r for r in RECIPES if on_trainium(r) and not problems_of(r, where=environment)], name


def test_the_documented_table_is_what_is_accepted(environments: dict[str, Environment]) -> None:
    assert documented() == {
        recipe: {name for name, environment in environments.items() if not problems_of(recipe, where=environment)}
        for recipe in RECIPES
    }


def short_ways() -> list[tuple[str, ...]]:
    """The README's table: environment, command, what it ends in, time, cost."""
    [table] = re.findall(
        r"<!-- short ways.*?-->(.*?)<!-- /short ways -->", README.read_text(encoding="utf-8"), re.DOTALL
    )
    rows = [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in table.strip().splitlines()[2:]]
    return [(row[0], row[1], *row[3:]) for row in rows]


def test_the_short_ways_of_the_readme_are_the_facts(environments: dict[str, Environment]) -> None:
    computed = []
    for name, command, *_ in short_ways():
        environment, words = environments[name], command.split()
        if words[1] == "import":
            assert environment.service_of(words[words.index("--as") + 1].partition("/")[0])
            price = environment.instance_types[next(iter(cpu(environment).instance_types))].usd_per_hour
            told = (f"up to {HOURS:.0f} h on a CPU node", f"{price:.2f} USD an hour")
            computed.append((name, command, "an answer", *told))
        else:
            numbers = estimate_of(words[2], where=environment)
            publish = numbers.placement.recipe.publish
            assert publish
            served = publish.export and environment.service_of(publish.model)
            end = "an answer" if served else "a published model"
            computed.append((name, command, end, hours(numbers), dollars(numbers)))
    assert short_ways() == computed


def cpu(environment: Environment) -> Queue:
    found = cpu_queue(environment)
    assert found
    return found


def test_a_recipe_that_a_document_submits_or_checks_is_accepted_there(environments: dict[str, Environment]) -> None:
    typed = [command for command in commands() if command.words[:1] == ("slipway-job",) and command.whole]
    typed = [command for command in typed if command.words[1] in {"submit", "check"} and command.words[2] in RECIPES]

    assert typed
    for command in typed:
        environment = environments[ENVIRONMENT_OF_PAGE[command.page.name]]
        assert not problems_of(command.words[2], *overrides(command.words), where=environment), command


def overrides(words: Sequence[str]) -> list[str]:
    return [value for option, value in pairwise(words) if option == "--set"]


def test_a_short_run_of_the_documented_size_is_one_of_each_llama_recipe(environments: dict[str, Environment]) -> None:
    text = TRAINING.read_text(encoding="utf-8")
    low, high = map(int, re.findall(r"another Llama recipe on one node cost (\d+) to (\d+) USD", text)[0])
    [short] = (overrides(command.words) for command in commands() if "hardware.nodes=1" in command.words)
    runs = [estimate_of(recipe, *short, where=environments["default"]) for recipe in SHORT]
    costs = [int(cost) for run in runs for cost in re.findall(r"\d+", dollars(run))]
    assert (min(costs), max(costs)) == (low, high)
