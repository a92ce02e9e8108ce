"""Rows are strict, immutable and read once; a mistake in a data file never passes as a fact."""

import re
import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from slipway import facts
from slipway.facts import rows

from .conftest import SpoiledFacts


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("vcpus: 8\n", 'vcpus: "8"\n', "valid integer"),
        ("vcpus: 8\n", "vcpus: 0\n", "greater than or equal to 1"),
        ("vcpus: 8\n", "vcpus: 8\n        wheels: 4\n", "Extra inputs are not permitted"),
        ("        vcpus: 8\n", "", "Field required"),
        ("usage_classes: [on-demand, spot]", "usage_classes: [on-demand, lease]", "'capacity-block'"),
        ('source: "EC2', 'source: "" # "EC2', "at least 1 character"),
        ("as_of: 2026-11-20", 'as_of: "2026-11-20"', "valid date"),
    ],
)
def test_a_wrong_row_is_refused(spoiled_facts: SpoiledFacts, old: str, new: str, message: str) -> None:
    spoiled_facts.replace("instance_types.yaml", old, new)
    with pytest.raises(ValidationError, match=re.escape(message)):
        facts.instance_types()


def test_a_version_that_yaml_takes_for_a_number_is_refused(spoiled_facts: SpoiledFacts) -> None:
    spoiled_facts.replace("operating_systems.yaml", '"3.10"', "3.10")
    with pytest.raises(ValidationError, match="valid string"):
        facts.operating_systems()


def test_a_missing_price_needs_a_note(spoiled_facts: SpoiledFacts) -> None:
    spoiled_facts.replace(
        "prices.yaml", "        note: no on-demand price is published; sold in Capacity Blocks", "        #"
    )
    with pytest.raises(ValidationError, match=r"trn2\.48xlarge in us-east-2 has neither a price nor a note"):
        facts.prices()


def test_a_row_may_have_a_source_of_its_own() -> None:
    assert facts.quota("load_balancers").source != facts.quota("vpcs").source
    assert facts.quota("load_balancers").as_of == facts.quota("vpcs").as_of


def test_rows_and_tables_cannot_be_changed() -> None:
    stack = facts.training_stack("xla-2.28.1")
    with pytest.raises(ValidationError, match="frozen"):
        stack.release = "2.29.0"  # type: ignore[misc]
    with pytest.raises(TypeError):
        stack.system_packages["aws-neuronx-dkms"] = "0"  # type: ignore[index]
    with pytest.raises(TypeError):
        facts.instance_types()["x"] = facts.instance_type("inf2.xlarge")  # type: ignore[index]


def test_a_table_is_read_once() -> None:
    assert facts.instance_types() is facts.instance_types()


def test_only_the_file_that_is_asked_for_is_read(monkeypatch: pytest.MonkeyPatch, spoiled_facts: SpoiledFacts) -> None:
    read: list[str] = []
    read_file = rows.read_file

    def noted_read_file(file_name: str) -> dict[str, Any]:
        read.append(file_name)
        return read_file(file_name)

    monkeypatch.setattr(rows, "read_file", noted_read_file)
    facts.quota("vpcs")
    assert read == ["quotas.yaml"]


def test_importing_the_facts_reads_no_file_and_no_heavy_library() -> None:
    program = (
        "import sys, slipway.facts as facts\n"
        "tables = [name for name in facts.__all__ if hasattr(getattr(facts, name), 'cache_info')]\n"
        "assert len(tables) > 10\n"
        "print([name for name in tables if getattr(facts, name).cache_info().currsize])\n"
        "print(sorted({'boto3', 'aws_cdk', 'moto', 'difflib'} & set(sys.modules)))\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == ["[]", "[]"]


@pytest.mark.parametrize(
    ("key", "near"),
    [("trn1.32xlarg", "trn1.32xlarge"), ("trn1.3xlarge", "trn1.32xlarge"), ("inf2.xlarg", "inf2.xlarge")],
)
def test_an_unknown_fact_names_near_ones(key: str, near: str) -> None:
    with pytest.raises(facts.UnknownFact) as caught:
        facts.instance_type(key)
    assert (caught.value.kind, caught.value.key) == ("instance type", key)
    assert near in caught.value.near
    assert len(caught.value.near) <= 3
    assert str(caught.value).startswith(f"no facts about instance type '{key}'; did you mean ")
    assert isinstance(caught.value, KeyError)


def test_an_unknown_fact_with_nothing_near_says_no_more() -> None:
    with pytest.raises(facts.UnknownFact) as caught:
        facts.inference_engine("0123456")
    assert caught.value.near == ()
    assert str(caught.value) == "no facts about inference engine '0123456'"
