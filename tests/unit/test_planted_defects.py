"""docs/planted-defects.md lists every kind of mistake that tests plant."""

from tests.planted_defects import PAGE, planted, with_defects


def test_the_page_is_current() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == with_defects(text), "run: python -m tests.planted_defects"


def test_many_kinds_of_mistakes_are_planted() -> None:
    assert len(set(planted())) >= 100
