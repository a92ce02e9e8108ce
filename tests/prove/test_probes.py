"""Every line that is not proven has a probe, and every probe is a command that Slipway has."""

import re

import pytest

import slipway.cli
from slipway.prove.probes import Probe, probes
from tests.assembly import PROJECT, load
from tests.documented_commands import Command
from tests.unit.test_documented_commands import parse

PAGE = (PROJECT / "docs" / "proven.md").read_text(encoding="utf-8")


def not_proven() -> list[str]:
    """The first column of the table "Not proven"."""
    table = PAGE.split("## Not proven")[1]
    return [row.split("|")[1].strip() for row in re.findall(r"^\|.*$", table, re.MULTILINE)[2:]]


def test_every_line_that_is_not_proven_has_a_probe() -> None:
    tried = [line for probe in probes().probes for line in probe.proves]
    by_hand = [row.proves for row in probes().by_hand]

    assert sorted(not_proven()) == sorted(dict.fromkeys([*tried, *by_hand]))


@pytest.mark.parametrize("probe", probes().probes, ids=lambda probe: probe.id)
def test_a_probe_is_a_command_of_slipways(probe: Probe) -> None:
    for words in probe.commands("small"):
        assert "{" not in " ".join(words)
        parse(slipway.cli.app, Command(PROJECT / "probes.yaml", ("slipway", *words), whole=True))


def test_small_tries_everything_but_an_isolated_network() -> None:
    left_out = [probe.id for probe in probes().probes if not probe.is_for(load("small"))]

    assert left_out == ["isolated network"]
    assert [probe.id for probe in probes().probes if not probe.is_for(load("isolated"))] != left_out
