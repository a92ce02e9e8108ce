"""What each changed line causes, with a small app in the place of the CDK's: real comparison, rules and prices."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from slipway.assembly.synthesis import SynthFailedError
from slipway.review import base_and_head
from slipway.review.base_and_head import Base, BaseAndHead, Question
from slipway.review.lines import attribution
from slipway.review.lines.attribution import changed_lines
from slipway.review.plan import ChangedLines, Consequences
from slipway.review.run import plan_of
from tests.assembly import PROJECT

DEFAULT = (PROJECT / "environments" / "default.yaml").read_text("utf-8")
CAPACITY = ("capacity_gib: 4800", "capacity_gib: 9600")
BUDGET = ("monthly_budget_usd: 5000", "monthly_budget_usd: 8000")
NAME = ("cluster_name: trainium", "cluster_name: broken")
REGION = (
    ("region: us-west-2", "region: us-east-1"),
    ("id: usw2-az4", "id: use1-az6"),
    ("[usw2-az1]", "[use1-az4]"),
)

Told = Callable[..., ChangedLines | None]


def resources(values: dict[str, Any]) -> dict[str, Any]:
    """What the small app makes of an environment file: a file system, a budget, and a topic if both are large."""
    capacity, budget = values["storage"]["lustre"]["capacity_gib"], values["operations"]["monthly_budget_usd"]
    lustre = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250}
    made: dict[str, Any] = {
        "Files": {
            "Type": "AWS::FSx::FileSystem",
            "Properties": {"FileSystemType": "LUSTRE", "StorageCapacity": capacity, "LustreConfiguration": lustre},
        },
        f"Budget{budget}": {"Type": "AWS::Budgets::Budget", "Properties": {"Budget": {"BudgetType": "COST"}}},
        "Region": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": values["region"]}},
    }
    if capacity > 5000 and budget > 6000:
        made["Both"] = {"Type": "AWS::SNS::Topic"}
    return made


def write(folder: Path, made: dict[str, Any]) -> Path:
    folder.mkdir(parents=True)
    (folder / "one.json").write_text(json.dumps({"Resources": made}))
    artifact = {
        "type": "aws:cloudformation:stack",
        "environment": "aws://unknown-account/us-west-2",
        "properties": {"templateFile": "one.json"},
    }
    (folder / "manifest.json").write_text(json.dumps({"artifacts": {"one": artifact}}))
    return folder


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    subprocess.run(["git", "-C", folder, *identity, *arguments], capture_output=True, check=True)


@pytest.fixture
def synths(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was synthesized."""
    names: list[str] = []

    def synthesize(file: str, directory: Path, log: Path, *, despite_findings: bool) -> None:
        names.append(directory.name)
        values = json.loads(Path(file).read_text())
        if values["training"]["cluster_name"] == "broken":
            raise SynthFailedError("the app's log: x\nthe name is broken")
        code = {"Code": {"Type": "AWS::SNS::Topic"}} if (directory.parents[2] / "project" / "code.py").exists() else {}
        write(directory, resources(values) | code)

    monkeypatch.setattr(attribution, "synthesize", synthesize)
    return names


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synths: list[str]) -> Told:
    """Plan edits of the default environment."""
    project, plans = tmp_path / "project", tmp_path / "plans"
    (project / "environments").mkdir(parents=True)
    file = project / "environments" / "default.yaml"
    file.write_text(DEFAULT)
    git(project, "init", "--quiet", "--initial-branch=main")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "base")
    monkeypatch.setattr(attribution, "PROJECT", project)
    monkeypatch.setattr(base_and_head, "PROJECT", project)

    def plan(*edits: tuple[str, str], code: bool = False) -> ChangedLines | None:
        text = DEFAULT
        for old, new in edits:
            assert text.count(old) == 1
            text = text.replace(old, new)
        file.write_text(text)
        made = resources(yaml.safe_load(text))
        if code:
            (project / "code.py").touch()
            made["Code"] = {"Type": "AWS::SNS::Topic"}
        base = Base("main", write(plans / "base", resources(yaml.safe_load(DEFAULT))))
        compared = BaseAndHead("work tree", write(plans / "head", made), base)
        with changed_lines(Question("default", base="main"), compared, plans) as with_lines:
            made_plan = with_lines(plan_of(compared, plans))
        assert made_plan.comparison
        return made_plan.comparison.lines

    return plan


