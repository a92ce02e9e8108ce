"""Outputs of the stacks, which people and programs copy."""

from __future__ import annotations

from collections.abc import Iterator

from slipway.review.changes.references import Reader
from slipway.review.wiring.registry import Finding, rule
from slipway.review.wiring.resources import Resources, mapping


@rule(
    severity="warning",
    reason="One of them was copied: it acts on another resource than its name says.",
    fix="Write the value of the resource that the output is named after.",
    source='AWS CloudFormation user guide, "CloudFormation template Outputs syntax"',
)
def outputs_have_their_own_values(resources: Resources) -> Iterator[Finding]:
    """No two commands in the outputs of a stack are the same."""
    reader = Reader(resources.stacks)
    for stack in resources.stacks:
        seen: dict[str, str] = {}
        for name, output in mapping(stack.template.get("Outputs")).items():
            value = str(reader.read(mapping(output).get("Value"), stack.name))
            if " " not in value:
                continue
            if value in seen:
                yield Finding(stack.name, name, "Value", f"it is the same command as {seen[value]}")
            seen[value] = name
