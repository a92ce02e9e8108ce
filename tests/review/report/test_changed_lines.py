"""What each changed line causes stands right after the verdict, in every rendering."""

import pytest
from rich.console import Console

from slipway.assembly.stacks import read_stacks
from slipway.review.changes.model import Changes, ResourceChange, WiderAccess
from slipway.review.plan import ChangedLine, ChangedLines, Consequences, Plan
from slipway.review.report.architecture import read_architecture
from slipway.review.report.changed_lines import introduction, told
from slipway.review.report.markdown import markdown
from slipway.review.report.page import page
from slipway.review.report.terminal import print_plan
from tests.assembly import Assembly
from tests.review.report.plans import ADDED, BROADENING, COMPARED, FOLLOWERS, REFUSED, REPLACED, UPDATED


def caused(*resources: ResourceChange, wider: tuple[WiderAccess, ...] = (), **fields: object) -> Consequences:
    free = {"idle_usd_per_hour": 0.0, "peak_usd_per_hour": 0.0}
    changes = Changes(resources=resources, broadenings=wider)
    return Consequences.model_validate({**free, "changes": changes, **fields})


LINES = ChangedLines(
    file="environments/default.yaml",
    lines=(
        ChangedLine(
            path="storage.lustre.deployment",
            line=12,
            before="persistent",
            after="scratch",
            causes=caused(REPLACED, *FOLLOWERS, idle_usd_per_hour=-0.5, peak_usd_per_hour=-0.5, deploy_seconds=780),
        ),
        ChangedLine(
            path="training.queues[trn1].max_count",
            line=30,
            before=2,
            after=4,
            causes=caused(UPDATED, peak_usd_per_hour=43.0, cluster_update="cannot_update"),
        ),
        ChangedLine(path="region", line=5, before="a", after="b", not_alone="region cannot change alone: bad."),
        ChangedLine(path="owner", line=40, before=None, after=True, causes=caused()),
    ),
    other_files=caused(ADDED, idle_usd_per_hour=None, peak_usd_per_hour=None),
    together=caused(wider=(BROADENING,)),
)


def with_lines(plan: Plan, lines: ChangedLines) -> Plan:
    assert plan.comparison
    return plan.model_copy(update={"comparison": plan.comparison.model_copy(update={"lines": lines})})


PLANNED = with_lines(REFUSED, LINES)


def test_each_line_says_what_fails_first_and_what_else_it_causes() -> None:
    assert [(one.place, one.name, one.before, one.after, one.bad, one.effects) for one in told(PLANNED)] == [
        (
            "12",
            "storage.lustre.deployment",
            "persistent",
            "scratch",
            ("Lustre/FileSystem is replaced and loses data; 2 that follow it: 2 replaced",),
            ("idle and peak -$0.50 an hour, -$365 a month", "deploys in 13 min"),
        ),
        (
            "30",
            "training.queues[trn1].max_count",
            "2",
            "4",
            ("The cluster's update would be refused",),
            ("changed: Cluster", "peak +$43.00 an hour, +$31,390 a month"),
        ),
        ("5", "region", "a", "b", (), ("region cannot change alone: bad",)),
        ("40", "owner", "nothing", "true", (), ("Changes nothing that is deployed",)),
        (
            "",
            "Other changed files",
            "",
            "",
            (),
            ("added: Models/Tanuki8b/Service/Service/Service", "idle and peak: the change has no known price"),
        ),
        ("", "Only together", "", "", (), ("becomes public: Ingress tcp 443 from 0.0.0.0/0",)),
    ]


def test_they_stand_between_the_verdict_and_all_else(default: Assembly) -> None:
    architecture = read_architecture(read_stacks(default.directory))
    console = Console(width=200, color_system=None)
    with console.capture() as capture:
        print_plan(PLANNED, console)
    body = page(PLANNED, architecture, architecture).partition("<body>")[2].replace("<wbr>", "")

    for text, cost in ((markdown(PLANNED), "| Cost |"), (capture.get(), "Cost in"), (body, 'class="tiles"')):
        places = [text.index(part) for part in ("This will fail", "storage.lustre.deployment", "Only together", cost)]
        assert places == sorted(places)


def test_lines_that_are_not_told_apart_say_why() -> None:
    few = LINES.model_copy(update={"lines": LINES.lines[2:3], "not_told_apart": "9 keys differ: at most 8."})

    assert introduction(with_lines(COMPARED, few)) == "9 keys differ: at most 8."


@pytest.mark.parametrize("plan", [COMPARED, REFUSED], ids=["compared", "refused"])
def test_two_assemblies_have_none(plan: Plan) -> None:
    assert told(plan) == ()
    assert "Changed lines" not in markdown(plan)
