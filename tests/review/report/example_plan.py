"""The plan that the README shows: `python -m tests.review.report.example_plan > docs/plan.svg` draws it."""

import json
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from slipway.config.document import read_document
from slipway.config.loader import load_environment
from slipway.review.base_and_head import Base, BaseAndHead
from slipway.review.lines.attribution import Lines
from slipway.review.lines.consequences import Side
from slipway.review.lines.difference import key_changes, with_changes
from slipway.review.plan import Plan
from slipway.review.report.terminal import print_plan
from slipway.review.run import plan_of
from slipway.review.security.model import Security, SecurityDelta
from tests.assembly import PROJECT, synthesize
from tests.terminal_picture import drawn

DEFAULT = PROJECT / "environments" / "default.yaml"
EDITS = (
    ("capacity_gib: 4800", "capacity_gib: 9600"),
    ("instance_type: m6i.2xlarge", "instance_type: m6i.4xlarge"),
    ("max_count: 4", "max_count: 8"),
)
"""What somebody changes in the default environment's file."""

WIDTH, ROWS = 120, 34
"""Size of the terminal in the picture."""


def example_plan() -> str:
    """Return the terminal's picture of the plan of these edits, as SVG."""
    with tempfile.TemporaryDirectory() as name:
        plan, _ = planned(Path(name), EDITS)
    return _screen(plan)


def planned(folder: Path, edits: Sequence[tuple[str, str]]) -> tuple[Plan, BaseAndHead]:
    """Plan edits of the default environment, as `slipway plan -e default --base origin/main` does."""
    text = DEFAULT.read_text(encoding="utf-8")
    changed = text
    for old, new in edits:
        assert changed.count(old) == 1, f"default.yaml no longer has {old!r} once: adapt the edits"
        changed = changed.replace(old, new)
    before, after = read_document(text), read_document(changed)
    keys = key_changes(before, after)
    base, head = _synthesized(folder, "base", before.value), _synthesized(folder, "head", after.value)
    compared = BaseAndHead("working tree", head.assembly, Base("origin/main", base.assembly))
    parts: list[Future[Side]] = [Future() for _ in keys]
    for number, (key, part) in enumerate(zip(keys, parts, strict=True)):
        alone = with_changes(before.value, after.value, frozenset({key.key}))
        part.set_result(_synthesized(folder, f"alone-{number}", alone))
    lines = Lines("environments/default.yaml", keys, compared, folder / "lines", None, tuple(parts))
    return _scanned(lines.told(plan_of(compared, folder))), compared


def _synthesized(folder: Path, name: str, values: Any) -> Side:
    file = folder / f"{name}.yaml"
    file.write_text(json.dumps(values), encoding="utf-8")
    synthesize(load_environment(file), folder / name)
    return Side.of(folder / name)


def _scanned(plan: Plan) -> Plan:
    """Return the plan as `slipway plan` has it: cdk-nag runs in its synth and finds nothing (tests/gates)."""
    assert plan.comparison
    comparison = plan.comparison.model_copy(update={"security": SecurityDelta()})
    return plan.model_copy(update={"security": Security(), "comparison": comparison})


def _screen(plan: Plan) -> str:
    """Return what a terminal shows first: long lines wrapped, and the rest below its end."""
    written = StringIO()
    print_plan(plan, Console(file=written, width=WIDTH, force_terminal=True, color_system="truecolor"))
    lines = written.getvalue().splitlines()
    return drawn(lines, title="slipway plan -e default --base origin/main", width=WIDTH, rows=ROWS)


if __name__ == "__main__":
    print(example_plan())
