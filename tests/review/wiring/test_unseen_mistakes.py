"""The rules notice exactly those of the independent author's mistakes that are marked as noticed."""

import pytest

from slipway.assembly.stacks import read_stacks
from slipway.review.wiring.resources import resources_of
from slipway.review.wiring.rules import run_rules
from tests.conftest import AssemblyFactory
from tests.review.wiring.unseen_mistakes import UnseenMistake, unseen_mistakes


@pytest.mark.parametrize("mistake", unseen_mistakes(), ids=lambda mistake: mistake.what[:60])
def test_a_mistake_is_noticed_by_the_rules_that_it_names(mistake: UnseenMistake, assemblies: AssemblyFactory) -> None:
    stacks = read_stacks(assemblies(mistake.environment).directory)
    before = run_rules(resources_of(stacks))

    found = {finding.rule for finding in run_rules(resources_of(mistake.made_in(stacks))) if finding not in before}

    assert found == set(mistake.noticed_by)
