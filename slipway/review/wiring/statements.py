"""Statements of the policies in an assembly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from slipway.review.changes.references import references
from slipway.review.changes.resources import Resource
from slipway.review.wiring.resources import Resources, mapping, rows, texts

_DOCUMENTS = ("AssumeRolePolicyDocument", "PolicyDocument", "KeyPolicy", "RepositoryPolicyText", "ResourcePolicy")


@dataclass(frozen=True)
class Statement:
    """One statement of a policy, as the template has it."""

    row: Mapping[str, Any]

    @property
    def allows(self) -> bool:
        """Whether its effect is Allow."""
        return self.row.get("Effect") == "Allow"

    @property
    def actions(self) -> list[str]:
        """Its actions; empty for a statement with `NotAction`."""
        return texts(self.row.get("Action"))

    @property
    def services(self) -> list[str]:
        """Its service principals."""
        return self._principals("Service")

    @property
    def accounts(self) -> list[str]:
        """Its AWS principals: accounts, roles and users."""
        return self._principals("AWS")

    @property
    def resources(self) -> list[str]:
        """Its resources; empty for a statement with `NotResource`."""
        return texts(self.row.get("Resource"))

    def condition(self, operator: str) -> dict[str, list[str]]:
        """Return the keys and values of a condition operator such as `Null`, in lower case."""
        found = mapping(mapping(self.row.get("Condition")).get(operator))
        values = {key: value if isinstance(value, list) else [value] for key, value in found.items()}
        return {key.lower(): [str(one).lower() for one in of_key] for key, of_key in values.items()}

    def is_for(self, service: str) -> bool:
        """Whether a service, or everyone, is its principal."""
        principal = self.row.get("Principal")
        everybody = principal == "*" or (isinstance(principal, Mapping) and principal.get("AWS") == "*")
        return everybody or service in self.services

    def allows_action(self, action: str) -> bool:
        """Whether it allows an action, on any resource."""
        patterns = [pattern.lower() for pattern in self.actions]
        return self.allows and any(fnmatchcase(action.lower(), pattern) for pattern in patterns)

    def _principals(self, kind: str) -> list[str]:
        principal = self.row.get("Principal")
        return texts(principal.get(kind)) if isinstance(principal, Mapping) else []


def statements(document: Any) -> Iterator[Statement]:
    """Yield the statements of a policy document."""
    found = document.get("Statement") if isinstance(document, Mapping) else None
    for row in rows(found if isinstance(found, list) else [found]):
        yield Statement(row)


def statements_about(resources: Resources) -> Iterator[tuple[Resource, str, Statement]]:
    """Yield the statements of all policies, each with its resource and the path of the policy."""
    for each in resources.by_key.values():
        for path in _DOCUMENTS:
            for statement in statements(each.properties.get(path)):
                yield each, path, statement


def statements_of_role(resources: Resources, role: Resource) -> Iterator[Statement]:
    """Yield the statements of the policies in the stacks that a role has, inline or attached."""
    for policy in resources.of_type("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
        if any(key == role.key for key, _ in references(policy.at("Roles"))):
            yield from statements(policy.at("PolicyDocument"))
    for inline in rows(role.at("Policies")):
        yield from statements(inline.get("PolicyDocument"))
