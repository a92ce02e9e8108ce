"""CloudFormation's intrinsic functions."""

import base64
import ipaddress
import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from slipway_emulator.failures import ProvisioningError, TemplateError
from slipway_emulator.settings import ACCOUNT, DNS_SUFFIX, PARTITION
from slipway_emulator.template.context import Context
from slipway_emulator.template.document import Template
from slipway_emulator.template.parameters import ParameterValue

NO_VALUE = object()
"""What ``Ref: AWS::NoValue`` resolves to; the property or list item that has it disappears."""


class ReferableResource(Protocol):
    """What Ref and Fn::GetAtt read of a provisioned resource."""

    @property
    def physical_id(self) -> str:
        """The value of Ref."""
        ...

    def attribute(self, name: str) -> Any:
        """The value of Fn::GetAtt; raises ProvisioningError when the resource has no such attribute."""
        ...


@dataclass(frozen=True)
class StackIdentity:
    """What the pseudo parameters say of a stack."""

    name: str
    id: str
    region: str

    def pseudo_parameters(self) -> dict[str, Any]:
        """The values of ``AWS::Region`` and its like."""
        return {
            "AWS::AccountId": ACCOUNT,
            "AWS::NoValue": NO_VALUE,
            "AWS::NotificationARNs": [],
            "AWS::Partition": PARTITION,
            "AWS::Region": self.region,
            "AWS::StackId": self.id,
            "AWS::StackName": self.name,
            "AWS::URLSuffix": DNS_SUFFIX,
        }


@dataclass
class Resolver:
    """Resolves template fragments for one operation on one stack.

    Attributes:
        identity: The stack that the template belongs to.
        template: Where conditions and mappings come from.
        parameters: Values of the template's parameters.
        context: The region around the stack.
        resources: The resources provisioned so far by logical id; the operation adds to it as it goes.
    """

    identity: StackIdentity
    template: Template
    parameters: Mapping[str, ParameterValue]
    context: Context
    resources: dict[str, ReferableResource] = field(default_factory=dict)
    _conditions: dict[str, bool] = field(default_factory=dict)

    def resolve(self, node: Any) -> Any:
        """The fragment with every intrinsic function replaced by its value.

        Raises:
            ProvisioningError: A function is unknown or cannot be resolved; the message says which and why.
        """
        if isinstance(node, list):
            items = (self.resolve(item) for item in node)
            return [item for item in items if item is not NO_VALUE]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            name, argument = next(iter(node.items()))
            # A policy statement also has a member called Condition; there it is an object.
            is_function = name in _FUNCTIONS and (name != "Condition" or isinstance(argument, str))
            if is_function:
                return self._call(name, argument)
            if name.startswith("Fn::"):
                raise TemplateError(f"Template error: the intrinsic function {name} is not supported")
        resolved = {key: self.resolve(value) for key, value in node.items()}
        return {key: value for key, value in resolved.items() if value is not NO_VALUE}

    def condition(self, name: str) -> bool:
        """Whether a condition of the template holds."""
        if name not in self._conditions:
            conditions = self.template.section("Conditions")
            if name not in conditions:
                raise TemplateError(f"Template format error: Unresolved condition dependency {name}")
            self._conditions[name] = bool(self.resolve(conditions[name]))
        return self._conditions[name]

    def active(self, definitions: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        """The resources or outputs whose condition holds, or that have none."""
        return {
            name: definition
            for name, definition in definitions.items()
            if "Condition" not in definition or self.condition(definition["Condition"])
        }

    def _call(self, name: str, argument: Any) -> Any:
        try:
            return _FUNCTIONS[name](self, argument)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            shown = json.dumps(argument, default=str)[:200]
            raise TemplateError(f"Template error: {name} cannot be resolved with {shown}: {error}") from error

    def text(self, node: Any) -> str:
        """The fragment as the text that Fn::Join and Fn::Sub insert."""
        value = self.resolve(node)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (dict, list)):
            raise TypeError(f"expected text, got {type(value).__name__}")
        return str(value)

    # ---- functions -----------------------------------------------------------------------------------------

    def ref(self, name: str) -> Any:
        """Ref: a pseudo parameter, a parameter's value or a resource's physical id."""
        pseudo_parameters = self.identity.pseudo_parameters()
        if name in pseudo_parameters:
            return pseudo_parameters[name]
        if name in self.parameters:
            return self.parameters[name]
        if name in self.resources:
            return self.resources[name].physical_id
        raise TemplateError(f"Template format error: Unresolved resource dependencies [{name}] in the Resources block")

    def get_att(self, argument: Any) -> Any:
        """Fn::GetAtt: ``[logical id, attribute]`` or ``"logical id.attribute"``."""
        logical_id, attribute = argument.split(".", 1) if isinstance(argument, str) else argument
        if logical_id not in self.resources:
            raise TemplateError(f"Template error: instance of Fn::GetAtt references undefined resource {logical_id}")
        return self.resources[logical_id].attribute(self.text(attribute))

    def sub(self, argument: Any) -> str:
        """Fn::Sub: text with placeholders, optionally with variables of its own."""
        text, variables = (argument, {}) if isinstance(argument, str) else argument

        def value_of(placeholder: re.Match[str]) -> str:
            name = placeholder[1].strip()
            if name.startswith("!"):
                return f"${{{name[1:]}}}"
            if name in variables:
                return self.text(variables[name])
            if "." in name and name not in self.parameters:
                return self.text({"Fn::GetAtt": name})
            return self.text({"Ref": name})

        return re.sub(r"\$\{([^}]+)\}", value_of, text)

    def find_in_map(self, argument: list[Any]) -> Any:
        """Fn::FindInMap: map, top-level key, second-level key, optionally ``{"DefaultValue": ...}``."""
        map_name, first_key, second_key = (self.text(item) for item in argument[:3])
        mapping = self.template.section("Mappings").get(map_name, {})
        if first_key in mapping and second_key in mapping[first_key]:
            return mapping[first_key][second_key]
        if len(argument) > 3:
            return self.resolve(argument[3]["DefaultValue"])
        raise TemplateError(f"Template error: Unable to get mapping for {map_name}::{first_key}::{second_key}")

    def cidr(self, argument: list[Any]) -> list[str]:
        """Fn::Cidr: ``[block, count, host bits]``; host bits default to 8."""
        block, count, *host_bits = (self.text(item) for item in argument)
        network = ipaddress.ip_network(block)
        prefix = network.max_prefixlen - int(host_bits[0] if host_bits else 8)
        found = [str(subnet) for subnet in itertools.islice(network.subnets(new_prefix=prefix), int(count))]
        if len(found) < int(count):
            raise ValueError(f"{block} has room for {len(found)} blocks, not {count}")
        return found

    def get_azs(self, argument: Any) -> list[str]:
        """Fn::GetAZs: the zones of a region, by default of the stack's."""
        return list(self.context.availability_zones(self.text(argument) or self.identity.region))

    def get_stack_output(self, argument: Mapping[str, Any]) -> str:
        """Fn::GetStackOutput: another stack's output by name, without locking that stack."""
        region = self.text(argument["Region"]) if "Region" in argument else self.identity.region
        return self.context.stack_output(self.text(argument["StackName"]), self.text(argument["OutputName"]), region)

    def split(self, argument: list[Any]) -> list[str]:
        """Fn::Split: ``[delimiter, text]``."""
        return self.text(argument[1]).split(argument[0])

    def select(self, argument: list[Any]) -> Any:
        """Fn::Select: ``[index, list]``."""
        index, items = int(self.text(argument[0])), self.resolve(argument[1])
        if not 0 <= index < len(items):
            raise ValueError(f"the list has {len(items)} items")
        return items[index]

    def if_(self, argument: list[Any]) -> Any:
        """Fn::If: only the chosen branch is resolved."""
        name, when_true, when_false = argument
        return self.resolve(when_true if self.condition(name) else when_false)

    def join(self, argument: list[Any]) -> str:
        """Fn::Join: ``[delimiter, list]``."""
        delimiter, items = argument
        return str(delimiter).join(self.text(item) for item in self.resolve(items))


