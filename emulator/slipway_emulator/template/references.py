"""Which resources a part of a template refers to, and the order that follows."""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from graphlib import CycleError, TopologicalSorter
from typing import Any

from slipway_emulator.failures import TemplateError
from slipway_emulator.template.document import ResourceDefinition

_PLACEHOLDER = re.compile(r"\$\{([^!}][^}]*)\}")  # ${Name} or ${Name.Attribute} in Fn::Sub, not ${!Literal}


def references(node: Any, names: AbstractSet[str]) -> set[str]:
    """The names that a template fragment refers to through Ref, Fn::GetAtt, Fn::Sub or DependsOn.

    Args:
        node: Any fragment of a template.
        names: The names of interest, usually all logical ids; other names are ignored.
    """
    found: set[str] = set()
    if isinstance(node, list):
        for item in node:
            found |= references(item, names)
    elif isinstance(node, dict):
        for key, value in node.items():
            found |= _named_by(key, value, names)
    return found & names


def reads_output(node: Any, outputs: AbstractSet[tuple[str, str]]) -> bool:
    """Whether a template fragment reads one of these outputs of other stacks.

    Args:
        node: any fragment of a template.
        outputs: stack name and output name of each.
    """
    match node:
        case {"Fn::GetStackOutput": {"StackName": str(stack), "OutputName": str(output)}}:
            return (stack, output) in outputs
        case dict():
            return any(reads_output(value, outputs) for value in node.values())
        case list():
            return any(reads_output(item, outputs) for item in node)
    return False


def _named_by(key: str, value: Any, names: AbstractSet[str]) -> set[str]:
    """The names that one member of an object refers to: itself a function, or a place where functions are."""
    match key, value:
        case (("Ref" | "Fn::GetAtt" | "DependsOn"), str()):
            found = {value.split(".", 1)[0]}
        case "DependsOn", [str(), *_]:  # of a container in a task definition it lists objects
            found = set(value)
        case "Fn::GetAtt", [str(logical_id), *attribute]:
            found = {logical_id} | references(attribute, names)
        case "Fn::Sub", str():
            found = _named_in_text(value)
        case "Fn::Sub", [str(text), dict(variables)]:
            found = (_named_in_text(text) - set(variables)) | references(variables, names)
        case _:
            found = references(value, names)
    return found


def _named_in_text(text: str) -> set[str]:
    return {placeholder.split(".", 1)[0].strip() for placeholder in _PLACEHOLDER.findall(text)}


def dependencies(resources: Mapping[str, ResourceDefinition]) -> dict[str, set[str]]:
    """For each logical id the logical ids it needs to exist first."""
    names = resources.keys()
    return {
        logical_id: references(dict(definition), names) - {logical_id} for logical_id, definition in resources.items()
    }


def creation_order(resources: Mapping[str, ResourceDefinition]) -> list[str]:
    """The logical ids in an order in which each comes after everything it refers to.

    The order is the same for the same template. Deletion runs it backwards.

    Raises:
        TemplateError: The resources refer to each other in a circle.
    """
    try:
        return list(TopologicalSorter(dependencies(resources)).static_order())
    except CycleError as error:
        circle = ", ".join(sorted(set(error.args[1])))
        raise TemplateError(f"Circular dependency between resources: [{circle}]") from error
