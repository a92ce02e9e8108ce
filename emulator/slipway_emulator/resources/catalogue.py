"""Which resource types the emulator knows, and the handler of each."""

from collections.abc import Iterable, Mapping

from slipway_emulator.failures import TemplateError
from slipway_emulator.resources.handler import ResourceHandler, SnapshotTaker
from slipway_emulator.template.document import ResourceDefinition

CUSTOM_RESOURCE = "AWS::CloudFormation::CustomResource"
_CUSTOM_PREFIX = "Custom::"
_POLICIES = ("DeletionPolicy", "UpdateReplacePolicy")


class Catalogue:
    """Handlers by resource type; every ``Custom::`` type without one of its own shares the custom resources'."""

    def __init__(self) -> None:
        self._handlers: dict[str, ResourceHandler] = {}

    def add(self, handlers: Mapping[str, ResourceHandler]) -> None:
        """Take handlers in; a later one replaces an earlier one of the same type."""
        self._handlers.update(handlers)

    def check(self, definitions: Iterable[ResourceDefinition]) -> None:
        """Refuse resources that nothing here can stand for, or that cannot be deleted as they ask.

        Raises:
            TemplateError: Names every unknown type, or one without snapshots, as CloudFormation does.
        """
        policies = {(definition["Type"], definition.get(name)) for definition in definitions for name in _POLICIES}
        unknown = sorted({name for name, _ in policies if self._canonical(name) not in self._handlers})
        if unknown:
            raise TemplateError(f"Template format error: Unrecognized resource types: [{', '.join(unknown)}]")
        for name, policy in policies:
            if policy == "Snapshot" and not isinstance(self.handler(name), SnapshotTaker):
                raise TemplateError(f"Template error: resource type {name} does not support deletion policy Snapshot")

    def handler(self, resource_type: str) -> ResourceHandler:
        """The handler of a type that `check` let pass."""
        return self._handlers[self._canonical(resource_type)]

    def _canonical(self, resource_type: str) -> str:
        """The type whose handler is asked: custom resources share one, except for those with their own."""
        own = resource_type in self._handlers or not is_custom(resource_type)
        return resource_type if own else CUSTOM_RESOURCE


def is_custom(resource_type: str) -> bool:
    """Whether a Lambda function of the user stands behind the type."""
    return resource_type.startswith(_CUSTOM_PREFIX) or resource_type == CUSTOM_RESOURCE
