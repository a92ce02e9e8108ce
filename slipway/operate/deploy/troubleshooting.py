"""What a failure of a deployment means, and what to do: the rows of docs/troubleshooting.md, "Deployment"."""

import re
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

DOCUMENT = "`slipway docs troubleshooting#deployment`"
_PAGE = "troubleshooting"
_ROWS = Path(__file__).with_suffix(".yaml")
_SPAN = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^]]+)\]\(([^)]+)\)")


class Row(BaseModel):
    """One row.

    Attributes:
        seen: what a user sees; the words in backticks are looked for, `...` stands for anything.
        means: what it means.
        do: what to do about it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seen: str
    means: str
    do: str

    def matches(self, message: str) -> int:
        """Return the length of the longest of the words that the message has, 0 when it has none."""
        return max((len(words) for words in _SPAN.findall(self.seen) if _pattern(words).search(message)), default=0)


@cache
def rows() -> tuple[Row, ...]:
    """Return all rows."""
    return tuple(Row.model_validate(row) for row in yaml.safe_load(_ROWS.read_text("utf-8")))


def advice(message: str) -> list[str]:
    """Return what the row says whose words fit a message best, as lines; where to look when none does."""
    best = max(rows(), key=lambda row: row.matches(message))
    if not best.matches(message):
        return [f"see {DOCUMENT}"]
    return [f"means: {_plain(best.means)}", f"do: {_plain(best.do)}", f"see {DOCUMENT}"]


@cache
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part.strip()) for part in words.split("...")), re.DOTALL)


def _plain(markdown: str) -> str:
    """Return a text with each link as the command that prints its page; those without a page are of this one."""
    return _LINK.sub(lambda link: _printed(*link.groups()), markdown)


def _printed(text: str, target: str) -> str:
    page, _, anchor = target.partition("#")
    command = f"`slipway docs {page.removesuffix('.md') or _PAGE}{'#' * bool(anchor)}{anchor}`"
    return command if text.endswith(".md") else f"{text} ({command})"
