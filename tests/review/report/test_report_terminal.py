"""What the terminal says, in which order."""

from rich.console import Console

from slipway.review.plan import Plan
from slipway.review.report.terminal import print_plan
from tests.review.report.plans import BROADENING, CHANGES, COMPARED, PLAN, UNCHANGED, UNPRICED, UPDATED


def printed(plan: Plan, width: int = 100) -> str:
    console = Console(width=width, record=True, quiet=False, file=None, color_system=None)
    with console.capture() as capture:
        print_plan(plan, console)
    return capture.get()


def test_the_most_alarming_comes_first() -> None:
    text = printed(COMPARED)

    order = [
        "1 resource loses data",
        "replaced, LOSES DATA  slipway-default-storage/Lustre/FileSystem",
        "and 2 that follow it",
        "deleted  slipway-default-network",
        "changed  slipway-default-training/Cluster",
        "added  slipway-default-inference",
        "Broader access or less protection",
        "Becomes public:",
        "The cluster's update needs stopped nodes.",
        "New security findings",
        "Cost in us-west-2, list prices of 2026-01-19 or later",
        "Deploys in 44 min",
        "Not checked",
    ]
    places = [text.index(piece) for piece in order]
    assert places == sorted(places)


def test_followers_are_folded() -> None:
    assert "DataRepository" not in printed(COMPARED).split("Security")[0].split("Deploys")[0]


def test_assets_are_one_line() -> None:
    assert "Only uploaded files change in 1 resource: NodeScriptsDeployment" in printed(COMPARED)


def test_the_cost_has_its_periods_its_change_and_what_has_no_price() -> None:
    lines = [line.replace("at least", "").split() for line in printed(COMPARED).splitlines()]

    assert ["peak", "$87.81", "$2,107", "$64,101", "+$43.00"] in lines
    assert ["idle", "$1.81", "$43.44", "$1,321", "no", "change"] in lines
    assert printed(COMPARED).count("at least") == 2 * 3
    assert "price not known: inference hosts, inf2.48xlarge in slipway-default-inference" in printed(COMPARED)


def test_without_a_comparison_it_tells_cost_time_and_security() -> None:
    text = printed(PLAN)

    assert "idle at least $1.81/h, peak at least $87.81/h; first deployment 45 min; 0 security findings." in text
    assert "waits most for Custom::PclusterCluster in slipway-default-training: 20 min" in text
    assert "Changes" not in text


def test_nothing_that_changes_is_said_so() -> None:
    text = printed(UNCHANGED)

    assert "Nothing changes." in text
    assert "The cluster does not change." in text
    assert "Deploys in no time" in text


def test_markup_in_values_is_text() -> None:
    plan = COMPARED.model_copy(update={"head": "[bold]branch[/bold]"})

    assert "[bold]branch[/bold]" in printed(plan)


def test_no_value_moves_the_cursor_or_begins_a_line() -> None:
    """A line that begins with two colons is a command to the runner of GitHub Actions."""
    hostile = "a\n::stop-commands::x\x1b[2J\N{RIGHT-TO-LEFT OVERRIDE}b"
    assert COMPARED.comparison
    broadening = BROADENING.model_copy(update={"what": hostile})
    change = UPDATED.model_copy(update={"type": hostile, "construct_path": hostile, "notes": (hostile,)})
    changes = CHANGES.model_copy(update={"resources": (change,), "broadenings": (broadening,)})
    comparison = COMPARED.comparison.model_copy(update={"changes": changes, "notes": (hostile,)})

    text = printed(COMPARED.model_copy(update={"head": hostile, "comparison": comparison}))

    assert text.count(r"a ::stop-commands::x\x1b[2J\u202eb") == 6
    assert text.replace("\n", "").isprintable()


def test_an_amount_is_never_cut() -> None:
    lines = tuple(
        line.model_copy(update={"peak_usd_per_hour": 9_876_543.21}) if line.billing == "priced" else line
        for line in COMPARED.cost.lines
    )
    plan = COMPARED.model_copy(update={"cost": COMPARED.cost.model_copy(update={"lines": lines})})

    assert printed(plan, width=40) == printed(plan, width=200)


def test_nothing_is_a_sum_of_unknown_prices() -> None:
    text = printed(UNPRICED)

    assert "$" not in text
    assert "idle change unknown, peak change unknown" in text
    assert "no longer priced: queue trn1, trn1.32xlarge in slipway-default-training" in text
