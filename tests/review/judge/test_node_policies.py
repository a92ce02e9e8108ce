"""The policies that tests/iam takes for ParallelCluster's are those that the real package gives to its nodes."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from slipway.review.judge.proceedings import judge_environment
from slipway.review.judge.progress import Progress
from tests.iam.cluster_roles import RECORDED, by_kind

pytestmark = pytest.mark.judge


def test_the_recorded_policies_are_those_of_the_real_package(tmp_path: Path) -> None:
    verdict = judge_environment("team", [], tmp_path / "team", Progress(Console(quiet=True)))

    assert verdict.answer
    assert by_kind(verdict.answer.outcome.node_policies) == json.loads(RECORDED.read_text("utf-8"))
