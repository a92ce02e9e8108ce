"""Lines of text that fit into a box, in any font that a system may have.

Nothing here knows the reader's font. The widths are those of DejaVu Sans, the widest of the usual system fonts, so that
text that fits with them fits with all.
"""

TITLE_SIZE = 13.0
DETAIL_SIZE = 11.5
SMALL_SIZE = 10.5

_NARROW = frozenset("iljtfrI.,:;|!'()[]{} /-")
_WIDE = frozenset("mwMWQOGD@%")
_NARROW_EM, _WIDE_EM, _CAPITAL_EM, _USUAL_EM = 0.42, 0.98, 0.76, 0.65
_BOLD = 1.1


def width(text: str, size: float, *, bold: bool = False) -> float:
    """Return an upper bound of a text's width in pixels."""
    em = sum(_em(character) for character in text)
    return em * size * (_BOLD if bold else 1.0)


def wrap(text: str, size: float, room: float, *, bold: bool = False) -> list[str]:
    """Break a text into lines that fit into a width, at spaces; a word that is too long for a line is broken."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if width(longer, size, bold=bold) <= room:
            lines[-1] = longer
            continue
        pieces = _pieces(word, size, room, bold=bold)
        lines = [*(line for line in lines if line), *pieces]
    return lines


def _pieces(word: str, size: float, room: float, *, bold: bool) -> list[str]:
    pieces = [""]
    for character in word:
        if pieces[-1] and width(pieces[-1] + character, size, bold=bold) > room:
            pieces.append("")
        pieces[-1] += character
    return pieces


def _em(character: str) -> float:
    if character in _NARROW:
        return _NARROW_EM
    if character in _WIDE:
        return _WIDE_EM
    return _CAPITAL_EM if character.isupper() else _USUAL_EM
