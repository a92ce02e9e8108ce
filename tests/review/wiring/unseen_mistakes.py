"""Mistakes that an independent author planted: an outside measure of the cross-resource rules.

The author had read only the templates of two environments (2026-11-29), not the rules or this project's code. Keep the
mistakes as they are. When a rule starts to notice one, add it to `noticed_by`.
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
        what: what is wrong, and what that breaks.
        family: alarms, network, kubernetes, permissions, values, lifecycle or order.
        environment: the environment whose template is changed.
        stack: the stack's name without the environment's prefix, such as `network`.
        changes: changes to the template, each at the path `at`: `set` puts a value there, `remove` removes it, and
            `old` and `new` replace a part of a text.
        noticed_by: ids of the cross-resource rules that notice it.
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
            AssertionError, LookupError: the template has changed since the mistake was written.
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