def touched(consequences: Consequences | None) -> list[tuple[str, str]]:
    assert consequences
    return [(change.logical_id, change.effect) for change in consequences.changes.resources]


def test_each_line_has_what_it_alone_causes_and_the_rest_is_together(told: Told, synths: list[str]) -> None:
    lines = told(CAPACITY, BUDGET)

    assert lines
    assert lines.file == "environments/default.yaml"
    capacity, budget = lines.lines
    assert (capacity.path, capacity.before, capacity.after) == ("storage.lustre.capacity_gib", 4800, 9600)
    assert DEFAULT.splitlines()[capacity.line - 1].strip() == CAPACITY[0]
    assert touched(capacity.causes) == [("Files", "update")]
    assert capacity.causes
    assert capacity.causes.peak_usd_per_hour == pytest.approx(4800 * 0.21 / 730)
    assert capacity.causes.deploy_seconds
    assert touched(budget.causes) == [("Budget8000", "replace")]
    assert touched(lines.together) == [("Both", "add")]
    assert lines.other_files is None
    assert sorted(synths) == ["0", "1"]


def test_one_line_is_the_whole_change_and_needs_no_synth(told: Told, synths: list[str]) -> None:
    lines = told(CAPACITY)

    assert lines
    assert [touched(line.causes) for line in lines.lines] == [[("Files", "update")]]
    assert lines.together is None
    assert synths == []


def test_what_cannot_change_alone_says_why_and_is_together(told: Told, synths: list[str]) -> None:
    lines = told(*REGION, BUDGET)

    assert lines
    *region, budget = lines.lines
    assert [line.path for line in region] == [
        "region",
        "network.training_availability_zone_id",
        "network.other_availability_zone_ids",
    ]
    assert all(line.causes is None and line.not_alone for line in region)
    assert region[0].not_alone
    assert region[0].not_alone.startswith("region cannot change alone: network.")
    assert touched(budget.causes) == [("Budget8000", "replace")]
    assert touched(lines.together) == [("Region", "update")]
    assert synths == ["3"]


def test_an_app_that_fails_on_one_line_alone_is_quoted(told: Told) -> None:
    lines = told(NAME, BUDGET)

    assert lines
    assert lines.lines[0].not_alone == "training.cluster_name cannot change alone: the name is broken."
    assert lines.together is None


def test_other_changed_files_have_consequences_of_their_own(told: Told, synths: list[str]) -> None:
    lines = told(CAPACITY, code=True)

    assert lines
    assert touched(lines.other_files) == [("Code", "add")]
    assert [touched(line.causes) for line in lines.lines] == [[("Files", "update")]]
    assert lines.together is None
    assert synths == ["other-files"]


def test_many_keys_are_listed_and_not_told_apart(
    told: Told, monkeypatch: pytest.MonkeyPatch, synths: list[str]
) -> None:
    monkeypatch.setattr(attribution, "MOST_LINES", 1)

    lines = told(CAPACITY, BUDGET)

    assert lines
    assert lines.not_told_apart == "2 keys differ: the plan tells apart what each causes for at most 1."
    assert [line.causes for line in lines.lines] == [None, None]
    assert synths == []


def test_no_changed_line_is_none(told: Told) -> None:
    lines = told(("# The whole environment", "# All of the environment"))

    assert lines is None


def test_two_assemblies_have_no_lines(tmp_path: Path) -> None:
    sides = [write(tmp_path / name, resources(yaml.safe_load(DEFAULT))) for name in ("base", "head")]
    compared = BaseAndHead("head", sides[1], Base("base", sides[0]))

    with changed_lines(Question(assembly=sides[1], against=sides[0]), compared, tmp_path / "plans") as with_lines:
        plan = plan_of(compared, tmp_path / "plans")
        assert with_lines(plan) is plan
