"""The reference in docs/environment-file.md: `python -m slipway.config.reference` rewrites its generated parts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slipway import facts
from slipway.config.problems import listed
from slipway.config.rules import NOTICES, RULES
from slipway.config.rules.registry import Registry
from slipway.config.schema import environment_schema

REFERENCE_FILE = Path(__file__).parents[2] / "docs" / "environment-file.md"

Schema = dict[str, Any]


def with_reference(text: str) -> str:
    """Return the document with its generated parts renewed.

    Args:
        text: The document; each generated part stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->`.
    """
    parts = {
        "fields": _field_tables(),
        "stacks": _stack_table(),
        "rules": _rule_table(RULES, "rule", "what must hold"),
        "notices": _rule_table(NOTICES, "notice", "given when"),
    }
    for name, lines in parts.items():
        begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
        before, _, rest = text.partition(begin)
        after = rest.partition(end)[2]
        text = "\n".join([f"{before}{begin}", "", *lines, "", f"{end}{after}"])
    return text


def _field_tables() -> Iterator[str]:
    schema = environment_schema()
    for number, (heading, section) in enumerate(_sections(schema, "", schema["$defs"])):
        if number:
            yield ""
        yield f"### {heading}"
        yield ""
        yield section["description"]
        yield ""
        yield "| key | value | default | meaning |"
        yield "|---|---|---|---|"
        required = section.get("required", ())
        for key, field in section["properties"].items():
            default = "**required**" if key in required else _default(field)
            meaning = " ".join(field["description"].split())
            yield f"| `{key}` | {_values(field)} | {default} | {meaning} |"


def _sections(section: Schema, path: str, definitions: dict[str, Schema]) -> Iterator[tuple[str, Schema]]:
    """Yield every section below and with this one, each with its heading."""
    yield f"`{path}`" if path else "Top level", section
    for key, field in section["properties"].items():
        here = f"{path}.{key}".lstrip(".")
        for variant in _variants(field):
            if "items" in variant:
                variant, here = variant["items"], f"{here}[]"  # noqa: PLW2901 (a list's section is its item's)
            choices = variant.get("oneOf", [variant])
            for choice in choices:
                if "$ref" in choice:
                    inner = definitions[choice["$ref"].rpartition("/")[2]]
                    below = _sections(inner, here, definitions)
                    heading, first = next(below)
                    tag = inner["properties"].get("type", {}).get("const") if len(choices) > 1 else None
                    yield (f"{heading} with `type: {tag}`" if tag else heading), first
                    yield from below


def _variants(field: Schema) -> list[Schema]:
    """Return what a field can be besides nothing."""
    return [variant for variant in field.get("anyOf", [field]) if variant.get("type") != "null"]


def _values(field: Schema) -> str:
    """Say in words what a field takes."""
    field = _variants(field)[0]
    if "enum" in field or "const" in field:
        return listed(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    if "$ref" in field or "oneOf" in field:
        return "mapping, see below"
    if field["type"] == "array":
        return "list, see below" if "$ref" in field["items"] else f"list of {_values(field['items'])}"
    words = {
        "object": "mapping of text to text",
        "boolean": "`true` or `false`",
        "integer": f"whole number{_limit(' from', field, 'minimum')}{_limit(' to', field, 'maximum')}",
        "number": f"number{_limit(' above', field, 'exclusiveMinimum')}{_limit(' up to', field, 'maximum')}",
        "string": f"text{''.join(f' such as `{example}`' for example in field.get('examples', ()))}",
    }
    return words[field["type"]]


def _limit(word: str, field: Schema, keyword: str) -> str:
    return f"{word} {field[keyword]}" if keyword in field else ""


def _default(field: Schema) -> str:
    default = field.get("default")
    if default in (None, [], {}):
        return "none"
    return (
        "see below"
        if isinstance(default, dict)
        else f"`{default if isinstance(default, str) else json.dumps(default)}`"
    )


def _stack_table() -> Iterator[str]:
    yield "| stack | Neuron SDK | nodes | operating system (its Python) | note |"
    yield "|---|---|---|---|---|"
    for stack in facts.training_stacks().values():
        nodes = listed((name for name in stack.instance_families if facts.instance_family(name).trains), "and")
        systems = [facts.operating_system(name) for name in stack.operating_systems]
        pythons = listed((f"`{system.name}` ({system.python_version})" for system in systems), "and")
        yield f"| `{stack.name}` | {stack.release} | {nodes} | {pythons} | {stack.note} |"


def _rule_table(rules: Registry, kind: str, statement: str) -> Iterator[str]:
    yield f"| about | {kind} | {statement} |"
    yield "|---|---|---|"
    for rule in sorted(rules.values(), key=lambda rule: rule.topic):
        yield f"| {rule.topic} | `{rule.name}` | {rule.statement} |"


if __name__ == "__main__":
    REFERENCE_FILE.write_text(with_reference(REFERENCE_FILE.read_text(encoding="utf-8")), encoding="utf-8")
