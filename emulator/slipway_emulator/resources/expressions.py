"""The language of the resource rows: JMESPath over what is known when a call is made."""

from functools import cache
from typing import Any

import jmespath
from jmespath import functions
from jmespath.parser import ParsedResult

_RULE_TARGETS = {
    # CloudFormation's flat members of a security group rule -> where they sit in an API permission
    "CidrIp": ("IpRanges", "CidrIp"),
    "CidrIpv6": ("Ipv6Ranges", "CidrIpv6"),
    "SourceSecurityGroupId": ("UserIdGroupPairs", "GroupId"),
    "DestinationSecurityGroupId": ("UserIdGroupPairs", "GroupId"),
    "SourcePrefixListId": ("PrefixListIds", "PrefixListId"),
    "DestinationPrefixListId": ("PrefixListIds", "PrefixListId"),
}


class _Functions(functions.Functions):
    """JMESPath's functions and a few more; a name ``_func_x`` is called as ``x``."""

    @functions.signature({"types": ["string"]}, {"types": ["string"]})
    def _func_split(self, text: str, separator: str) -> list[str]:
        return text.split(separator)

    @functions.signature({"types": ["object"]})
    def _func_permissions(self, rule: dict[str, Any]) -> list[dict[str, Any]]:
        """A security group rule of a template as the API's IpPermissions."""
        permission: dict[str, Any] = {"IpProtocol": str(rule["IpProtocol"])}
        for port in ("FromPort", "ToPort"):
            if rule.get(port) is not None:
                permission[port] = int(rule[port])
        description = {"Description": rule["Description"]} if rule.get("Description") else {}
        for member, (target, key) in _RULE_TARGETS.items():
            if rule.get(member):
                permission[target] = [{key: rule[member], **description}]
        return [permission]

    @functions.signature({"types": ["object"]})
    def _func_items(self, value: dict[str, Any]) -> list[list[Any]]:
        """An object's members as pairs of name and value, for APIs that want a list of them."""
        return [[name, item] for name, item in value.items()]

    @functions.signature({"types": ["object"]}, {"types": ["string"]})
    def _func_without(self, value: dict[str, Any], name: str) -> dict[str, Any]:
        """An object without one of its members."""
        return {key: item for key, item in value.items() if key != name}


_OPTIONS = jmespath.Options(custom_functions=_Functions())


@cache
def compiled(expression: str) -> ParsedResult:
    """The parsed expression; raises jmespath.exceptions.ParseError when it is not one."""
    return jmespath.compile(expression)


def evaluate(expression: str, known: dict[str, Any]) -> Any:
    """The expression's value over everything that is known; None when it finds nothing."""
    return compiled(expression).search(known, options=_OPTIONS)
