"""Each planted mistake is noticed by exactly the rules, or by the other check, that its row names."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from shutil import copytree

import pytest

from slipway.assembly.stacks import read_stacks
from slipway.review.lint.assembly import lint_assembly
from slipway.review.wiring.registry import Finding
from slipway.review.wiring.resources import resources_of
from slipway.review.wiring.rules import RULES, run_rules
from tests.assembly import PROJECT, Assembly, load
from tests.conftest import AssemblyFactory
from tests.iam.program_roles import actors
from tests.review.wiring.template_mistakes import UNSEEN, TemplateMistake, mistakes_of, unseen_mistakes

MISTAKES = [mistake for author in (*UNSEEN, "own") for mistake in mistakes_of(author)]
CHANGED_ONE_BY_ONE = ("metrics", "alarms", "network", "reachability", "kubernetes", "pods")
"""Topics for which other tests plant every kind of mistake in every resource."""


def title(mistake: TemplateMistake) -> str:
    return mistake.what[:60]


@cache
def findings_before(assemblies: AssemblyFactory, environment: str) -> tuple[Finding, ...]:
    return run_rules(resources_of(read_stacks(assemblies(environment).directory)))


@pytest.mark.parametrize("mistake", MISTAKES, ids=title)
def test_a_mistake_is_noticed_by_the_rules_that_it_names(mistake: TemplateMistake, assemblies: AssemblyFactory) -> None:
    before = findings_before(assemblies, mistake.environment)
    stacks = read_stacks(assemblies(mistake.environment).directory)

    found = {finding.rule for finding in run_rules(resources_of(mistake.made_in(stacks))) if finding not in before}

    assert found == set(mistake.noticed_by)
    assert not (mistake.noticed_by and mistake.also_noticed_by)


@pytest.mark.parametrize("change", mistakes_of("allowed"), ids=title)
def test_a_sound_change_is_no_finding(change: TemplateMistake, assemblies: AssemblyFactory) -> None:
    stacks = change.made_in(read_stacks(assemblies(change.environment).directory))

    assert set(run_rules(resources_of(stacks))) <= set(findings_before(assemblies, change.environment))


@pytest.mark.parametrize(
    "mistake",
    [mistake for mistake in unseen_mistakes() if mistake.also_noticed_by in ("calls", "cluster rules")],
    ids=title,
)
def test_a_mistake_is_noticed_by_the_check_that_it_names(
    mistake: TemplateMistake, assemblies: AssemblyFactory, tmp_path: Path
) -> None:
    sound = assemblies(mistake.environment)
    folder = tmp_path / "cdk.out"
    copytree(sound.directory, folder)
    for stack in mistake.made_in(read_stacks(sound.directory)):
        (folder / f"{stack.name}.template.json").write_text(json.dumps(stack.template), encoding="utf-8")

    check = {"calls": refused_calls, "cluster rules": broken_rules}[mistake.also_noticed_by]

    assert check(Assembly(load(mistake.environment), folder)) - check(sound)


def refused_calls(assembly: Assembly) -> set[str]:
    return {f"{actor.name} {need}" for actor in actors(assembly) for need in actor.refused()}


def broken_rules(assembly: Assembly) -> set[str]:
    return {str(finding) for cluster in lint_assembly(assembly.directory) for finding in cluster.result.findings}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("number", "mistake"),
    [
        (number, mistake)
        for number, mistake in enumerate(unseen_mistakes())
        if mistake.also_noticed_by.startswith("tests/")
    ],
    ids=lambda value: title(value) if isinstance(value, TemplateMistake) else "",
)
def test_a_mistake_fails_the_test_that_it_names(number: int, mistake: TemplateMistake, tmp_path: Path) -> None:
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "tests.review.wiring.planting", "-p", "no:cacheprovider"),
            *("--numprocesses", "0", "--basetemp", str(tmp_path / "base"), mistake.also_noticed_by),
        ],
        cwd=PROJECT,
        env={**os.environ, "SLIPWAY_PLANTED": str(number)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout
    # pytest reports an error in a fixture, such as a mistake that no longer applies, as ERROR.
    assert "\nFAILED " in run.stdout


def test_every_rule_is_broken_by_a_mistake() -> None:
    broken = {rule for mistake in MISTAKES for rule in mistake.noticed_by}

    assert {rule.id for rule in RULES.values() if rule.topic not in CHANGED_ONE_BY_ONE} - broken == set()
