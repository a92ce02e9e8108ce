"""What `slipway prove` refuses before it changes anything, and what it writes."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from slipway.cli import app
from slipway.prove import run
from slipway.prove.evidence import Evidence
from slipway.review.cost.estimate import estimate
from tests.assembly import Assembly, load


@pytest.fixture(autouse=True)
def small(small: Assembly, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment `small` is synthesized, and not deployed."""
    monkeypatch.setattr(run, "chosen_assembly", lambda *_: small.directory)
    monkeypatch.setattr(run, "PROJECT", tmp_path)
    monkeypatch.setattr(run.Proof, "run", _no_proof)
    environment(monkeypatch)


def _no_proof(_: Any) -> Evidence:
    raise AssertionError("it must be refused")


def environment(monkeypatch: pytest.MonkeyPatch, **values: Any) -> None:
    found = {
        "name": "small",
        "choice": "small",
        "settings": load("small"),
        "stacks": {},
        "account": SimpleNamespace(id="123456789012", region="us-west-2"),
        **values,
    }
    monkeypatch.setattr(run, "find_environment", lambda _: SimpleNamespace(**found))


def prove(*options: str, answer: str = "") -> Result:
    return CliRunner().invoke(app, ["prove", "-e", "small", *options], input=answer)


@pytest.mark.parametrize("amount", ["", "0", "-5", "x", "nan"])
def test_a_ceiling_is_required(amount: str) -> None:
    assert prove("--ceiling", amount, "--yes").exit_code == 2
    assert prove("--yes").exit_code == 2


@pytest.mark.parametrize("amount", ["0.05", "inf"])
def test_a_ceiling_that_is_too_low_is_refused_with_the_lowest_one(amount: str) -> None:
    done = prove("--ceiling", amount, "--yes")

    assert done.exit_code == 2
    assert "is too low or no amount" in done.stderr
    assert "Nothing was changed" in done.stderr


def test_a_deployed_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, stacks={"slipway-small-network": object()})

    done = prove("--ceiling", "50", "--yes")

    assert done.exit_code == 2
    assert "small is deployed in account 123456789012" in done.stderr


def test_an_environment_that_keeps_its_data_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, settings=load("default").model_copy(update={"lifecycle": "persistent"}))

    done = prove("--ceiling", "50", "--yes")

    assert done.exit_code == 2
    assert "a proof deletes everything" in done.stderr


def test_a_price_that_is_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_price(stacks: Any) -> Any:
        found = estimate(stacks)
        line = found.lines[0].model_copy(update={"billing": "unknown", "what": "a new machine"})
        return found.model_copy(update={"lines": (line, *found.lines[1:])})

    monkeypatch.setattr(run, "cost_of", without_price)

    done = prove("--ceiling", "50", "--yes")

    assert done.exit_code == 2
    assert "the price of a new machine in us-west-2 is not known" in done.stderr


def test_it_says_what_it_will_do_and_asks() -> None:
    done = prove("--ceiling", "50", answer="n\n")

    assert done.exit_code == 2
    assert "account 123456789012, us-west-2" in done.stderr
    assert "tiny training: slipway job -e small -- submit tiny-llama" in done.stderr
    assert "not confirmed. Nothing was changed" in done.stderr


@pytest.mark.parametrize(("is_deleted", "code"), [(True, 0), (False, 1)])
def test_the_evidence_is_a_dated_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_deleted: bool, code: int
) -> None:
    evidence = Evidence.model_validate(
        {
            "environment": "small",
            "region": "us-west-2",
            "slipway": "1.0.0",
            "started": "2026-11-28T10:00:00Z",
            "ended": "2026-11-28T11:00:00Z",
            "ceiling_usd": 50,
            "spent_usd": 3.2,
            "tried": [{"probe": "account", "proves": ["Capacity"], "outcome": "passed", "seconds": 30, "exit_code": 0}],
            "is_deleted": is_deleted,
        }
    )
    monkeypatch.setattr(run.Proof, "run", lambda _: evidence)

    done = prove("--ceiling", "50", "--yes", "--json")

    assert done.exit_code == code
    assert json.loads(done.stdout)["is_deleted"] is is_deleted
    written = (tmp_path / "evidence" / "2026-11-28-small.json").read_text(encoding="utf-8")
    assert Evidence.model_validate_json(written) == evidence
