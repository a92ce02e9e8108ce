"""constructs/README.md names every construct, with an import that works."""

import re

from tests.constructs_reference import DOCUMENT, documented, public_constructs

TEXT = DOCUMENT.read_text(encoding="utf-8")


def test_the_table_is_up_to_date() -> None:
    assert documented(TEXT) == TEXT, "run `make schema`"
    assert len(list(public_constructs())) > 30


def test_every_import_line_runs() -> None:
    lines = re.findall(r"\bfrom neuron_constructs\.[\w.]+ import [\w, ]+", TEXT)

    for line in lines:
        exec(line, {})
    assert len(lines) > 30


def test_props_stand_beside_their_construct() -> None:
    """As the README says."""
    for found in public_constructs():
        module = vars(__import__(found.__module__, fromlist=[found.__name__]))
        wanted = found.__init__.__annotations__.get("props")
        assert wanted is None or wanted.__name__ in module
