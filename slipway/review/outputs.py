"""Where a plan goes: the terminal, and files for a pull request, programs and browsers."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from slipway.assembly.stacks import read_stacks
from slipway.review.base_and_head import BaseAndHead
from slipway.review.errors import NotPlannedError
from slipway.review.plan import Plan

_STDOUT = Path("-")


@dataclass(frozen=True)
class Outputs:
    """What the user asks for.

    Attributes:
        markdown: file for the comment; `-`, here and for the others, is the standard output, which then has no report
            for people.
        json_file: file for the document.
        html: file for the page.
        as_json: the document goes to the standard output.
    """

    markdown: Path | None = None
    json_file: Path | None = None
    html: Path | None = None
    as_json: bool = False

    def problems(self) -> Iterator[str]:
        """Yield why these files cannot be written, as far as it can be known beforehand."""
        files = self._files
        for file in dict.fromkeys(files):
            if files.count(file) > 1:
                name = "the standard output" if file == _STDOUT else file
                yield f"{name} is given for two outputs"
        yield from (f"{file} is a folder: give a file" for file in files if file != _STDOUT and file.is_dir())

    def prepare(self) -> None:
        """Import what the reports need, while other things are waited for."""
        if self._for_people:
            import slipway.review.report.terminal  # noqa: PLC0415
        if self.markdown:
            import slipway.review.report.markdown  # noqa: PLC0415
        if self.html:
            import slipway.review.report.page  # noqa: F401, PLC0415

    @property
    def _for_people(self) -> bool:
        return _STDOUT not in self._files

    @property
    def _files(self) -> list[Path]:
        files = (self.markdown, self.json_file, self.html, _STDOUT if self.as_json else None)
        return [file for file in files if file]

    def write(self, plan: Plan, compared: BaseAndHead) -> None:
        """Write the plan everywhere; folders are made. All is made before the first file is written.

        Raises:
            NotPlannedError: a file cannot be written.
        """
        reports: list[tuple[Path | None, Callable[[], str]]] = [
            (self.markdown, lambda: _markdown(plan)),
            (self.json_file, lambda: plan.model_dump_json(indent=2)),
            (_STDOUT if self.as_json else None, lambda: plan.model_dump_json(indent=2)),
            (self.html, lambda: _page(plan, compared)),
        ]
        for file, text in [(file, make()) for file, make in reports if file]:
            _write(file, text)
        if self._for_people:
            from slipway.review.report.terminal import print_plan  # noqa: PLC0415
            from slipway.terminal import screen  # noqa: PLC0415

            print_plan(plan, screen())


def _markdown(plan: Plan) -> str:
    from slipway.review.report.markdown import markdown  # noqa: PLC0415

    return markdown(plan)


def _page(plan: Plan, compared: BaseAndHead) -> str:
    from slipway.review.report.architecture.read import read_architecture  # noqa: PLC0415
    from slipway.review.report.page import page  # noqa: PLC0415

    base = compared.base.assembly if compared.base else None
    return page(
        plan,
        read_architecture(read_stacks(compared.assembly)),
        read_architecture(read_stacks(base)) if base else None,
    )


def _write(file: Path, text: str) -> None:
    if file == _STDOUT:
        sys.stdout.write(f"{text}\n")
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", "utf-8")
    except OSError as problem:
        raise NotPlannedError(f"{file} cannot be written: {problem.strerror}") from problem
