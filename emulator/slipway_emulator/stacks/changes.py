"""What a new template would change in a stack, without touching anything."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Literal

from slipway_emulator.stacks.model import Stack
from slipway_emulator.stacks.registry import replacing_properties
from slipway_emulator.template.document import Template
from slipway_emulator.template.parameters import ParameterValue
from slipway_emulator.template.references import reads_output, references


@dataclass(frozen=True)
class Change:
    """One resource that would change.

    Attributes:
        properties: The changed properties of a Modify.
        replacing: Those of them that cause a replacement.
    """

    action: Literal["Add", "Modify", "Remove"]
    logical_id: str
    resource_type: str
    physical_id: str | None = None
    properties: tuple[str, ...] = ()
    replacing: tuple[str, ...] = ()

    @property
    def replacement(self) -> bool:
        """Whether the resource would be replaced."""
        return bool(self.replacing)


def changed_names(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The keys whose values differ, missing ones included."""
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def changes(
    stack: Stack,
    template: Template,
    active: AbstractSet[str],
    parameters: Mapping[str, ParameterValue],
    changed_outputs: AbstractSet[tuple[str, str]] = frozenset(),
) -> list[Change]:
    """Compare a template with the one the stack stands on.

    Args:
        stack: The stack; its resources are what exists.
        template: The template to come.
        active: The logical ids of the template whose conditions hold.
        parameters: Resolved values of the new template's parameters.
        changed_outputs: Outputs of other stacks, by stack and name, whose values are not those the stack stands on.
    """
    changed_parameters = set(changed_names(stack.state.resolved_parameters, parameters))
    found: dict[str, Change] = {}
    for logical_id in template.resources:
        if logical_id not in active:
            continue
        if logical_id not in stack.resources:
            found[logical_id] = Change("Add", logical_id, template.resources[logical_id]["Type"])
        elif change := _modification(stack, template, logical_id, changed_parameters, changed_outputs):
            found[logical_id] = change
    _add_followers(stack, template, active, found)
    for logical_id, resource in stack.resources.items():
        if logical_id not in active:
            found[logical_id] = Change("Remove", logical_id, resource.resource_type, resource.physical_id)
    return list(found.values())


def _modification(
    stack: Stack,
    template: Template,
    logical_id: str,
    changed_parameters: set[str],
    changed_outputs: AbstractSet[tuple[str, str]],
) -> Change | None:
    before = stack.state.template.resources[logical_id].get("Properties") or {}
    after = template.resources[logical_id].get("Properties") or {}
    by_value = {
        name
        for name, value in after.items()
        if references(value, changed_parameters) or reads_output(value, changed_outputs)
    }
    names = {*changed_names(before, after), *by_value}
    if not names:
        return None
    # A property that only follows a parameter or an output is equal in both templates: mark it as different.
    marked = {**before, **dict.fromkeys(by_value)}
    resource = stack.resources[logical_id]
    replacing = replacing_properties(resource.resource_type, stack.region, marked, after)
    return Change(
        "Modify",
        logical_id,
        resource.resource_type,
        resource.physical_id,
        tuple(sorted(names)),
        tuple(replacing),
    )


def _add_followers(stack: Stack, template: Template, active: AbstractSet[str], found: dict[str, Change]) -> None:
    """Add unchanged resources that refer to a replaced one: its new id reaches them."""
    replaced = {change.logical_id for change in found.values() if change.replacement}
    for logical_id in active - found.keys():
        properties = template.resources[logical_id].get("Properties") or {}
        names = sorted(name for name, value in properties.items() if references(value, replaced))
        if names:
            resource = stack.resources[logical_id]
            found[logical_id] = Change("Modify", logical_id, resource.resource_type, resource.physical_id, tuple(names))
