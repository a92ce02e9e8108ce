"""The plan that the README shows: `python -m tests.review.report.example_plan > docs/plan.svg` draws it."""

import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console

from slipway.config.loader import load_environment
from slipway.review.base_and_head import Base, BaseAndHead
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
        folder = Path(name)
        base, head = folder / "base", folder / "head"
        synthesize(load_environment(DEFAULT), base)
        file = folder / "default.yaml"
        text = DEFAULT.read_text(encoding="utf-8")
        for old, new in EDITS:
            assert text.count(old) == 1, f"default.yaml no longer has {old!r} once: adapt the edits"
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")
        synthesize(load_environment(file), head)
        plan = plan_of(BaseAndHead("working tree", head, Base("origin/main", base)), folder)
    return _screen(_scanned(plan))


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
