"""The table of characters that look like ASCII ones, beside ruff's, which has it from Unicode's confusables.txt."""

import json
import re
import subprocess
import sys

from slipway.config.look_alikes import LOOK_ALIKES, look_alike_hint

GREEK_AND_CYRILLIC = range(0x370, 0x530)
DASHES = (0x2010, 0x2011, 0x2012, 0x2013, 0x2212)


def letters_that_ruff_finds() -> dict[str, str]:
    """Ask ruff about every character of two scripts, and about dashes, each inside a text of its own line."""
    characters = [chr(code) for code in (*GREEK_AND_CYRILLIC, *DASHES)]
    text = "".join(f'x = "aa{character}aa"\n' for character in characters)
    command = ["ruff", "check", "--isolated", "--select", "RUF001", "--output-format", "json", "-"]
    answer = subprocess.run(
        [sys.executable, "-m", *command], input=text, capture_output=True, text=True, timeout=60, check=False
    )
    found = {}
    for message in json.loads(answer.stdout):
        meant = re.search(r"Did you mean `(.)` \(", message["message"])
        assert meant
        found[characters[message["location"]["row"] - 1]] = meant[1]
    return found


def test_the_table_is_ruffs() -> None:
    theirs = {
        look_alike: meant for look_alike, meant in letters_that_ruff_finds().items() if meant.isalpha() or meant == "-"
    }
    assert theirs == LOOK_ALIKES


def test_the_first_look_alike_is_named_with_what_to_write() -> None:
    assert look_alike_hint("r\u0435gi\u043en") == "Its '\u0435' is U+0435 CYRILLIC SMALL LETTER IE: write 'e'."
    assert look_alike_hint("\uff41b") == "Its '\uff41' is U+FF41 FULLWIDTH LATIN SMALL LETTER A: write 'a'."
    assert look_alike_hint("r\u00e9gion") == ""
    assert look_alike_hint("region") == ""
