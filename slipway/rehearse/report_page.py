"""All of a report as one HTML page that needs nothing else, in the look of the plan's."""

from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from rich.table import Table
from rich.text import Text

from slipway.rehearse.folder import RunFolder
from slipway.rehearse.report import Report
from slipway.rehearse.report_text import tables
from slipway.rehearse.summary import first_cause
from slipway.review.report.page import STYLE_SHEET

_TEMPLATES = Path(__file__).parent / "templates"
_LONG_WORD = 24
"""A cell with a longer word is shown as code, which the style sheet breaks anywhere."""


@dataclass(frozen=True)
class _Table:
    title: str
    has_head: bool
    headings: tuple[str, ...]
    rows: tuple[tuple[tuple[str, str], ...], ...]


def write_page(report: Report, folder: RunFolder) -> None:
    """Write the page into the folder of the run."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["long"] = lambda cell: max(map(len, cell.split()), default=0) > _LONG_WORD
    page = environment.get_template("report.html.j2").render(
        report=report,
        causes=list(first_cause(report, folder.root)),
        tables=[_read(table) for table in tables(report)],
        style=Markup(STYLE_SHEET.read_text(encoding="utf-8")),
    )
    folder.page.write_text(f"{page}\n", encoding="utf-8")


def _read(table: Table) -> _Table:
    headings = tuple(str(column.header) for column in table.columns)
    rows = zip(*(column.cells for column in table.columns), strict=True)
    plain = tuple(
        tuple(
            (heading, Text.from_markup(str(cell), emoji=False).plain)
            for heading, cell in zip(headings, row, strict=True)
        )
        for row in rows
    )
    return _Table(str(table.title), table.show_header, headings, plain)
