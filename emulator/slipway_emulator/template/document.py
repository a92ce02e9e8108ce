"""A template's text as a document."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import yaml

from slipway_emulator.failures import TemplateError

ResourceDefinition = Mapping[str, Any]
"""One entry of the Resources section: Type, Properties, DependsOn, Condition, DeletionPolicy, ..."""


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms (``!Ref``, ``!GetAtt a.b``); dates stay text."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # the attribute PyYAML defines
        first_letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first_letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _construct_short_form(loader: _Loader, name: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(cast(yaml.MappingNode, node), deep=True)
    if name == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {name if name in ("Ref", "Condition") else f"Fn::{name}": value}


_Loader.add_multi_constructor("!", _construct_short_form)


@dataclass(frozen=True)
class Template:
    """A parsed template.

    Attributes:
        body: The text as it was submitted; GetTemplate returns it unchanged.
    """

    body: str

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The whole template.

        Raises:
            TemplateError: The text is neither JSON nor YAML, or not an object whose resources are one.
        """
        try:
            document = json.loads(self.body) if self.body.lstrip().startswith("{") else _from_yaml(self.body)
        except (ValueError, yaml.YAMLError) as error:
            raise TemplateError(f"Template format error: JSON or YAML not well-formed. ({error})") from error
        if not isinstance(document, dict) or not isinstance(document.get("Resources", {}), dict):
            raise TemplateError("Template format error: unsupported structure.")
        return document

    def section(self, name: str) -> Mapping[str, Any]:
        """A top-level section such as ``Mappings``; empty when the template has none."""
        return self.document.get(name) or {}

    @property
    def resources(self) -> Mapping[str, ResourceDefinition]:
        """Logical id to definition, whatever their conditions say."""
        return self.section("Resources")

    def check(self) -> None:
        """Refuse what CloudFormation refuses up front, and what this engine cannot process.

        Raises:
            TemplateError: No resources, a resource without a type, or a transform (macro).
        """
        if not self.resources:
            raise TemplateError("Template format error: At least one Resources member must be defined.")
        if transform := self.document.get("Transform"):
            raise TemplateError(f"Template format error: the emulator has no transform {transform}.")
        for logical_id, definition in self.resources.items():
            if not isinstance(definition, dict) or not isinstance(definition.get("Type"), str):
                raise TemplateError(
                    f"Template format error: [/Resources/{logical_id}] Every Resources object must contain"
                    " a Type member."
                )


def _from_yaml(body: str) -> Any:
    return yaml.load(body, Loader=_Loader)  # derives from SafeLoader


EMPTY_TEMPLATE = Template('{"Resources": {}}')
"""What a stack has before its first change set is executed."""
