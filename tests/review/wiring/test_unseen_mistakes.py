"""What the rules notice of mistakes that somebody else made."""

import pytest

from slipway.assembly.stacks import read_stacks
from slipway.review.wiring.resources import resources_of
from slipway.review.wiring.rules import run_rules
from tests.conftest import AssemblyFactory
from tests.review.wiring.unseen_mistakes import UnseenMistake, unseen_mistakes


@pytest.mark.parametrize("mistake", unseen_mistakes(), ids=lambda mistake: mistake.what[:60])
def test_the_rules_notice_what_is_written_down(mistake: UnseenMistake, assemblies: AssemblyFactory) -> None:
    stacks = read_stacks(assemblies(mistake.environment).directory)
    before = run_rules(resources_of(stacks))

    found = {finding.rule for finding in run_rules(resources_of(mistake.made_in(stacks))) if finding not in before}

    assert found == set(mistake.noticed_by)
