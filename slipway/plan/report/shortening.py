"""A text of a limited length: what does not fit is left out, the least important first, and the text says so."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """A folded part of the text.

    Attributes:
        title: one line of HTML text.
        name: what the lines are, in words, for example `lines of cost`.
        lines: an entry each, the most important first.
        rank: how early it is shortened; the highest first.
    """

    title: str
    name: str
    lines: tuple[str, ...]
    rank: int

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
    for index in sorted(range(len(blocks)), key=lambda number: -blocks[number].rank):
        if len(_text(head, blocks, kept)) <= longest:
            break
        kept[index] = _most_lines(head, blocks, kept, index, longest)
    text = _text(head, blocks, kept)
    if len(text) > longest:
        raise ValueError(f"the head of the text alone has {len(text):,} characters, more than {longest:,}")
    return text


def _most_lines(head: str, blocks: list[Block], kept: list[int], index: int, longest: int) -> int:
    """Return how many lines of a block fit; 0 when it must go down to its title."""
    least, most = 0, kept[index]
    while least < most:
        tried = (least + most + 1) // 2
        if len(_text(head, blocks, [*kept[:index], tried, *kept[index + 1 :]])) <= longest:
            least = tried
        else:
            most = tried - 1
    return least


def _text(head: str, blocks: list[Block], kept: list[int]) -> str:
    left_out = [
        f"{len(block.lines) - number:,} {block.name}"
        for block, number in zip(blocks, kept, strict=True)
        if number < len(block.lines)
    ]
    shortened = f"\n**Shortened** to fit into a comment. Left out: {', '.join(left_out)}.\n" if left_out else ""
    texts = (block.text(number) for block, number in zip(blocks, kept, strict=True))
    return f"{head}\n{shortened}{''.join(texts)}"
