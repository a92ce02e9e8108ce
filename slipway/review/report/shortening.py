"""A text of a limited length: what does not fit is left out, the least important first, and the text says so."""

from collections.abc import Callable
from dataclasses import dataclass

from slipway.review.report.wording import count

_LEAST_LINES = 8
"""Each part keeps so many lines, or its alarming ones, until all have been shortened to them."""


@dataclass(frozen=True)
class Block:
    """A folded part of the text.

    Attributes:
        title: one line of HTML text.
        name: what one of the lines is, in words of which the first has a plural, for example `line of cost`.
        lines: an entry each, the most important first.
        rank: how early it is shortened; the highest first, and of the same rank the last in the text.
        alarming: how many of the first lines are kept until all other blocks have been shortened.
    """

    title: str
    name: str
    lines: tuple[str, ...]
    rank: int
    alarming: int = 0

    def text(self, kept: int) -> str:
        """Return the block with its first lines."""
        left_out = len(self.lines) - kept
        more = (f"- {left_out:,} left out, see the top",) if left_out else ()
        body = "\n".join((*self.lines[:kept], *more))
        return f"\n<details><summary>{self.title}</summary>\n\n{body}\n\n</details>\n"


def fitted(head: str, blocks: list[Block], longest: int) -> str:
    """Return the head and the blocks, in order, in at most this many characters.

    Raises:
        ValueError: not even the head fits with the blocks' titles.
    """
    kept = [len(block.lines) for block in blocks]
    order = sorted(range(len(blocks)), key=lambda number: (blocks[number].rank, number), reverse=True)
    for least_lines in ([max(_LEAST_LINES, block.alarming) for block in blocks], [0] * len(blocks)):
        for index in order:

            def fits(lines: int, index: int = index) -> bool:
                return len(_text(head, blocks, [*kept[:index], lines, *kept[index + 1 :]])) <= longest

            kept[index] = _most(min(least_lines[index], kept[index]), kept[index], fits)
    text = _text(head, blocks, kept)
    if len(text) > longest:
        raise ValueError(f"the head of the text alone has {len(text):,} characters, more than {longest:,}")
    return text


def _most(least: int, most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number of lines that fits, but not less than the least."""
    while least < most:
        tried = (least + most + 1) // 2
        if fits(tried):
            least = tried
        else:
            most = tried - 1
    return least


def _text(head: str, blocks: list[Block], kept: list[int]) -> str:
    left_out = [
        _counted(len(block.lines) - number, block.name)
        for block, number in zip(blocks, kept, strict=True)
        if number < len(block.lines)
    ]
    shortened = f"\n**Shortened** to fit into a comment. Left out: {', '.join(left_out)}.\n" if left_out else ""
    texts = (block.text(number) for block, number in zip(blocks, kept, strict=True))
    return f"{head}\n{shortened}{''.join(texts)}"


def _counted(number: int, name: str) -> str:
    noun, _, rest = name.partition(" ")
    return f"{count(number, noun)} {rest}".rstrip()
