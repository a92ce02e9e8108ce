"""The pull request's comment: what it says, that no value breaks out of it, and that it is never too long."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from slipway.review.changes.model import PropertyChange, WiderAccess
from slipway.review.plan import Comparison, Plan
from slipway.review.report.headline import title
from slipway.review.report.markdown import LONGEST, markdown
from slipway.review.report.markdown_text import code, in_html, prose
from tests.review.report.plans import (
    ACKNOWLEDGEMENT,
    ADDED,
    BROADENING,
    CHANGES,
    COMPARED,
    FINDING,
    PLAN,
    REFUSED,
    REPLACED,
    STORAGE,
    TRAINING,
    UNCHANGED,
    UNPRICED,
    UNPROTECTED,
    UPDATED,
)

OUR_HTML = re.compile(r"<!-- slipway-plan:[\w.-]* -->|<details><summary>[^<]*</summary>|</details>")
HOSTILE = st.text(alphabet="`|<>*_[]()#&@!\\~$-=+ \n\r\tabc1.:/\"'{}", max_size=60)
MARKDOWN = MarkdownIt("gfm-like", {"linkify": False})


def compared(**changes: object) -> Plan:
    """The comparison with other changes."""
    assert COMPARED.comparison
    comparison: Comparison = COMPARED.comparison.model_copy(update={"changes": CHANGES.model_copy(update=changes)})
    return COMPARED.model_copy(update={"comparison": comparison})


def tokens(text: str) -> list[Token]:
    found: list[Token] = []
    for token in MARKDOWN.parse(text):
        found += [token, *(token.children or ())]
    return found


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def test_it_begins_with_the_marker_and_says_all_in_the_title() -> None:
    first, heading, *_ = markdown(COMPARED).splitlines()

    assert first == "<!-- slipway-plan:default -->"
    assert heading == "### Plan of default: 1 resource loses data; 3 replaced; 1 broadening"
    assert (
        "\n1 resource loses data; 3 replaced; 1 broadening; "
        "the cluster's update needs stopped nodes; 1 new security finding; "
        r"6 resources touched; new files in 1 resource; peak +\$43.00/h; deploys in 44 min."
    ) in markdown(COMPARED)


def test_the_most_alarming_change_comes_first_and_takes_its_followers_along() -> None:
    text = markdown(COMPARED)

    sections = re.findall(r"<summary>(.*?)</summary>", text)
    assert [section for section in sections if section.startswith("slipway-")] == [
        "slipway-default-storage: 3 replaced",
        "slipway-default-network: 1 deleted",
        "slipway-default-training: 1 changed",
        "slipway-default-inference: 1 added",
    ]
    assert "  - and 2 that follow it: 2 replaced: `Lustre/CheckpointRepository`, `Lustre/DataRepository`" in text
    assert "  - `LustreConfiguration.DeploymentType`: `PERSISTENT_2` → `SCRATCH_2` (replaced)" in text


def test_without_a_comparison_it_tells_cost_time_and_security() -> None:
    text = markdown(PLAN)

    assert "### Plan of default: idle at least \\$1.81/h, peak at least \\$87.81/h\n" in text
    assert "; first deployment 45 min; 0 security findings" in text
    assert "change an hour" not in text
    assert "Deploy time: 45 min" in text


def test_nothing_that_changes_makes_no_noise() -> None:
    text = markdown(UNCHANGED)

    assert "nothing changes" in text
    assert "<summary>slipway-default" not in text
    assert "Broader access" not in text


def test_a_new_finding_is_said_also_where_nothing_changes() -> None:
    assert UNCHANGED.comparison
    delta = UNCHANGED.comparison.security.model_copy(update={"new": (FINDING,)})
    plan = UNCHANGED.model_copy(update={"comparison": UNCHANGED.comparison.model_copy(update={"security": delta})})

    assert "### Plan of default: 1 new security finding; nothing changes\n" in markdown(plan)


@pytest.mark.parametrize("environment", ["default", "a" * 64, "a" * 200])
@pytest.mark.parametrize("plan", [PLAN, COMPARED, REFUSED, UNCHANGED])
def test_a_title_has_at_most_80_characters(plan: Plan, environment: str) -> None:
    said = title(plan.model_copy(update={"environment": environment}))

    assert said.startswith("Plan of ")
    assert len(said) <= 80
    assert not said.endswith((";", ":"))


def test_files_that_are_uploaded_anew_are_no_change_of_nothing() -> None:
    text = markdown(compared(resources=(), broadenings=()))

    assert "; new files in 1 resource; " in text
    assert "0 resources" not in text


def test_it_is_the_same_whatever_the_order_of_the_changes() -> None:
    other = compared(resources=tuple(reversed(CHANGES.resources)))

    assert markdown(other) == markdown(COMPARED)


def test_less_protection_is_no_access() -> None:
    text = markdown(compared(broadenings=(UNPROTECTED, BROADENING)))

    assert "; 1 broadening; 1 weaker protection; " in text
    assert "- Data is easier to lose: Backups are kept for 0 days instead of 7" in text
    assert "<summary>Broader access or less protection: 2</summary>" in text
    assert text.index("- **Becomes public**: Ingress") < text.index("- **Data is easier to lose**: Backups")


def test_one_difference_is_no_differences() -> None:
    assert COMPARED.comparison
    delta = COMPARED.comparison.security.model_copy(update={"new": (FINDING,), "gone_acknowledgements": ()})
    one = COMPARED.model_copy(update={"comparison": COMPARED.comparison.model_copy(update={"security": delta})})

    assert "<summary>Security: 1 difference</summary>" in markdown(one)
    assert "<summary>Security: 2 differences</summary>" in markdown(COMPARED)


def test_nothing_is_a_sum_of_unknown_prices() -> None:
    text = markdown(UNPRICED)

    assert "$" not in text
    assert "| idle | unknown | unknown | unknown | unknown |" in text
    assert "price not known (no longer priced)" in text


@given(HOSTILE)
def test_a_code_span_holds_exactly_its_value(value: str) -> None:
    spans = [token.content for token in tokens(f"- {code(value)} end") if token.type == "code_inline"]

    assert [in_one_line(span) for span in spans] == [in_one_line(value) or '""']


@given(HOSTILE)
def test_prose_is_text_and_nothing_else(value: str) -> None:
    found = tokens(f"- said: {prose(value)}")

    assert {token.type for token in found} <= {
        *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"),
        *("paragraph_open", "paragraph_close", "inline", "text", "text_special"),
    }
    shown = "".join(token.content for token in found if token.type in {"text", "text_special"})
    assert shown.replace("\N{WORD JOINER}", "") == f"said: {in_one_line(value)}".rstrip()


def test_nobody_and_no_issue_is_mentioned() -> None:
    """GitHub would write "mentioned this" into an issue that a reason names, for each plan again."""
    joiner = "\N{WORD JOINER}"

    assert prose("see @octocat in aws/aws-cdk#12") == rf"see @{joiner}octocat in aws/aws-cdk\#{joiner}12"
    assert in_html("@octocat's #12") == f"@{joiner}octocat&#x27;s #{joiner}12"


def test_what_no_screen_shows_is_written_out() -> None:
    """GitHub, too, turns the direction of text that asks for it: a reviewer would read another address."""
    assert code("10\N{RIGHT-TO-LEFT OVERRIDE}0.0") == r"`10\u202e0.0`"
    assert prose("a\0b\ud800") == r"a\\x00b\\ud800"


@given(HOSTILE)
def test_the_inside_of_an_element_has_no_element(value: str) -> None:
    assert not set("<>\n") & set(in_html(value))


@given(path=HOSTILE, before=HOSTILE, note=HOSTILE, what=HOSTILE, environment=HOSTILE)
def test_no_value_of_a_plan_makes_html(path: str, before: str, note: str, what: str, environment: str) -> None:
    change = UPDATED.model_copy(
        update={
            "notes": (note,),
            "construct_path": path,
            "properties": (PropertyChange(path=path, before=before, after={"key": before}, effect="update"),),
        }
    )
    broadening = WiderAccess(stack=what, resource=path, kind="iam", harm="permissions", what=what)
    plan = compared(resources=(REPLACED, change), broadenings=(broadening,)).model_copy(
        update={"environment": environment}
    )

    html = [token.content for token in tokens(markdown(plan)) if token.type in {"html_block", "html_inline"}]

    assert all(not OUR_HTML.sub("", piece).strip() for piece in html)


def test_a_plan_that_is_too_long_is_shortened_and_says_what_is_missing() -> None:
    many = tuple(
        UPDATED.model_copy(update={"logical_id": f"Resource{number}", "construct_path": f"stack/Resource{number}"})
        for number in range(2_000)
    )
    plan = compared(resources=(REPLACED, *many))

    text = markdown(plan)

    assert len(text) <= LONGEST
    shortened = re.search(r"\*\*Shortened\*\* to fit into a comment\. Left out: (.*)\.", text)
    assert shortened
    missing = re.search(r"([\d,]+) changes in slipway-default-training", shortened[1])
    assert missing
    assert int(missing[1].replace(",", "")) + text.count("- **changed**") == 2_000
    assert "Lustre/FileSystem" in text
    assert len(text) > LONGEST - 500, "it keeps as much as fits"


def test_what_is_lost_or_replaced_is_kept_longest() -> None:
    """The stack with the worst news is not shortened before others that only grow."""
    lost = tuple(
        REPLACED.model_copy(update={"logical_id": f"Lost{number}", "construct_path": f"{STORAGE}/Lost{number}"})
        for number in range(60)
    )
    added = tuple(
        ADDED.model_copy(
            update={"stack": stack, "logical_id": f"New{number}", "construct_path": f"{stack}/New{number}{'n' * 90}"}
        )
        for stack in (STORAGE, TRAINING)
        for number in range(600)
    )

    text = markdown(compared(resources=(*lost, *added)))

    assert text.count("- **replaced**, **loses data**") == 60
    assert re.search(r"Left out: .*changes in slipway-default-storage, \d+ changes in slipway-default-training", text)


def test_even_long_sentences_by_the_thousand_fit() -> None:
    reason = ACKNOWLEDGEMENT.model_copy(update={"reason": "long " * 10_000})
    assert COMPARED.comparison
    delta = COMPARED.comparison.security.model_copy(update={"new_acknowledgements": (reason,) * 1_000})
    comparison = COMPARED.comparison.model_copy(update={"security": delta, "notes": ("note " * 10_000,) * 3})

    assert len(markdown(COMPARED.model_copy(update={"comparison": comparison}))) <= LONGEST
