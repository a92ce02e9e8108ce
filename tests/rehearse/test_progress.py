import re
from io import StringIO

import pytest
from rich.console import Console
from rich.text import Text

from slipway.rehearse import progress
from slipway.rehearse.progress import Progress
from slipway.terminal import Bar


@pytest.fixture(autouse=True)
def no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("CI", "NO_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def console(*, terminal: bool) -> Console:
    return Console(file=StringIO(), force_terminal=terminal, width=200, color_system=None)


def shown(target: Console) -> str:
    assert isinstance(target.file, StringIO)
    return target.file.getvalue()


def test_on_a_terminal_one_line_moves() -> None:
    target = console(terminal=True)
    display = Progress(target)
    with display.phase("cdk deploy --all"):
        display.tick("3 resource actions, last: create network/Vpc[0]")
    assert "running" in shown(target)
    assert "last: create network/Vpc[0]" in shown(target)


@pytest.mark.parametrize(
    ("terminal", "variables"),
    [(False, {}), (True, {"CI": "true"}), (True, {"NO_COLOR": "1"}), (True, {"TERM": "dumb"})],
)
def test_elsewhere_plain_lines_tell_that_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, variables: dict[str, str]
) -> None:
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    target = console(terminal=terminal)
    display = Progress(target)
    with display.phase("cdk deploy --all"):
        display.tick("3 resource actions")
    assert shown(target) == "cdk deploy --all ...\n  0 s  3 resource actions\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_is_shown_while_no_phase_runs(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    """The time would be that since the machine started, or since the last phase began."""
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    target = console(terminal=terminal)
    display = Progress(target)
    display.tick("too early")
    assert shown(target) == ""
    with pytest.raises(ValueError, match="failed"), display.phase("cdk deploy --all"):
        raise ValueError("failed")
    before = shown(target)
    display.tick("too late")
    assert shown(target) == before


def test_a_bar_for_each_stack_shows_how_far_it_is() -> None:
    target = console(terminal=True)
    display = Progress(target)
    with display.phase("cdk deploy --all"):
        display.tick("", [Bar("slipway-small-network", 3, 41, Text("works"), is_over=False)])
    assert re.search("slipway-small-network +━.* 3/41 +works", shown(target))


def test_a_line_stays_for_each_phase_with_its_reason() -> None:
    target = console(terminal=False)
    Progress(target).finished("failed", "cdk deploy --all", 12.34, "it ended\nSubnet: [bold] no")
    first, second = shown(target).splitlines()
    assert first.startswith("failed   cdk deploy --all")
    assert first.endswith("12.3 s  it ended")
    assert second.strip() == "Subnet: [bold] no"
