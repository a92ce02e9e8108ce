"""Every pair of choices about inference: either an environment has it, or the spec refuses it at the right field."""

from itertools import combinations
from pathlib import Path

import pytest

from slipway import facts
from slipway.config import load_environment
from slipway.config.problems import dotted
from tests.config.files import problems_of
from tests.covering_array import Row
from tests.inference_environments import (
    CHOICES,
    ENDPOINT_CHOICES,
    MODEL_CHOICES,
    Pair,
    allowed_environments,
    endpoints_with_models,
    environment_of,
    pairs_of,
    refused_fields,
)

ALLOWED = allowed_environments()

# Goes with everything that goes with anything.
NEUTRAL = {
    "exposure": "internal",
    "authentication": "api_key",
    "tls": "named",
    "firewall": "none",
    "engine": "tgi",
    "instance_type": "inf2.xlarge",
    "source": "mountpoint",
    "versions": "rolled_out",
    "compiled": "said",
    "image": "of_engine",
    "route": "path",
    "scaling": "queue_size",
    "deployment": "in_place",
}


def rows_with_each_pair() -> list[tuple[Pair, Row]]:
    """Every pair of values of two choices, and a row that has it and nothing else that is special."""
    return [
        (frozenset([(a, first), (b, second)]), {**NEUTRAL, a: first, b: second})
        for a, b in combinations(CHOICES, 2)
        for first in CHOICES[a]
        for second in CHOICES[b]
    ]


@pytest.mark.parametrize("text", [text for _, text in ALLOWED], ids=[name for name, _ in ALLOWED])
def test_allowed_environment_loads(text: str, tmp_path: Path) -> None:
    file = tmp_path / "environment.yaml"
    file.write_text(text, encoding="utf-8")
    assert load_environment(file).inference is not None


def test_every_pair_is_in_an_environment_or_refused_at_its_field(tmp_path: Path) -> None:
    covered = {
        pair
        for endpoint, models in endpoints_with_models()
        for model in models
        for pair in pairs_of({**endpoint, **model})
    }
    file = tmp_path / "environment.yaml"
    for pair, row in rows_with_each_pair():
        refused = refused_fields(row)
        if not refused:
            assert pair in covered, sorted(pair)
            continue
        endpoint = {choice: row[choice] for choice in ENDPOINT_CHOICES}
        model = {choice: row[choice] for choice in MODEL_CHOICES}
        file.write_text(environment_of(endpoint, [model]), encoding="utf-8")
        problems = problems_of(file)
        assert {problem.path for problem in problems} == {dotted(field) for field in refused}, sorted(pair)
        assert all(problem.fix and problem.line for problem in problems)


def test_all_engines_and_their_hosts_are_there() -> None:
    used = {(model["engine"], model["instance_type"]) for _, models in endpoints_with_models() for model in models}
    assert used == {
        (engine.name, row.name)
        for engine in facts.inference_engines().values()
        for row in facts.instance_types().values()
        if row.family in engine.instance_families and facts.offered_zone_ids(row.name, "us-west-2")
    }


def test_the_same_environments_each_time() -> None:
    endpoints_with_models.cache_clear()
    assert allowed_environments() == ALLOWED
