"""Planted orphans are found, priced, and gone when the printed commands have run."""

import pytest

from slipway.aws.account import open_account
from slipway.remove.leftovers.kind import kinds
from slipway.remove.leftovers.look import look
from slipway.remove.leftovers.ownership import subject_of_name
from tests.remove.leftovers.aws_cli import run
from tests.remove.leftovers.conftest import REGION
from tests.remove.leftovers.plants import Garden

ENVIRONMENT = "tiny"
EMULATED = [kind.kind for kind in kinds() if kind.emulated and kind.left]


def test_every_planted_orphan_is_found_and_goes(account: None) -> None:
    garden = Garden(ENVIRONMENT, REGION)
    opened = open_account(REGION, None)
    before = look(subject_of_name(ENVIRONMENT, REGION), opened)
    planted = {(kind, plant()) for kind, plant in garden.plants.items()}

    found = look(subject_of_name(ENVIRONMENT, REGION), opened)
    run(found.commands)
    after = look(subject_of_name(ENVIRONMENT, REGION), opened)

    assert before.verdict == "clean", before
    assert {(left.kind, left.id) for left in found.leftovers} >= planted
    assert found.verdict == "found"
    assert found.not_looked_at == ()
    assert after.leftovers == ()
    assert after.verdict == "clean"


def test_there_is_an_orphan_of_each_kind(account: None) -> None:
    assert set(Garden(ENVIRONMENT, REGION).plants) == set(EMULATED) - {"CloudFormation stack"}


@pytest.mark.parametrize("other", ["tin", "tiny-2", "tiny2"])
def test_a_neighbour_with_a_similar_name_is_left_alone(account: None, other: str) -> None:
    garden = Garden(other, REGION)
    for kind in ("EBS volume", "log group", "SNS topic", "S3 bucket", "IAM role", "CloudWatch dashboard", "VPC"):
        garden.plants[kind]()

    assert look(subject_of_name(ENVIRONMENT, REGION), open_account(REGION, None)).leftovers == ()
