"""The tables of docs/updates.md: what ParallelCluster's own update policies say of edits of an environment file."""

import copy
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slipway.cli import app
from slipway.review.cluster_update.comparison import Comparison, Question, Verdict, question
from slipway.review.judge.inside_parallelcluster.update_answer import Stop
from slipway.review.judge.updates import ask_about_updates
from tests.assembly import PROJECT, synthesize
from tests.config.files import changed, load
from tests.review.judge.update_cases import BASE, TABLES, Changes, Edit, Templates, configuration_in

pytestmark = pytest.mark.judge

DOCUMENT = PROJECT / "docs" / "updates.md"
STRATEGIES = ("DRAIN", "TERMINATE", "COMPUTE_FLEET_STOP")
STOPPED = {
    (Stop.COMPUTE_FLEET,): "fleet stopped",
    (Stop.LOGIN_NODES,): "login nodes at 0",
    (Stop.COMPUTE_FLEET, Stop.LOGIN_NODES): "fleet stopped, login nodes at 0",
}

BY_STRATEGY = {"DRAIN": "yes, nodes drain", "TERMINATE": "yes, jobs are cut off"}

Results = Mapping[str, list[Comparison]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """For every edit its comparison by each strategy, in one question to ParallelCluster's side."""
    directory = tmp_path_factory.mktemp("updates")

    @cache
    def templates(values: str) -> Templates:
        return dict(synthesize(load(directory, json.loads(values)), tmp_path_factory.mktemp("assembly")).templates())

    def under(strategy: str, values: Changes) -> Templates:
        found = copy.deepcopy(templates(json.dumps(values)))
        configuration_in(found)["Scheduling"]["SlurmSettings"]["QueueUpdateStrategy"] = strategy
        return found

    def asked(edit: Edit, strategy: str) -> Question:
        before = changed(BASE, edit.base)
        wanted = under(strategy, changed(before, edit.changes) if edit.changes or edit.templates else BASE)
        if edit.templates:
            edit.templates(wanted)
        return question(under(strategy, before), wanted, "us-west-2")

    edits = [edit for edits in TABLES.values() for edit in edits]
    questions = {edit.what: [asked(edit, strategy) for strategy in STRATEGIES] for edit in edits}
    flat = [one for each in questions.values() for one in each]
    updates = iter(ask_about_updates([(one.old.configuration, one.new.configuration) for one in flat], directory))
    return {what: [one.answered(next(updates)) for one in each] for what, each in questions.items()}


def cell(comparison: Comparison) -> str:
    """What the table says of an update."""
    if comparison.verdict is Verdict.REFUSED:
        return "**refused**"
    if comparison.same:
        return "no change"
    if not comparison.noticed:
        return "not noticed"
    if comparison.update.stop:
        return STOPPED[comparison.update.stop]
    by_strategy = any(change.by_strategy for change in comparison.update.changes)
    return BY_STRATEGY[comparison.strategy] if by_strategy else "yes"


def table(edits: list[Edit], results: Results) -> str:
    """The table of some edits, as the document has it."""
    rows = [f"| {edit.what} | {' | '.join(cell(one) for one in results[edit.what])} |" for edit in edits]
    return "\n".join(["| edit | `DRAIN` | `TERMINATE` | `COMPUTE_FLEET_STOP` |", "|---|---|---|---|", *rows])


@pytest.mark.parametrize("heading", TABLES)
def test_the_document_says_what_parallelcluster_says(heading: str, results: Results) -> None:
    wanted = f"### {heading}\n\n{table(TABLES[heading], results)}\n"
    assert wanted in DOCUMENT.read_text(encoding="utf-8"), f"docs/updates.md should say:\n\n{wanted}"


def test_the_command_asks_the_real_policies(tmp_path: Path) -> None:
    edited = changed(BASE, {"training.head_node.instance_type": "m6i.8xlarge"})
    deployed, wanted = (
        synthesize(load(tmp_path, values), tmp_path / name).directory
        for name, values in (("deployed", BASE), ("wanted", edited))
    )
    asked = ["cluster-update", "--assembly", str(wanted), "--against", str(deployed)]
    result = CliRunner().invoke(app, asked, env={"COLUMNS": "120"})
    assert result.exit_code == Verdict.REFUSED, result.output
    assert "HeadNode.InstanceType" in result.output
    assert "m6i.2xlarge -> m6i.8xlarge" in result.output
