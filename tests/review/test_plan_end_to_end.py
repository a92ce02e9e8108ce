"""`slipway plan` as a user runs it, in a clone of this project: an edited environment against what is committed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.assembly import PROJECT


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as it is committed, with this environment's packages."""
    folder = tmp_path_factory.mktemp("clone") / "project"
    subprocess.run(["git", "clone", "--quiet", "--local", PROJECT, folder], check=True)
    for installed in (".venv", "node_modules"):
        (folder / installed).symlink_to(PROJECT / installed)
    # .gitignore names folders; these are links.
    (folder / ".git" / "info" / "exclude").write_text(".venv\nnode_modules\n")
    return folder


def slipway_plan(clone: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the clone's own command, not the installed one."""
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(clone), str(clone / "constructs"), str(clone / "stacks"))),
    }
    command = [sys.executable, "-m", "slipway", "plan", *options]
    return subprocess.run(command, cwd=clone, env=variables, capture_output=True, text=True, check=False, timeout=240)


def test_an_edit_is_planned_against_what_is_committed(clone: Path) -> None:
    commit = git(clone, "rev-parse", "--short", "HEAD").strip()
    environment = clone / "environments" / "small.yaml"
    text = environment.read_text().replace("capacity_gib: 1200", "capacity_gib: 2400")
    environment.write_text(re.sub(r"monthly_budget_usd: \d+", "monthly_budget_usd: 4321", text))
    forms = {"json-file": "json", "markdown": "markdown", "html": "html"}
    outputs = [f"--{option}={clone / 'out'}/plan.{ending}" for option, ending in forms.items()]

    run = slipway_plan(clone, "-e", "small", "--base", "HEAD", "--fail-on", "cost=1,unpriced", *outputs)

    assert run.returncode == 1, run.stdout + run.stderr
    plan: dict[str, Any] = json.loads((clone / "out" / "plan.json").read_text())
    comparison = plan["comparison"]
    assert plan["head"] == f"{commit} with uncommitted changes"
    assert comparison["base"] == f"HEAD ({commit})"
    # The file system grows, and the alarms that watch how full it is know it. The budget has nothing to do with it.
    changed = comparison["changes"]["resources"]
    grown = ["AWS::FSx::FileSystem", *["AWS::CloudWatch::Alarm"] * 2]
    assert [change["type"] for change in changed if change["effect"] == "update"] == grown
    lines = {line["path"]: line["causes"] for line in comparison["lines"]["lines"]}
    capacity, budget = lines["storage.lustre.capacity_gib"], lines["operations.monthly_budget_usd"]
    assert [change["type"] for change in capacity["changes"]["resources"]] == grown
    assert {change["type"] for change in budget["changes"]["resources"]} == {"AWS::Budgets::Budget"}
    assert (comparison["lines"]["other_files"], comparison["lines"]["together"]) == (None, None)
    assert comparison["cluster_update"]["verdict"] == "no_change"
    assert comparison["security"] == {
        "new": [],
        "gone": [],
        "new_acknowledgements": [],
        "gone_acknowledgements": [],
        "not_checked": [],
        "not_run": [],
    }
    assert run.stderr.splitlines()[-2].startswith("cost=1: idle $")
    assert (clone / "out" / "plan.markdown").read_text().startswith("<!-- slipway-plan:small -->\n")
    assert (clone / "out" / "plan.html").read_text().lstrip().lower().startswith("<!doctype html>")
    # The copy of the base was elsewhere, and Git knows of no other work tree.
    plans = clone / ".plan" / "plans" / "small"
    assert {"base", "head", "lines"} == {path.name for path in plans.iterdir() if path.is_dir()} - {"cluster-update"}
    assert git(clone, "worktree", "list").count("\n") == 1
