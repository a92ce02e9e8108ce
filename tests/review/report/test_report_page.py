"""The page as text; tests/browser opens it in a browser."""

from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slipway.assembly.stacks import read_stacks
from slipway.review.changes.model import PropertyChange
from slipway.review.plan import Plan
from slipway.review.report.architecture import Architecture, read_architecture
from slipway.review.report.page import page
from tests.assembly import Assembly
from tests.review.report.plans import COMPARED, PLAN, UNCHANGED, UNPRICED, UPDATED

LARGEST = 100_000
"""Characters that the page of the default environment stays below: it is attached to a pull request."""


@pytest.fixture(scope="module")
def architecture(default: Assembly) -> Architecture:
    return read_architecture(read_stacks(default.directory))


class Tags(HTMLParser):
    """Collects the names of all elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)


def with_value(value: str) -> Plan:
    assert COMPARED.comparison
    change = UPDATED.model_copy(
        update={
            "construct_path": f"{UPDATED.stack}/{value}",
            "notes": (value,),
            "properties": (PropertyChange(path=value, before=value, after=[value], effect="update"),),
        }
    )
    changes = COMPARED.comparison.changes.model_copy(update={"resources": (change,)})
    comparison = COMPARED.comparison.model_copy(update={"changes": changes, "base": value, "notes": (value,)})
    return COMPARED.model_copy(update={"comparison": comparison, "head": value})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(st.text(alphabet="<>&\"'/abc{}%- ", min_size=1, max_size=30))
def test_no_value_makes_an_element(architecture: Architecture, value: str) -> None:
    def elements(text: str) -> list[str]:
        return [tag for tag in Tags(page(with_value(text), architecture, architecture)).found if tag != "wbr"]

    assert elements(value) == elements("plain")


def test_what_no_screen_shows_is_written_out(architecture: Architecture) -> None:
    text = page(with_value("10\N{RIGHT-TO-LEFT OVERRIDE}0.0"), architecture, architecture).replace("<wbr>", "")

    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text
    assert r"<code>10\u202e0.0</code>" in text


@pytest.mark.parametrize("plan", [PLAN, COMPARED, UNCHANGED], ids=["alone", "compared", "unchanged"])
def test_it_is_one_small_file_without_a_script(architecture: Architecture, plan: Plan) -> None:
    text = page(plan, architecture, architecture)

    assert len(text) < LARGEST
    assert not {"script", "iframe", "object", "embed", "img"} & set(Tags(text).found)


def test_it_is_the_same_each_time(architecture: Architecture) -> None:
    assert page(COMPARED, architecture, architecture) == page(COMPARED, architecture, architecture)


def test_every_line_of_cost_is_there(architecture: Architecture) -> None:
    text = page(PLAN, architecture, None)

    assert all(line.what in text for line in PLAN.cost.lines)
    assert "2 lines bill by use" in text
    assert "15 resources cost nothing by themselves" in text


def test_nothing_is_a_sum_of_unknown_prices(architecture: Architecture) -> None:
    text = page(UNPRICED, architecture, architecture)

    assert "$" not in text.partition('<section id="architecture"')[0]
    assert "$" not in text.partition('<section id="cost"')[2]
    assert "Idle unknown, peak unknown.</p>" in text
    assert '<dt>Idle</dt><dd class="value">unknown</dd><dd class="detail">change unknown, 4 unknown prices' in text
    assert "no longer priced</td>" in text


def test_what_no_scanner_looked_at_is_not_found_to_be_good(architecture: Architecture) -> None:
    """Of an assembly that was synthesized without cdk-nag nobody knows what it would say."""
    not_run = ("cdk-nag AwsSolutions",)
    alone = PLAN.model_copy(update={"security": PLAN.security.model_copy(update={"not_run": not_run})})
    assert UNCHANGED.comparison
    delta = UNCHANGED.comparison.security.model_copy(update={"not_run": not_run})
    compared = alone.model_copy(update={"comparison": UNCHANGED.comparison.model_copy(update={"security": delta})})

    for plan in (alone, compared):
        text = page(plan, architecture, architecture).replace("<wbr>", "")
        assert "; not scanned by cdk-nag AwsSolutions" in text.partition("</title>")[0]
        assert '<a href="#unchecked">Security is not scanned by cdk-nag AwsSolutions</a>' in text
        assert "No scanner found anything" not in text
        assert "The scanners say the same" not in text
    tile = '<div class="careful"><dt>Security findings</dt>'
    assert tile in page(alone, architecture, None)
    assert tile not in page(PLAN, architecture, None)
