"""A pytest plugin that plants one mistake in the templates of its environment, so that a test of them fails.

`SLIPWAY_PLANTED` is the index of the mistake in `unseen_mistakes()`.
"""

import json
import os
from pathlib import Path

import pytest

from slipway.assembly.stacks import read_stacks
from slipway.config.environment import Environment
from tests import assembly
from tests.assembly import Assembly
from tests.review.wiring.template_mistakes import unseen_mistakes


def _plant() -> None:
    mistake = unseen_mistakes()[int(os.environ["SLIPWAY_PLANTED"])]
    synthesize = assembly.synthesize

    def with_mistake(environment: Environment, folder: Path) -> Assembly:
        made = synthesize(environment, folder)
        if environment.name == mistake.environment:
            for stack in mistake.made_in(read_stacks(folder)):
                template = json.dumps(stack.template, indent=1)
                (folder / f"{stack.name}.template.json").write_text(template, encoding="utf-8")
        return made

    pytest.MonkeyPatch().setattr(assembly, "synthesize", with_mistake)


# At import: pytest imports conftest.py, and with it `synthesize`, before it calls `pytest_configure`.
_plant()
