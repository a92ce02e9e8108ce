"""What happens to resources that only follow another change is told with that change, in every rendering."""

import pytest

from slipway.assembly.stacks import read_stacks
from slipway.review.changes.model import ResourceChange
from slipway.review.report.architecture import Architecture, read_architecture
from slipway.review.report.headline import look_first
from slipway.review.report.markdown import markdown
from slipway.review.report.page import page
from tests.assembly import Assembly
from tests.review.report.plans import CLUSTER, COMPARED, INFERENCE, TRAINING, UPDATED
from tests.review.report.test_report_terminal import printed

NOTE = "Its name stays the same: AWS refuses a second one of that name."


def follower(name: str) -> ResourceChange:
    return UPDATED.model_copy(
        update={
            "logical_id": name,
            "construct_path": f"{TRAINING}/{name}",
            "effect": "replace",
            "caused_by": f"{TRAINING}/{CLUSTER}",
            "notes": (NOTE,),
        }
    )


HARMLESS = UPDATED.model_copy(
    update={"stack": INFERENCE, "logical_id": "Other", "construct_path": f"{INFERENCE}/Other", "properties": ()}
)
assert COMPARED.comparison
CHANGES = COMPARED.comparison.changes.model_copy(
    update={"resources": (HARMLESS, UPDATED, follower("One"), follower("Two")), "broadenings": ()}
)
PLAN = COMPARED.model_copy(update={"comparison": COMPARED.comparison.model_copy(update={"changes": CHANGES})})


@pytest.fixture(scope="module")
def architecture(default: Assembly) -> Architecture:
    return read_architecture(read_stacks(default.directory))


def test_their_notes_are_told_once_with_a_resource(architecture: Architecture) -> None:
    told = f"One and 1 more: {NOTE}"

    assert printed(PLAN).count(told) == 1
    assert markdown(PLAN).count(told) == 1
    assert page(PLAN, architecture, architecture).count(told) == 1


def test_a_change_in_place_that_replaces_another_resource_is_looked_at_first() -> None:
    text = printed(PLAN)

    assert look_first(PLAN)[0] == ("Cluster is changed; 2 that follow it: 2 replaced", f"stack-{TRAINING}")
    assert text.index(f"{TRAINING}/Cluster") < text.index(f"{INFERENCE}/Other")
    assert "and 2 that follow it: 2 replaced" in text
