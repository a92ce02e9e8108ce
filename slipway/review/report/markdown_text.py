"""Foreign text in GitHub Flavored Markdown: whatever a value holds, it stays text.

CommonMark 0.31: a code span ends at a run of as many backticks as it began with (6.1), a backslash before ASCII
punctuation makes it text (2.4), an HTML block ends at a blank line (4.6, kind 6).
"""

import html
import re

from slipway.review.report.wording import printable

_STRUCTURE = frozenset("\\`*_{}[]<>&#|~!$")
_BACKTICKS = re.compile(r"`+")
_LONGEST = 700
_REFERENCE = re.compile(r"@|#(?=\d)")
"""What GitHub makes a mention of somebody, or of an issue, of: it looks at the rendered text, whatever was escaped."""


def code(value: str) -> str:
    """Return a value as a code span, in one line."""
    text = _one_line(value) or '""'
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def prose(text: str) -> str:
    """Return a sentence as text without markup, in one line; it mentions nobody and no issue on GitHub."""
    return "".join(f"\\{character}" if character in _STRUCTURE else character for character in _unlinked(text))


def in_html(text: str) -> str:
    """Return a text for the inside of an HTML element, in one line."""
    return html.escape(_unlinked(text))


def _unlinked(text: str) -> str:
    return _REFERENCE.sub(lambda sign: f"{sign[0]}\N{WORD JOINER}", _one_line(text))


def _one_line(text: str) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
