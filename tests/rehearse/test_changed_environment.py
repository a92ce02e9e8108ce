from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
import yaml

from slipway.config.loader import load_environment
from slipway.rehearse.changed_environment import NoChangeError, write_changed_environment
from tests.assembly import ENVIRONMENTS, environment_path
from tests.rehearse.fakes import ENVIRONMENT


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_copy_is_valid_and_differs_in_the_named_fields_alone(name: str, tmp_path: Path) -> None:
    original, copy = environment_path(name), tmp_path / "changed.yaml"
    changes = write_changed_environment(original, copy)
    assert load_environment(copy) != load_environment(original)
    # A new first entry of a list's item takes its hyphen.
    lines, changed = (
        [line.strip().removeprefix("- ") for line in path.read_text(encoding="utf-8").splitlines()]
        for path in (original, copy)
    )
    places = SequenceMatcher(None, lines, changed, autojunk=False).get_opcodes()
    assert sum(end - start for tag, _, _, start, end in places if tag != "equal") == len(changes)


def test_nodes_and_a_model_are_changed(tmp_path: Path) -> None:
    copy = tmp_path / "changed.yaml"
    assert write_changed_environment(ENVIRONMENT, copy) == (
        "training.queues[0].compute_resources[0].max_count: 5",
        "inference.models[0].prefix: rehearsal/v1",
        "inference.models[0].scaling: {min_count: 1, max_count: 2}",
        "operations.monthly_budget_usd: 5001",
    )
    before, after = load_environment(ENVIRONMENT), load_environment(copy)
    assert before.inference is not None
    assert after.inference is not None
    assert after.training is not None
    assert after.training.queues[0].compute_resources[0].max_count == 5
    assert before.inference.models[0].prefix is None
    assert after.inference.models[0].prefix == "rehearsal/v1"
    assert after.inference.models[0].scaling.max_count == 2


def test_a_model_that_scales_scales_further(tmp_path: Path) -> None:
    changes = write_changed_environment(environment_path("rolledout"), tmp_path / "changed.yaml")
    assert changes == ("inference.models[0].scaling.max_count: 5", "operations.monthly_budget_usd: 5001")


def test_comments_and_order_stay(tmp_path: Path) -> None:
    original, copy = tmp_path / "original.yaml", tmp_path / "changed.yaml"
    text = ENVIRONMENT.read_text(encoding="utf-8")
    original.write_text(text.replace("max_count: 4", "max_count: 4  # as many as the quota allows"), encoding="utf-8")
    write_changed_environment(original, copy)
    assert "max_count: 5  # as many as the quota allows" in copy.read_text(encoding="utf-8")


def test_an_entry_is_added_to_a_section_in_flow_style(tmp_path: Path) -> None:
    original, copy = tmp_path / "original.yaml", tmp_path / "changed.yaml"
    content = yaml.safe_load(ENVIRONMENT.read_text(encoding="utf-8"))
    original.write_text(yaml.safe_dump(content, default_flow_style=True), encoding="utf-8")
    assert len(write_changed_environment(original, copy)) == 4
    assert load_environment(copy).inference is not None


def test_a_section_that_is_not_there_is_not_invented(tmp_path: Path) -> None:
    original, copy = tmp_path / "original.yaml", tmp_path / "changed.yaml"
    content = yaml.safe_load(ENVIRONMENT.read_text(encoding="utf-8"))
    del content["inference"], content["operations"]
    original.write_text(yaml.safe_dump(content), encoding="utf-8")
    assert write_changed_environment(original, copy) == ("training.queues[0].compute_resources[0].max_count: 5",)


def test_a_queue_with_a_reservation_stays_as_large_as_the_reservation(tmp_path: Path) -> None:
    changes = write_changed_environment(ENVIRONMENT.with_name("ultracluster.yaml"), tmp_path / "changed.yaml")
    assert changes[0] == "training.queues[2].compute_resources[0].max_count: 257"


@pytest.mark.parametrize("reserved", [False, True])
def test_the_first_node_group_without_a_reservation_gets_another_node(reserved: bool, tmp_path: Path) -> None:
    original = tmp_path / "original.yaml"
    content = yaml.safe_load(ENVIRONMENT.read_text(encoding="utf-8"))
    del content["training"], content["inference"], content["operations"]
    node_groups: list[dict[str, Any]] = [
        {"name": "trn1", "instance_type": "trn1.32xlarge", "max_count": 4},
        {"name": "cpu", "instance_type": "m6i.8xlarge"},
    ]
    if reserved:
        node_groups[0]["capacity_reservation_id"] = "cr-0123456789abcdef0"
    original.write_text(yaml.safe_dump({**content, "kubernetes": {"node_groups": node_groups}}), encoding="utf-8")
    (change,) = write_changed_environment(original, tmp_path / "changed.yaml")
    number, max_count = (1, 2) if reserved else (0, 5)
    assert change == f"kubernetes.node_groups[{number}].max_count: {max_count}"


def test_a_file_in_which_nothing_can_change_is_refused(tmp_path: Path) -> None:
    original = tmp_path / "original.yaml"
    content = yaml.safe_load(ENVIRONMENT.read_text(encoding="utf-8"))
    del content["inference"], content["operations"]
    (reserved,) = content["training"]["queues"] = content["training"]["queues"][:1]
    reserved["capacity_reservation_id"] = "cr-0123456789abcdef0"
    original.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(NoChangeError, match="monthly_budget_usd"):
        write_changed_environment(original, tmp_path / "changed.yaml")
