"""Where a plan goes: the terminal, and files for a pull request, programs and browsers."""

import sys
from dataclasses import dataclass
from pathlib import Path

from slipway.assembly import read_stacks
from slipway.plan.plan import Plan
from slipway.plan.sides import Sides

_STDOUT = Path("-")


@dataclass(frozen=True)
class Outputs:
    """The files that the user asks for; `-` is the standard output, which then has no report for people."""

    markdown: Path | None = None
    json: Path | None = None
    html: Path | None = None

    def prepare(self) -> None:
        """Import what the reports need, while other things are waited for."""
        if self._for_people:
            import slipway.plan.report.terminal  # noqa: PLC0415
        if self.markdown:
            import slipway.plan.report.markdown  # noqa: PLC0415
        if self.html:
            import slipway.plan.report.page  # noqa: F401, PLC0415

    @property
    def _for_people(self) -> bool:
        return _STDOUT not in (self.markdown, self.json, self.html)

    def write(self, plan: Plan, sides: Sides) -> None:
        """Write the plan everywhere; folders are made."""
        if self.markdown:
            from slipway.plan.report.markdown import markdown  # noqa: PLC0415

            _write(self.markdown, markdown(plan))
        if self.json:
            _write(self.json, plan.model_dump_json(indent=2))
        if self.html:
            _write(self.html, _page(plan, sides))
        if self._for_people:
            from rich.console import Console  # noqa: PLC0415

            from slipway.plan.report.terminal import print_plan  # noqa: PLC0415

            print_plan(plan, Console())


def _page(plan: Plan, sides: Sides) -> str:
    from slipway.plan.report.architecture.read import read_architecture  # noqa: PLC0415
    from slipway.plan.report.page import page  # noqa: PLC0415

    base = sides.base.assembly if sides.base else None
    return page(
        plan,
        read_architecture(read_stacks(sides.assembly)),
        read_architecture(read_stacks(base)) if base else None,
    )


def _write(file: Path, text: str) -> None:
    if file == _STDOUT:
        sys.stdout.write(f"{text}\n")
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n", "utf-8")
