"""Values of a template as text: names and scripts that are put together from parts."""

from collections.abc import Mapping
from typing import Any

OPEN = "${"
"""How a part begins that only CloudFormation knows."""


def text_of(value: Any) -> str:
    """Write a value of a template as text.

    Args:
        value: what the template has: a text, a list of parts, or an intrinsic function.

    Returns:
        The text. An output of another stack stands in it as `${output STACK NAME}`, anything else that only
        CloudFormation knows as `${?}`.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(text_of, value))
    return _of_function(value) if isinstance(value, Mapping) else ""


def _of_function(value: Mapping[str, Any]) -> str:
    match value:
        case {"Fn::Join": [str(separator), list(parts)]}:
            return separator.join(map(text_of, parts))
        case {"Fn::Base64": content}:
            return text_of(content)
        case {"Fn::GetStackOutput": output}:
            return f"{OPEN}output {output['StackName']} {output['OutputName']}}}"
        case {"Ref": "AWS::URLSuffix"}:
            # No Region of the facts is in China, where it is another one.
            return "amazonaws.com"
        case _:
            return f"{OPEN}?}}"