def _to_json(resolver: Resolver, argument: Any) -> str:
    return json.dumps(resolver.resolve(argument), separators=(",", ":"))


def _import_value(resolver: Resolver, argument: Any) -> str:
    name = resolver.text(argument)
    if not name:
        raise ProvisioningError("Fn::ImportValue needs the name of an export")
    return resolver.context.exported_value(name)


_FUNCTIONS: Mapping[str, Callable[[Resolver, Any], Any]] = {
    "Ref": Resolver.ref,
    "Condition": Resolver.condition,
    "Fn::And": lambda resolver, argument: all(resolver.resolve(item) for item in argument),
    "Fn::Base64": lambda resolver, argument: base64.b64encode(resolver.text(argument).encode()).decode(),
    "Fn::Cidr": Resolver.cidr,
    "Fn::Contains": lambda resolver, argument: resolver.text(argument[1]) in resolver.resolve(argument[0]),
    "Fn::Equals": lambda resolver, argument: resolver.text(argument[0]) == resolver.text(argument[1]),
    "Fn::FindInMap": Resolver.find_in_map,
    "Fn::GetAtt": Resolver.get_att,
    "Fn::GetAZs": Resolver.get_azs,
    "Fn::GetStackOutput": Resolver.get_stack_output,
    "Fn::If": Resolver.if_,
    "Fn::ImportValue": _import_value,
    "Fn::Join": Resolver.join,
    "Fn::Length": lambda resolver, argument: len(resolver.resolve(argument)),
    "Fn::Not": lambda resolver, argument: not resolver.resolve(argument[0]),
    "Fn::Or": lambda resolver, argument: any(resolver.resolve(item) for item in argument),
    "Fn::Select": Resolver.select,
    "Fn::Split": Resolver.split,
    "Fn::Sub": Resolver.sub,
    "Fn::ToJsonString": _to_json,
}
