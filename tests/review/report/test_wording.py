"""How values of templates are shown."""

from slipway.review.report.wording import values

BODY = '{"widgets": [' + '{"type": "metric", "height": 6}, ' * 100


def test_short_values_are_shown_whole() -> None:
    assert values(None, {"b": 1, "a": "é"}, 100) == ("nothing", '{"a": "é", "b": 1}')


def test_the_difference_of_two_long_values_is_in_what_is_shown() -> None:
    before, after = values(f"{BODY}8]}}", f"{BODY}12]}}", 120)

    assert before.endswith('"height": 6}, 8]}')
    assert after.endswith('"height": 6}, 12]}')
    assert before.startswith("...")


def test_what_is_left_out_behind_is_counted() -> None:
    before, after = values(f"a{BODY}", f"b{BODY}", 40)

    assert before == f"a{BODY[:39]}... ({len(BODY) + 1:,} characters)"
    assert after.startswith("b{")
    assert values("short", "s" * 60, 40)[0] == "short"
