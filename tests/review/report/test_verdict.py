"""The verdict: what fails or loses data stands first in every rendering, with what to do instead."""

import pytest
from rich.console import Console

from slipway.assembly.stacks import read_stacks
from slipway.review.plan import Plan
from slipway.review.report.architecture import read_architecture
from slipway.review.report.headline import figures, look_first, summary
from slipway.review.report.markdown import markdown
from slipway.review.report.page import page
from slipway.review.report.terminal import print_plan
from slipway.review.report.verdict import harms
from tests.assembly import Assembly
from tests.review.report.plans import CHANGES, COMPARED, PLAN, REFUSED, REPLACED, UNCHANGED

FAILS = "The deployment fails: ParallelCluster refuses the update of the cluster"
LOSES = "Lustre/FileSystem is replaced and loses data"


def printed(plan: Plan) -> str:
    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        print_plan(plan, console)
    return capture.get()


def test_what_fails_comes_before_what_loses_data() -> None:
    assert [harm.what.partition(";")[0] for harm in harms(REFUSED)] == [FAILS, LOSES]
    assert all(harm.instead.endswith(".") for harm in harms(REFUSED))
    assert harms(COMPARED)[0].what == "The deployment fails while nodes of the cluster run"


@pytest.mark.parametrize("plan", [PLAN, UNCHANGED], ids=["alone", "unchanged"])
def test_what_harms_nothing_has_no_verdict(plan: Plan, default: Assembly) -> None:
    architecture = read_architecture(read_stacks(default.directory))

    assert harms(plan) == ()
    for text in (markdown(plan), printed(plan), page(plan, architecture, architecture)):
        assert "This will fail or lose data" not in text


def test_the_verdict_stands_before_cost_and_changes(default: Assembly) -> None:
    architecture = read_architecture(read_stacks(default.directory))
    comment, terminal, html = markdown(REFUSED), printed(REFUSED), page(REFUSED, architecture, architecture)

    assert comment.index("[!CAUTION]") < comment.index(FAILS) < comment.index("| Cost |")
    assert terminal.index(FAILS) < terminal.index(LOSES) < terminal.index("peak")
    body = html.partition("<body>")[2].replace("<wbr>", "")
    assert body.index(FAILS) < body.index(LOSES) < body.index('class="tiles"')
    assert "Revert the change, rebuild the cluster" in body.partition('class="tiles"')[0]


def test_a_refused_deployment_is_promised_no_minutes() -> None:
    (tile,) = [figure for figure in figures(REFUSED) if figure.name == "This deployment"]

    assert (tile.value, tile.tone) == ("fails", "bad")
    assert summary(REFUSED).startswith("the cluster's update would be refused; ")
    assert "deploys in" not in summary(REFUSED)
    assert "Deploys in" not in printed(REFUSED)
    assert "Deploy time: " not in markdown(REFUSED)
    assert "deploys in 44 min" in summary(COMPARED)


def test_nothing_is_said_twice() -> None:
    assert not {harm.section for harm in harms(COMPARED)} & {where for _, where in look_first(COMPARED)}


def test_many_losses_are_counted() -> None:
    many = tuple(
        REPLACED.model_copy(update={"logical_id": f"File{n}", "construct_path": f"s/File{n}"}) for n in range(9)
    )
    assert COMPARED.comparison
    changes = CHANGES.model_copy(update={"resources": many})
    comparison = COMPARED.comparison.model_copy(update={"changes": changes, "cluster_update": None})

    found = harms(COMPARED.model_copy(update={"comparison": comparison}))

    assert len(found) == 9
    assert found[-1].what == "1 more resource loses data"
