"""The report for people."""

from io import StringIO

from rich.console import Console

from slipway.check.preflight.answer import Answer, Status
from slipway.check.preflight.preflight import Preflight
from slipway.check.preflight.report import print_preflight

COMMAND = (
    "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-2C3B7624 --desired-value 9"
)


def answer(check: str, status: Status, fix: str | None = None) -> Answer:
    return Answer(check=check, status=status, subject="subnet [a]", message="said [bold]so[/bold]", fix=fix)


def printed(*answers: Answer, width: int = 60) -> list[str]:
    """The report's lines on a narrow screen."""
    found = Preflight(
        environment="tiny",
        region="us-west-2",
        account_id="123456789012",
        stacks=("one",),
        answers=answers,
        not_needed=("X9",),
        asked=("X2",),
    )
    console = Console(file=StringIO(), width=width)
    print_preflight(found, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def test_commands_are_whole_on_a_narrow_screen_and_said_once() -> None:
    lines = printed(answer("X1", "failed", COMMAND), answer("X2", "failed", COMMAND), answer("X3", "failed", "wait"))
    assert lines.count(f"  {COMMAND}") == 1
    assert lines[lines.index(f"  {COMMAND}") - 1] == "X1, X2:"
    assert "X3:" in lines


def test_the_worst_comes_first_and_what_is_not_known_is_said() -> None:
    lines = printed(
        answer("X1", "passed"), answer("X2", "not_checked", "again"), answer("X2", "warning", "look"), width=120
    )
    headings = [
        line.split(":")[0].split(" (")[0] for line in lines if line.startswith(("passed", "not checked", "warn"))
    ]
    assert headings == ["warning", "not checked", "passed"]
    assert "nothing to look at for: X9" in lines
    assert lines[-1].endswith("nothing was found that stops a deployment, but not everything could be checked")


def test_nothing_but_refusals_is_no_good_news() -> None:
    last = printed(answer("X1", "passed"), answer("X2", "not_checked", "again"))[-1]
    assert last.endswith("nothing that AWS would have to tell could be checked")


def test_what_all_checks_say_is_said_once() -> None:
    lines = printed(*(answer(f"X{number}", "not_checked", "again") for number in range(9)), width=120)
    assert sum("said [bold]so[/bold]" in line for line in lines) == 1
    assert any("X0, X1, X2, X3, X4, X5, X6, X7, X8" in line for line in lines)


def test_what_aws_says_is_no_markup() -> None:
    text = "\n".join(printed(answer("X1", "passed"), width=100))
    assert "subnet [a]" in text
    assert "said [bold]so[/bold]" in text
