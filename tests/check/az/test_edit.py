"""What is written into an environment file: the zones, their reason, and nothing else."""

import difflib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slipway import facts
from slipway.check.az.decision import Decision
from slipway.check.az.edit import CannotWriteError, edited, write
from slipway.config import InvalidEnvironment, load_environment
from tests.check.az.account import TEXT, environment_file
from tests.config.strategies import environments

TODAY = "2026-11-22"
REASONS = (
    "usw2-az4 offers trn1n.32xlarge and m6i.2xlarge (which no other zone has all)",
    "it has cr-0123456789abcdef0",
)
DECISION = Decision("usw2-az4", ("usw2-az3", "usw2-az2"), REASONS)


def test_only_zones_and_reason_change() -> None:
    after = edited(TEXT, DECISION, "asked AWS", TODAY)
    changes = [line for line in difflib.ndiff(TEXT.splitlines(), after.splitlines()) if line[0] in "+-"]
    assert sorted(changes) == [
        "+     # slipway az: 2026-11-22, asked AWS: usw2-az4 offers trn1n.32xlarge and m6i.2xlarge (which no other "
        "zone has all);",
        "+     # slipway az: it has cr-0123456789abcdef0.",
        "+     training_availability_zone_id:  usw2-az4   # ours",
        "-     training_availability_zone_id:  usw2-az1   # ours",
    ]


def test_a_second_run_changes_nothing() -> None:
    once = edited(TEXT, DECISION, "asked AWS", TODAY)
    assert edited(once, DECISION, "asked AWS", "2027-01-01") == once


def test_another_reason_takes_the_place_of_the_first() -> None:
    once = edited(TEXT, DECISION, "asked AWS", TODAY)
    again = edited(once, Decision("usw2-az1", DECISION.others, ("why not",)), "facts of 2026-11-20", "2027-01-01")
    assert [line.strip() for line in again.splitlines() if "slipway az" in line] == [
        "# slipway az: 2027-01-01, facts of 2026-11-20: why not."
    ]
    assert "# Where the nodes are." in again


@pytest.mark.parametrize(
    ("network", "written"),
    [
        (
            "  cidr: 10.0.0.0/16\n",
            "  training_availability_zone_id: b\n  other_availability_zone_ids: [c]\n  cidr: 10.0",
        ),
        ("  other_availability_zone_ids:\n    - x # mine\n", "training_availability_zone_id: b\n  other_avail"),
        (
            "  training_availability_zone_id: a\n",
            "other_availability_zone_ids: [c]\n  training_availability_zone_id: b",
        ),
        (
            "  training_availability_zone_id: a\n  other_availability_zone_ids: []\n",
            "other_availability_zone_ids: [c]\n",
        ),
        (
            "  training_availability_zone_id:\n  other_availability_zone_ids:   # to be chosen\n",
            "  training_availability_zone_id: b\n  other_availability_zone_ids: [c]   # to be chosen\n",
        ),
    ],
)
def test_lines_that_are_missing_are_added(network: str, written: str) -> None:
    after = edited(f"network:\n{network}name: x\n", Decision("b", ("c",), ("so",)), "asked AWS", TODAY)
    assert written in after
    assert yaml.safe_load(after)["network"].items() >= {"training_availability_zone_id": "b"}.items()
    assert yaml.safe_load(after)["network"]["other_availability_zone_ids"] == ["c"]
    assert "# slipway az: 2026-11-22, asked AWS: so." in after


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\n", "no `network` section"),
        ("network:\n", "no `network` section"),
        ("network: {cidr: 10.0.0.0/16}\n", "in one line"),
        ("network:\n  other_availability_zone_ids:\n    - a\n    - b\n", r"another number.*write \[c\]"),
    ],
)
def test_what_cannot_be_written_is_told(text: str, message: str) -> None:
    with pytest.raises(CannotWriteError, match=message):
        edited(text, Decision("b", ("c",), ("so",)), "asked AWS", TODAY)


def test_an_invalid_file_is_never_left(tmp_path: Path) -> None:
    path = environment_file(tmp_path)
    with pytest.raises(InvalidEnvironment):
        write(path, TEXT.replace("usw2-az1", "usw2-az2"))
    assert path.read_text() == TEXT
    assert list(tmp_path.iterdir()) == [path]


def test_a_valid_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    path = environment_file(tmp_path)
    path.chmod(0o640)
    after = edited(TEXT, DECISION, "asked AWS", TODAY)
    write(path, after)
    assert path.read_text() == after
    assert path.stat().st_mode & 0o777 == 0o640
    assert load_environment(path).network.training_availability_zone_id == "usw2-az4"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    path = environment_file(tmp_path)
    link = tmp_path / "link.yaml"
    link.symlink_to(path.name)
    after = edited(TEXT, DECISION, "asked AWS", TODAY)
    write(link, after)
    assert link.is_symlink()
    assert path.read_text() == after


def test_a_read_only_file_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the folder's owner, replacing the file would be allowed."""
    path = environment_file(tmp_path)
    path.chmod(0o444)
    # The tests may run as root, who may write everything.
    monkeypatch.setattr("os.access", lambda file, mode: bool(Path(file).stat().st_mode & 0o222))
    with pytest.raises(PermissionError, match="is read-only"):
        write(path, edited(TEXT, DECISION, "asked AWS", TODAY))
    assert path.read_text() == TEXT


def styled(values: dict[str, Any], draw: st.DrawFn) -> str:
    """Write an environment in one of many styles: indentation, quotes, line ends, comments, blank lines, a mark."""
    text = yaml.safe_dump(
        values,
        sort_keys=draw(st.booleans()),
        indent=draw(st.integers(2, 6)),
        width=draw(st.sampled_from([60, 10_000])),
        default_style=draw(st.sampled_from([None, '"'])) if draw(st.booleans()) else None,
        default_flow_style=False,
        allow_unicode=True,
    )
    lines = []
    for line in text.splitlines():
        # Within a quoted text that goes over lines a comment would be text.
        if line.rstrip().endswith(":") and draw(st.integers(0, 3)) == 0:
            lines.append(draw(st.sampled_from(["", "# a note", "    # another: note"])))
        lines.append(line)
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return draw(st.sampled_from(["", "\ufeff"])) + newline.join(lines) + draw(st.sampled_from(["", newline]))


@st.composite
def files(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    values = draw(environments())
    return values, styled(values, draw)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(file=files(), data=st.data())
def test_whatever_the_style_only_zones_and_comment_differ(
    file: tuple[dict[str, Any], str], data: st.DataObject
) -> None:
    values, text = file
    network = values["network"]
    zones = data.draw(st.permutations(facts.region(values["region"]).availability_zone_ids))
    others = tuple(zones[1 : 1 + len(network["other_availability_zone_ids"])])
    decision = Decision(zones[0], others, ("because: it # says so",))
    after = edited(text, decision, "asked AWS", TODAY)

    network |= {"training_availability_zone_id": zones[0], "other_availability_zone_ids": list(others)}
    assert yaml.safe_load(after.removeprefix("\ufeff")) == yaml.safe_load(yaml.safe_dump(values))
    kept = [line for line in after.splitlines(keepends=True) if "# slipway az: " not in line]
    before = text.splitlines(keepends=True)
    assert len(kept) == len(before)
    changed = [old for old, new in zip(before, kept, strict=True) if old != new]
    assert len(changed) <= 1 + len(others)
    assert all("-az" in line for line in changed)
    assert edited(after, decision, "asked AWS", "2027-01-01") == after
