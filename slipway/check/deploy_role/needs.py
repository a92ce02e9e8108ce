"""What a deployment of a cloud assembly does, and to what: the facts that its policies are made of."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slipway.assembly.bootstrap import DEFAULT_QUALIFIER, read_qualifier
from slipway.assembly.stacks import CLUSTER_TYPE, ENVIRONMENT_TAG, NoAssemblyError, Stack, read_stacks
from slipway.catalogue import known
from slipway.check.deploy_role.names import name_prefix
from slipway.check.deploy_role.tables import actions

_CUSTOM = "Custom::"
_NESTED = "AWS::CloudFormation::Stack"
_LIFTS_BOUNDARIES = frozenset({"iam:DeleteRolePermissionsBoundary"})


class UnknownTypeError(Exception):
    """A resource type without actions in the catalogue: a policy without them would fail in the deployment."""


@dataclass(frozen=True)
class Needs:
    """What is deployed.

    Attributes:
        environment: the environment's name.
        region: AWS Region.
        stack_names: the stacks of the app.
        clusters: names of its Slurm clusters.
        qualifier: the qualifier of the CDK bootstrap that deploys it.
        stack_services: stack and IAM's name of a service of which the stack, or AWS's template in it, has a resource.
        actions: IAM actions that CloudFormation's own role needs.
        role_services: services that roles are passed to: those in the trust policies of the templates' roles, and those
            whose own role the templates name.
        linked_services: services whose service-linked role is made with the first resource.
        permissions_boundary: ARN of the boundary that every role has; None when a role has none. AWS's own template of
            the ParallelCluster provider makes a role without one.
        nests_provider: whether the templates nest the one of the ParallelCluster provider.
    """

    environment: str
    region: str
    stack_names: tuple[str, ...]
    clusters: tuple[str, ...]
    qualifier: str
    stack_services: frozenset[tuple[str, str]]
    actions: frozenset[str]
    role_services: tuple[str, ...]
    linked_services: tuple[str, ...]
    permissions_boundary: str | None
    nests_provider: bool

    @property
    def has_own_bootstrap(self) -> bool:
        """Whether the roles of its bootstrap deploy no other environment."""
        return self.qualifier != DEFAULT_QUALIFIER

    def name_prefixes(self, service: str) -> tuple[str, ...]:
        """Return how the names begin that CloudFormation makes up for the environment's resources of a service.

        Args:
            service: IAM's name of a service, for example `lambda`. Of one that no stack has, every stack counts.
        """
        having = [stack for stack in self.stack_names if (stack, service) in self.stack_services]
        return tuple(dict.fromkeys(name_prefix(stack) for stack in having or self.stack_names))


def read_needs(assembly: Path) -> Needs:
    """Read a cloud assembly.

    Raises:
        NoAssemblyError: the folder is none, or its stacks are not those of one environment.
        UnknownTypeError: it has a resource type that the table does not know; the message names all.
    """
    stacks = read_stacks(assembly)
    names = {stack.tags.get(ENVIRONMENT_TAG, "") for stack in stacks}
    if len(names) != 1 or "" in names:
        raise NoAssemblyError(f"{assembly} does not hold the stacks of one environment: {sorted(names)}")
    environment = names.pop()
    resources = [resource for stack in stacks for resource in stack.template["Resources"].values()]
    types = {resource["Type"] for resource in resources}
    boundary = _boundary(resources)
    return Needs(
        environment=environment,
        region=stacks[0].region,
        stack_names=tuple(stack.name for stack in stacks),
        clusters=tuple(r["Properties"]["ClusterName"] for r in resources if r["Type"] == CLUSTER_TYPE),
        qualifier=read_qualifier(assembly),
        stack_services=frozenset(_stack_services(stacks)),
        actions=frozenset(_actions(types, resources)) - (_LIFTS_BOUNDARIES if boundary else frozenset()),
        role_services=tuple(sorted(set(_role_services(resources)))),
        linked_services=tuple(sorted({name for kind in types for name in known(kind).linked_services})),
        permissions_boundary=boundary,
        nests_provider=_NESTED in types,
    )


def _stack_services(stacks: Sequence[Stack]) -> Iterator[tuple[str, str]]:
    for stack in stacks:
        resources = list(stack.template["Resources"].values())
        types = {resource["Type"] for resource in resources} | set(_nested_types(resources))
        yield from ((stack.name, kind.split("::")[1].lower()) for kind in types)


def _actions(types: set[str], resources: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the actions of all types.

    Raises:
        UnknownTypeError: the catalogue has no actions for a type.
    """
    table = actions()
    yield from table.every_stack
    if any(kind.startswith(_CUSTOM) for kind in types):
        yield from table.custom_resource
    provisioned = {kind for kind in types if not kind.startswith(_CUSTOM)} | set(_nested_types(resources))
    unknown = sorted(kind for kind in provisioned if known(kind).deploy_actions is None)
    if unknown:
        raise UnknownTypeError(
            f"slipway/catalogue/services has no deploy_actions for {', '.join(unknown)}: add what CloudFormation needs"
        )
    for kind in provisioned:
        yield from known(kind).deploy_actions or ()


def _nested_types(resources: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the types of resource in the templates that are nested from elsewhere.

    Raises:
        UnknownTypeError: the table does not know such a template.
    """
    for resource in resources:
        if resource["Type"] == _NESTED:
            url = json.dumps(resource["Properties"]["TemplateURL"])
            found = [types for part, types in actions().nested_stacks.items() if part in url]
            if not found:
                raise UnknownTypeError(
                    f"slipway/check/deploy_role/actions.yaml does not say what the nested stack {url} makes"
                )
            yield from found[0]


def _role_services(resources: list[Mapping[str, Any]]) -> Iterator[str]:
    for resource in resources:
        if resource["Type"] == "AWS::IAM::Role":
            for statement in resource["Properties"]["AssumeRolePolicyDocument"]["Statement"]:
                services = statement["Principal"].get("Service", [])
                yield from [services] if isinstance(services, str) else services
        elif resource["Type"] == _NESTED:
            yield "lambda.amazonaws.com"
        yield from known(resource["Type"]).passed_linked_roles


def _boundary(resources: list[Mapping[str, Any]]) -> str | None:
    """Return the boundary that all roles have, none if one role has another or none."""
    if any(resource["Type"] == _NESTED for resource in resources):
        return None
    roles = [resource["Properties"] for resource in resources if resource["Type"] == "AWS::IAM::Role"]
    found = {str(role.get("PermissionsBoundary", "")) for role in roles}
    return found.pop() or None if len(found) == 1 else None
