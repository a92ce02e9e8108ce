"""Nothing that matters is cut on a narrow terminal, and no control character goes where none can be shown."""

import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from slipway.assembly.stacks import read_stacks
from slipway.check.az.evidence import offline_evidence
from slipway.check.az.table import print_evidence
from slipway.check.az.wanted import read_wanted
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.preflight import Preflight
from slipway.check.preflight.report import print_preflight
from slipway.operate.endpoint.load import report as load_report
from slipway.operate.endpoint.load.measures import Level, measure
from slipway.operate.endpoint.streaming import StreamedAnswer, Usage
from slipway.operate.roll_out.report import Report
from slipway.operate.roll_out.state import State
from slipway.operate.roll_out.tasks import Tasks
from slipway.review.cluster_update.comparison import Comparison
from slipway.review.cluster_update.report import print_comparison
from slipway.review.cost.estimate import estimate
from slipway.review.cost.table import print_cost
from slipway.review.judge.inside_parallelcluster.update_answer import Change, Stop, Update
from slipway.review.judge.report import print_report
from slipway.review.report.terminal import print_plan
from slipway.terminal import Bar, Fitted, bars, screen
from tests.assembly import PROJECT, Assembly
from tests.review.judge.test_report import EXPLANATION, VERDICTS
from tests.review.report.plans import COMPARED

WIDTHS = (40, 60, 80, 120)
CONTROL_CHARACTERS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")

FIELD = "Scheduling.SlurmQueues[trn1].Networking.PlacementGroup"
QUOTA = "Running On-Demand Trn instances"


def _judge(console: Console) -> None:
    print_report(VERDICTS, [EXPLANATION], console)


def _plan(console: Console) -> None:
    print_plan(COMPARED, console)


def _az(console: Console) -> None:
    wanted = read_wanted(PROJECT / "environments" / "default.yaml")
    print_evidence(wanted, offline_evidence(wanted), None, console)


def _preflight(console: Console) -> None:
    answer = Answer(check="QU01", status="failed", subject="L-2C3B7624", message=f"{QUOTA} is 0 of 512", fix=None)
    found = Preflight(
        environment="small",
        region="us-west-2",
        account_id="123456789012",
        stacks=("slipway-small-training",),
        answers=(answer,),
        not_needed=(),
        asked=("QU01",),
    )
    print_preflight(found, console)


def _cluster_update(console: Console) -> None:
    change = Change(
        path=FIELD,
        old="slipway-small-placement",
        new="slipway-other-placement",
        policy="QUEUE_UPDATE_STRATEGY",
        allowed=True,
        stop=(Stop.COMPUTE_FLEET,),
        by_strategy=False,
        passes_provider=False,
        reason="",
        action="",
    )
    comparison = Comparison(
        stack="slipway-small-training",
        cluster="slipway-small",
        region="us-west-2",
        update=Update((change,)),
        refusals=(),
        same=False,
        scripts_change=False,
        strategy="DRAIN",
    )
    print_comparison(comparison, console)


def _roll_out(console: Console) -> None:
    model = "tanuki-8b-dpo-v1"
    state = State("tanuki-8b-dpo-v1/2026-11-24T10-15-00Z", "tanuki-8b-dpo-v1/2026-11-20T08-00-00Z")
    stack: Any = SimpleNamespace(
        name="slipway-small-inference",
        status="UPDATE_COMPLETE",
        services={model: SimpleNamespace(service_name="tanuki", has_canary=False)},
        state=lambda _: state,
    )
    bucket: Any = SimpleNamespace(versions=lambda _: [])
    Report(stack, bucket, {}, lambda _: Tasks(2, 3)).print(model, console)


def _level() -> Level:
    answers = [
        StreamedAnswer(
            100.0, [100.5, 101.0], 101.0, "text", "stop", True, Usage(prompt_tokens=7, completion_tokens=12345)
        )
    ]
    return measure(128, 10.0, answers, [0.001])


def _load(console: Console) -> None:
    test: Any = SimpleNamespace(levels=[_level()])
    console.print(Fitted(load_report.table(test)))


def _deploy(console: Console) -> None:
    rows = [Bar("slipway-small-operations", 12, 345, Text("being created"), is_over=False)]
    console.print(bars(rows, console.width))


