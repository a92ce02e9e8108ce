"""Mistakes in templates by somebody who had seen neither the checks nor this project's code: an outside measure.

They were written on 2026-11-29 from the templates of two environments alone, and stay as they are. A rule that learns
to notice one is added to its `noticed_by`; no mistake is made to fit a rule.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from slipway.assembly.stacks import Stack

_ROWS = Path(__file__).with_suffix(".yaml")


@dataclass(frozen=True)
class UnseenMistake:
    """One mistake.

    Attributes:
        what: is wrong, and what that breaks.
        family: alarms, network, kubernetes, permissions, values, lifecycle or order.
        environment: whose templates it is in.
        stack: without the environment's prefix, such as `network`.
        changes: of the template. `at` is a path. `set` is what to put there, `remove` takes it away; of a text, `new`
            comes in the place of `old`.
        noticed_by: ids of the cross-resource rules that find it.
    """

    what: str
    family: str
    environment: str
    stack: str
    changes: tuple[dict[str, Any], ...]
    noticed_by: tuple[str, ...] = ()

    def made_in(self, stacks: tuple[Stack, ...]) -> tuple[Stack, ...]:
        """Return the stacks with the mistake.

        Raises:
            AssertionError, LookupError: the templates are others than those that it was written for.
        """
        name = f"slipway-{self.environment}-{self.stack}"
        (before,) = (stack.template for stack in stacks if stack.name == name)
        template = deepcopy(before)
        for change in self.changes:
            _apply(template, change)
        assert template != before
        return tuple(replace(stack, template=template) if stack.name == name else stack for stack in stacks)


def unseen_mistakes() -> list[UnseenMistake]:
    """Return all of them."""
    rows = yaml.safe_load(_ROWS.read_text(encoding="utf-8"))
    return [UnseenMistake(**row) for row in rows]


def _apply(template: Any, change: dict[str, Any]) -> None:
    *path, last = change["at"]
    for key in path:
        template = template[key]
    if "old" in change:
        assert template[last].count(change["old"]) == 1
        template[last] = template[last].replace(change["old"], change["new"])
    elif "set" in change:
        template[last] = change["set"]
    else:
        del template[last]
