"""References between resources as text, so that templates of several stacks can be compared as one.

`{"Ref": "Vpc"}` in stack `network` becomes `${network/Vpc}`, `{"Fn::GetAtt": ["Vpc", "CidrBlock"]}` becomes
`${network/Vpc.CidrBlock}`; a reference to another stack's output becomes what that output refers to, and the name of a
condition becomes its definition. What cannot be known before the deployment stays as it is.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from slipway.assembly.stacks import Stack

_REFERENCE = re.compile(r"\$\{(?:new )?([\w-]+/\w+)((?:\.[^}]*)?)\}")
_VARIABLE = re.compile(r"\$\{([^}!][^}]*)\}")


class Reader:
    """Rewrites the references of an assembly's templates."""

    def __init__(self, stacks: tuple[Stack, ...]) -> None:
        self._templates: Mapping[str, Any] = {stack.name: stack.template for stack in stacks}
        self._functions: Mapping[str, Callable[[Any, str], Any]] = {
            "Ref": self._ref,
            "Fn::GetAtt": self._attribute,
            "Fn::Sub": self._substitute,
            "Fn::Join": self._join,
            "Fn::GetStackOutput": self._stack_output,
            "Fn::ImportValue": self._import,
            "Fn::If": self._if,
            "Condition": self._condition,
        }

    def read(self, value: Any, stack: str) -> Any:
        """Return a value of a template with text in the place of references.

        Args:
            value: anything of a template.
            stack: name of the template's stack.
        """
        if isinstance(value, list):
            return [self.read(item, stack) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name in self._functions:
                return self._functions[name](argument, stack)
        return {name: self.read(item, stack) for name, item in value.items()}

    def condition(self, name: str, stack: str) -> str:
        """Return the definition of a condition as text.

        Args:
            name: a name in the template's conditions.
            stack: name of the template's stack.
        """
        return _text(self.read(self._templates[stack].get("Conditions", {}).get(name, name), stack))

    def _condition(self, argument: Any, stack: str) -> Any:
        # Conditions refer to each other in this way; policies have objects of that name.
        is_name = isinstance(argument, str)
        return self.condition(argument, stack) if is_name else {"Condition": self.read(argument, stack)}

    def _if(self, argument: Any, stack: str) -> Any:
        name, *values = argument
        return {"Fn::If": [self.condition(name, stack), *self.read(values, stack)]}

    def _ref(self, name: str, stack: str) -> str:
        return f"${{{name}}}" if name.startswith("AWS::") else f"${{{stack}/{name}}}"

    def _attribute(self, argument: Any, stack: str) -> str:
        name, attribute = argument.split(".", 1) if isinstance(argument, str) else argument
        return f"${{{stack}/{name}.{self.read(attribute, stack)}}}"

    def _substitute(self, argument: Any, stack: str) -> str:
        pattern, variables = argument if isinstance(argument, list) else (argument, {})

        def value(match: re.Match[str]) -> str:
            name = match[1]
            if name in variables:
                return _text(self.read(variables[name], stack))
            return self._ref(name, stack) if "." not in name else self._attribute(name, stack)

        return _VARIABLE.sub(value, pattern)

    def _join(self, argument: Any, stack: str) -> Any:
        separator, parts = argument
        read = self.read(parts, stack)
        if not isinstance(read, list):
            return {"Fn::Join": [separator, read]}
        return separator.join(_text(part) for part in read)

    def _stack_output(self, argument: Any, stack: str) -> Any:
        of_stack, output = _text(self.read(argument["StackName"], stack)), argument["OutputName"]
        outputs = self._templates.get(of_stack, {}).get("Outputs", {})
        if output in outputs:
            return self.read(outputs[output]["Value"], of_stack)
        return f"${{{of_stack}/{output}}}"

    def _import(self, argument: Any, stack: str) -> Any:
        name = self.read(argument, stack)
        for of_stack, template in self._templates.items():
            for output in template.get("Outputs", {}).values():
                if "Export" in output and self.read(output["Export"]["Name"], of_stack) == name:
                    return self.read(output["Value"], of_stack)
        return {"Fn::ImportValue": name}


def _text(value: Any) -> str:
    # With other quotation marks: the text may be part of a JSON document.
    return value if isinstance(value, str) else json.dumps(value).replace('"', "'")


def strings(value: Any) -> Iterator[str]:
    """Yield all text in a value, keys of objects aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def references(value: Any) -> Iterator[tuple[str, str]]:
    """Yield what a value refers to: `stack/logical id`, and the attribute with its dot or nothing."""
    for text in strings(value):
        for match in _REFERENCE.finditer(text):
            yield match[1], match[2]


def rewritten(value: Any, rewrite: Callable[[str], str]) -> Any:
    """Return a value with all its text rewritten, keys of objects aside."""
    if isinstance(value, str):
        return rewrite(value)
    if isinstance(value, dict):
        return {key: rewritten(item, rewrite) for key, item in value.items()}
    if isinstance(value, list):
        return [rewritten(item, rewrite) for item in value]
    return value


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return a value that refers to resources by their new `stack/logical id`."""
    return rewritten(
        value, lambda text: _REFERENCE.sub(lambda match: f"${{{names.get(match[1], match[1])}{match[2]}}}", text)
    )


def marked(value: Any, moved: frozenset[str]) -> Any:
    """Return a value whose references that get a new value say so: `${new network/Vpc}`."""

    def mark(match: re.Match[str]) -> str:
        is_new = match[1] in moved or match[1] + match[2] in moved
        return f"${{new {match[1]}{match[2]}}}" if is_new else match[0]

    return rewritten(value, lambda text: _REFERENCE.sub(mark, text))
