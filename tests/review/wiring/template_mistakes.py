"""Mistakes in templates.

Four independent authors, who had seen only templates and not the rules, planted 80 mistakes each (2026-11-29): the
first in two environments, the second in the five shipped ones, the others in ten. After each author, rules were added.
Keep their mistakes as they are. `own.yaml` has mistakes for rules that no other mistake covers. `allowed.yaml`
has sound changes, which no rule may report.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from slipway.assembly.stacks import Stack

_FOLDER = Path(__file__).with_name("mistakes")

UNSEEN = ("first_author", "second_author", "third_author", "fourth_author")
"""Files of the independent authors."""


@dataclass(frozen=True)
class TemplateMistake:
    """One mistake.

    Attributes:
        what: what is wrong, and what that breaks.
        family: alarms, network, kubernetes, permissions, values, lifecycle or order.
        environment: the environment whose template is changed.
        stack: the stack's name without the environment's prefix, such as `network`.
        changes: changes to the template, each at the path `at`: `set` puts a value there, `remove` removes it, and
            `old` and `new` replace a part of a text.
        noticed_by: ids of the cross-resource rules that notice it.
        also_noticed_by: another check that notices it, if no cross-resource rule does: `calls` (tests/iam, calls of
            programs), `cluster rules` (docs/cluster-rules.md), or the id of a test of templates.
    """

    what: str
    family: str
    environment: str
    stack: str
    changes: tuple[dict[str, Any], ...]
    noticed_by: tuple[str, ...] = ()
    also_noticed_by: str = ""

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


def mistakes_of(author: str) -> list[TemplateMistake]:
    """Return the mistakes of one file."""
    rows = yaml.safe_load((_FOLDER / f"{author}.yaml").read_text(encoding="utf-8"))
    return [TemplateMistake(**row) for row in rows]


def unseen_mistakes() -> list[TemplateMistake]:
    """Return the mistakes of the independent authors."""
    return [mistake for author in UNSEEN for mistake in mistakes_of(author)]


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
