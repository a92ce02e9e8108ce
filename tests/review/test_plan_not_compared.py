"""A plan without the comparison that was asked for says why, wherever it is read."""

from io import StringIO
from pathlib import Path

from rich.console import Console

from slipway.assembly.stacks import read_stacks
from slipway.review.base_and_head import BaseAndHead
from slipway.review.report.architecture.read import read_architecture
from slipway.review.report.markdown import markdown
from slipway.review.report.page import page
from slipway.review.report.terminal import print_plan
from slipway.review.run import plan_of
from tests.assembly import Assembly
from tests.conftest import AssemblyFactory

REASON = "main (1234567) does not synthesize, so nobody knows what this changes: it is planned alone."


def test_every_report_says_why_there_is_no_comparison(default: Assembly, tmp_path: Path) -> None:
    plan = plan_of(BaseAndHead("7654321", default.directory, None, REASON), tmp_path)

    console = Console(record=True, width=200, file=StringIO())
    print_plan(plan, console)

    assert plan.comparison is None
    assert f"note: {REASON}" in console.export_text()
    assert f"> {REASON}" in markdown(plan).replace("\\", "")
    assert REASON in page(plan, read_architecture(read_stacks(default.directory)), None)


def test_every_report_names_what_is_not_slipways(assemblies: AssemblyFactory, tmp_path: Path) -> None:
    assembly = assemblies("existing")
    plan = plan_of(BaseAndHead("7654321", assembly.directory, None, None), tmp_path)

    console = Console(record=True, width=400, file=StringIO())
    print_plan(plan, console)

    assert "note: Stays: not Slipway's: " in console.export_text()
    for text in (
        markdown(plan).replace("\\", ""),
        page(plan, read_architecture(read_stacks(assembly.directory)), None),
    ):
        assert "fs-0a1b2c3d4e5f60001 (/fsx)" in text
