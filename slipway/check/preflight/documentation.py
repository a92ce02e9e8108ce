"""The list of checks in docs/preflight.md: `python -m slipway.check.preflight.documentation` rewrites it."""

from collections.abc import Iterator
from pathlib import Path

import slipway.check.preflight.checks  # noqa: F401 - importing it registers the checks
from slipway.check.preflight.check import CHECKS

CHECKS_FILE = Path(__file__).parents[3] / "docs" / "preflight.md"

_BEGIN, _END = "<!-- begin: checks -->", "<!-- end: checks -->"


def with_checks(text: str) -> str:
    """Return the document with its generated part renewed.

    Args:
        text: The document; the generated part stands between `<!-- begin: checks -->` and `<!-- end: checks -->`.
    """
    before, _, rest = text.partition(_BEGIN)
    after = rest.partition(_END)[2]
    return "\n".join([f"{before}{_BEGIN}", "", *_table(), "", f"{_END}{after}"])


def _table() -> Iterator[str]:
    yield "| Check | Looks at | Prevents | When | Asks AWS by |"
    yield "|---|---|---|---|---|"
    for check in sorted(CHECKS.values(), key=lambda one: one.id):
        actions = ", ".join(f"`{action}`" for action in check.actions) or "nothing"
        title = check.title[:1].upper() + check.title[1:]
        yield f"| **{check.id}** | {title} | {check.prevents} | {check.stage} | {actions} |"


if __name__ == "__main__":
    CHECKS_FILE.write_text(with_checks(CHECKS_FILE.read_text(encoding="utf-8")), encoding="utf-8")
