"""Which resource types the emulator knows, and the handler of each."""

from collections.abc import Iterable, Mapping

from slipway.rehearsal.emulator.failures import TemplateError
from slipway.rehearsal.emulator.resources.handler import ResourceHandler

_CUSTOM_PREFIX = "Custom::"
_CUSTOM_TYPE = "AWS::CloudFormation::CustomResource"


class Catalogue:
    """Handlers by resource type; every ``Custom::`` type shares the custom resources' handler."""

    def __init__(self) -> None:
        self._handlers: dict[str, ResourceHandler] = {}

    def add(self, handlers: Mapping[str, ResourceHandler]) -> None:
        """Take handlers in; a later one replaces an earlier one of the same type."""
        self._handlers.update(handlers)

    def check(self, resource_types: Iterable[str]) -> None:
        """Refuse a template with a type that nothing here can stand for.

        Raises:
            TemplateError: Names every unknown type, as CloudFormation does.
        """
        unknown = sorted({name for name in resource_types if _canonical(name) not in self._handlers})
        if unknown:
            raise TemplateError(f"Template format error: Unrecognized resource types: [{', '.join(unknown)}]")

    def handler(self, resource_type: str) -> ResourceHandler:
        """The handler of a type that `check` let pass."""
        return self._handlers[_canonical(resource_type)]

    def types(self) -> list[str]:
        """Every known type, sorted."""
        return sorted(self._handlers)


def _canonical(resource_type: str) -> str:
    return _CUSTOM_TYPE if resource_type.startswith(_CUSTOM_PREFIX) else resource_type
