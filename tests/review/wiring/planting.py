"""A plugin of pytest that plants one mistake of an independent author into the environment that it is for.

`SLIPWAY_PLANTED` is the number of the mistake. Tests then read templates with it, so a test that looks there fails.
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


# While pytest loads its plugins: it imports conftest.py, which imports this function, before it configures them.
_plant()
