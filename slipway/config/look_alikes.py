"""Finds characters that look like ASCII ones and are not: a Cyrillic letter in `region`, a dash in `us-west-2`."""

import unicodedata

# Letters of Greek and Cyrillic, and dashes, by what they look like: confusables.txt of Unicode Technical Standard 39 as
# ruff has it (rule RUF001); tests/config/test_look_alikes.py compares the two.
_LOOKS_LIKE = {
    "-": "\u2010\u2011\u2012\u2013\u2212",
    "A": "\u0391\u0410",
    "B": "\u0392\u0412",
    "C": "\u03f9\u0421",
    "E": "\u0395\u0415",
    "F": "\u03dc",
    "G": "\u050c",
    "H": "\u0397\u041d",
    "I": "\u0399\u0406\u04c0",
    "J": "\u037f\u0408",
    "K": "\u039a\u041a",
    "M": "\u039c\u03fa\u041c",
    "N": "\u039d",
    "O": "\u039f\u041e",
    "P": "\u03a1\u0420",
    "S": "\u0405",
    "T": "\u03a4\u0422",
    "V": "\u0474",
    "W": "\u051c",
    "X": "\u03a7\u0425",
    "Y": "\u03a5\u03d2\u0423\u04ae",
    "Z": "\u0396",
    "a": "\u03b1\u0430",
    "b": "\u042c",
    "c": "\u03f2\u0441",
    "d": "\u0501",
    "e": "\u0435\u04bd",
    "h": "\u04bb",
    "i": "\u037a\u03b9\u0456\u04cf",
    "j": "\u03f3\u0458",
    "o": "\u03bf\u03c3\u043e",
    "p": "\u03c1\u03f1\u0440",
    "q": "\u051b",
    "r": "\u0433",
    "s": "\u0455",
    "u": "\u03c5",
    "v": "\u03bd\u0475",
    "w": "\u0461\u051d",
    "x": "\u0445",
    "y": "\u03b3\u0443\u04af",
}
LOOK_ALIKES = {look_alike: meant for meant, look_alikes in _LOOKS_LIKE.items() for look_alike in look_alikes}
"""The ASCII character that each of them looks like."""


def look_alike_hint(text: str) -> str:
    """Say which character of a text is not the ASCII one that it looks like, as a sentence; empty where none is."""
    for character in text:
        meant = LOOK_ALIKES.get(character) or unicodedata.normalize("NFKD", character)
        if not character.isascii() and meant.isascii() and meant.isprintable() and len(meant) == 1:
            name = unicodedata.name(character)
            return f"Its '{character}' is U+{ord(character):04X} {name}: write '{meant}'."
    return ""
