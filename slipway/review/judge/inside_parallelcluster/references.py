"""CloudFormation's intrinsic functions, as far as the synthesized templates use them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

ACCOUNT_ID = "123456789012"
"""The account that moto plays."""

_NO_VALUE = object()


class UnresolvedReferenceError(Exception):
    """A value of a template that the judge cannot resolve; the message says which and why."""


@dataclass(frozen=True)
class Stack:
    """One stack of the cloud assembly."""

    name: str
    region: str
    template: Mapping[str, Any]
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def resources(self) -> Mapping[str, Any]:
        """The template's resources by logical id."""
        resources: Mapping[str, Any] = self.template.get("Resources", {})
        return resources


@dataclass(frozen=True)
class Made:
    """A resource that stands in moto: what `Ref` gives, and its attributes for `Fn::GetAtt`."""

    ref: str
    attributes: Mapping[str, str] = field(default_factory=dict)


class References:
    """Resolves the values of all templates of one assembly to the ids of resources that were made for them."""

    def __init__(self, stacks: Mapping[str, Stack], made: Callable[[Stack, str], Made]) -> None:
        """Create the resolver.

        Args:
            stacks: the stacks of the assembly by name.
            made: gives the resource of a stack by its logical id and makes it when it is not there yet.
        """
        self._stacks = stacks
        self._made = made

    def resolve(self, value: Any, stack: Stack) -> Any:
        """Give a template value with every reference replaced.

        Args:
            value: anything from the template of `stack`.
            stack: the stack that the value was written in.

        Raises:
            UnresolvedReferenceError: for an unknown function, stack, output, resource or attribute.
        """
        if isinstance(value, list):
            return [item for item in (self.resolve(item, stack) for item in value) if item is not _NO_VALUE]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            name, argument = next(iter(value.items()))
            if name == "Ref":
                return self._ref(argument, stack)
            if name.startswith("Fn::"):
                return self._function(name, argument, stack)
        resolved = {key: self.resolve(item, stack) for key, item in value.items()}
        return {key: item for key, item in resolved.items() if item is not _NO_VALUE}

    def _function(self, name: str, argument: Any, stack: Stack) -> Any:
        if name == "Fn::GetAtt":
            return self._attribute(argument, stack)
        if name == "Fn::Join":
            separator, items = argument
            return separator.join(str(item) for item in self.resolve(items, stack))
        if name == "Fn::Select":
            index, items = argument
            return self.resolve(items, stack)[int(index)]
        if name == "Fn::Sub":
            return self._substitute(argument, stack)
        if name == "Fn::GetStackOutput":
            return self._stack_output(argument, stack)
        raise UnresolvedReferenceError(f"{stack.name}: the judge does not know {name}")

    def _ref(self, name: str, stack: Stack) -> Any:
        pseudo = {
            "AWS::AccountId": ACCOUNT_ID,
            "AWS::NoValue": _NO_VALUE,
            "AWS::Partition": "aws",
            "AWS::Region": stack.region,
            "AWS::StackId": f"arn:aws:cloudformation:{stack.region}:{ACCOUNT_ID}:stack/{stack.name}/judge",
            "AWS::StackName": stack.name,
            "AWS::URLSuffix": "amazonaws.com",
        }
        if name in pseudo:
            return pseudo[name]
        parameters = stack.template.get("Parameters", {})
        if name in parameters:
            return self._parameter(name, parameters[name], stack)
        return self._resource(name, stack).ref

    @staticmethod
    def _parameter(name: str, parameter: Mapping[str, Any], stack: Stack) -> Any:
        if "Default" not in parameter or parameter["Type"].startswith("AWS::SSM::"):
            raise UnresolvedReferenceError(f"{stack.name}: parameter {name} has no value before the deployment")
        return parameter["Default"]

    def _attribute(self, argument: Any, stack: Stack) -> str:
        logical_id, attribute = argument.split(".", 1) if isinstance(argument, str) else argument
        attributes = self._resource(logical_id, stack).attributes
        if attribute not in attributes:
            raise UnresolvedReferenceError(f"{stack.name}: the judge knows no attribute {attribute} of {logical_id}")
        return attributes[attribute]

    def _resource(self, logical_id: str, stack: Stack) -> Made:
        if logical_id not in stack.resources:
            raise UnresolvedReferenceError(f"{stack.name}: there is no resource {logical_id}")
        return self._made(stack, logical_id)

    def _substitute(self, argument: Any, stack: Stack) -> str:
        text, variables = (argument, {}) if isinstance(argument, str) else argument

        def replace(match: re.Match[str]) -> str:
            name = match[1]
            if name.startswith("!"):
                return f"${{{name[1:]}}}"
            if name in variables:
                return str(self.resolve(variables[name], stack))
            return str(self._attribute(name, stack) if "." in name else self._ref(name, stack))

        return re.sub(r"\$\{([^}]+)\}", replace, text)

    def _stack_output(self, argument: Mapping[str, Any], stack: Stack) -> Any:
        """Weak cross-stack reference: the value of an output of another stack of the assembly."""
        name = self.resolve(argument["StackName"], stack)
        if name not in self._stacks:
            raise UnresolvedReferenceError(f"{stack.name}: refers to stack {name}, which is not in the assembly")
        producer = self._stacks[name]
        output = producer.template.get("Outputs", {}).get(argument["OutputName"])
        if output is None:
            raise UnresolvedReferenceError(f"{stack.name}: stack {name} has no output {argument['OutputName']}")
        return self.resolve(output["Value"], producer)