PRINTED: dict[str, tuple[Callable[[Console], None], tuple[str, ...]]] = {
    "judge": (_judge, ("default", "small", "7 ran", "EfaValidator", "trainium-xla-2-28-1-ubuntu2204")),
    "plan": (_plan, ("slipway-default-storage/Lustre/FileSystem", "$")),
    "az": (_az, ("usw2-az4", "usw2-az1", "trn1.32xlarge")),
    "preflight": (_preflight, ("QU01", "L-2C3B7624", QUOTA, "123456789012")),
    "cluster-update": (_cluster_update, (FIELD, "slipway-small-placement", "compute fleet", "QUEUE_UPDATE_STRATEGY")),
    "roll-out": (_roll_out, ("tanuki-8b-dpo-v1", "2026-11-24T10-15-00Z", "2026-11-20T08-00-00Z", "2 of 3 tasks")),
    "endpoint load": (_load, ("128", "24688", "0.50/0.50/0.50")),
    "deploy": (_deploy, ("slipway-small-operations", "12/345", "being created")),
}
"""What prints a table, by command, with words that must be there."""


def _printed(show: Callable[[Console], None], width: int) -> str:
    output = io.StringIO()
    show(Console(file=output, width=width))
    return output.getvalue()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", PRINTED)
def test_no_name_and_no_amount_is_cut(command: str, width: int) -> None:
    show, wanted = PRINTED[command]
    text = _printed(show, width)

    assert not CONTROL_CHARACTERS.search(text)
    assert "…" not in text
    # A word longer than the line goes on in the next one.
    joined = re.sub(r"\s", "", text)
    missing = [word for phrase in wanted for word in phrase.split() if word not in joined]
    assert not missing, text


@pytest.mark.parametrize("width", WIDTHS)
def test_every_line_of_the_costs_has_its_dollars(width: int, default: Assembly) -> None:
    cost = estimate(read_stacks(default.directory))
    text = _printed(lambda console: print_cost(cost, console, date(2026, 11, 25)), width)

    assert "…" not in text
    for amount in ("0.384", "9.22", "280", "86.000", "3.921", "94.11", "2,862", "93.392"):
        assert amount in text
    for name in ("m6i.2xlarge", "trn1.32xlarge"):
        assert name in text


def test_a_table_that_just_fits_tears_no_word() -> None:
    table = Table("name", "said")
    table.add_row("slipway-default-inference-gateway", "one two three four five six seven eight nine ten eleven twelve")

    for width in range(45, 100):
        text = _printed(lambda console: console.print(Fitted(table)), width)
        assert "slipway-default-inference-gateway" in text, width
        table.columns[0].width = table.columns[1].width = None


ON_A_TERMINAL = """
from slipway.terminal import Fitted, moves, screen
from rich.table import Table
console = screen()
table = Table("name", title="[bold]things[/]")
table.add_row("[red]slipway[/]")
console.print(Fitted(table))
print("moves" if moves(console) else "stands")
"""


def _on_a_terminal(code: str, variables: dict[str, str]) -> str:
    inherited = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR", "FORCE_COLOR")}
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as reader:
        subprocess.run(
            [sys.executable, "-c", code],
            stdout=theirs,
            cwd=PROJECT,
            env={**inherited, "TERM": "xterm-256color", **variables},
            check=True,
        )
        # What is in the buffer of the terminal: 4,095 characters at most.
        said = reader.read(10_000).decode(errors="replace").replace("\r\n", "\n")
        os.close(theirs)
    return said


@pytest.mark.parametrize(
    ("variables", "is_plain"),
    [({}, False), ({"NO_COLOR": "1"}, True), ({"TERM": "dumb"}, True)],
    ids=["terminal", "NO_COLOR", "dumb"],
)
def test_a_terminal_gets_control_characters_only_where_it_wants_them(variables: dict[str, str], is_plain: bool) -> None:
    said = _on_a_terminal(ON_A_TERMINAL, variables)
    helped = _on_a_terminal("from slipway.cli import app; app(['judge', '--help'])", variables)

    assert ("stands" in said) is is_plain
    for text in (said, helped):
        assert bool(CONTROL_CHARACTERS.search(text)) is not is_plain


def test_the_arn_of_a_secret_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    arn = "arn:aws:secretsmanager:us-west-2:123456789012:secret:key-AbCdEf"
    table = Table("arn", title=arn)
    table.add_row(arn)
    console = screen()

    console.print(arn)
    console.print(Fitted(table))

    assert capsys.readouterr().out.count(arn) == 3


def test_every_command_takes_the_one_console() -> None:
    files = [
        str(file.relative_to(PROJECT))
        for file in (PROJECT / "slipway").rglob("*.py")
        if re.search(r"\bConsole\(", file.read_text(encoding="utf-8"))
    ]

    # report_text.py writes a file.
    assert sorted(files) == ["slipway/rehearse/report_text.py", "slipway/terminal.py"]
