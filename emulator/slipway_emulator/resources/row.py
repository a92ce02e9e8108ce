"""The form of a resource type's row: which API calls create, change and delete it.

Texts in ``arguments``, ``attributes`` and ``physical_id`` are JMESPath expressions (see `expressions`) over:

* ``properties``: the template's properties, with the generated name where the template gave none;
* ``answer``: what the create call returned; ``id``: the physical id; ``attributes``: those found so far;
* ``value``: the property's value, or one item of it, inside a setting; ``reads``: the answers of ``reads``;
* ``generated``: a random name; ``region``, ``account``, ``stack``.
"""

import re
from functools import cached_property

from pydantic import BaseModel, ConfigDict

_PROPERTY_IN_EXPRESSION = re.compile(r"\bproperties\.(\w+)")
_ALL_PROPERTIES_IN_EXPRESSION = re.compile(r"\bproperties\b(?!\.)")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Call(_Model):
    """One API call.

    Attributes:
        operation: boto3's method name.
        arguments: API argument to expression; an argument whose expression finds nothing is left out.
        rename: Property path to API member, for what `shapes.Fitter` cannot match by name.
    """

    operation: str
    arguments: dict[str, str] = {}
    rename: dict[str, str] = {}

    def uses(self, property_name: str) -> bool:
        """Whether the arguments' expressions read a property; it is then not fitted a second time."""
        return self._uses_all or property_name in self._used_properties

    @cached_property
    def _used_properties(self) -> frozenset[str]:
        texts = self.arguments.values()
        return frozenset(name for text in texts for name in _PROPERTY_IN_EXPRESSION.findall(text))

    @cached_property
    def _uses_all(self) -> bool:
        return any(_ALL_PROPERTIES_IN_EXPRESSION.search(text) for text in self.arguments.values())


class Setting(_Model):
    """A property that takes a call of its own, after the create call and whenever it changes.

    Attributes:
        apply: The call that puts ``value`` in place.
        remove: The call that takes it away when the property is dropped.
        each: The property is a list and every item takes a call; ``value`` is the item.
        release: AWS refuses to delete the resource while this is in place, so it is taken away before.
        first: A call before the first apply (AWS's own default gives way).
        in_create: The create call takes the property itself; only a later change needs ``apply``.
    """

    apply: Call
    remove: Call | None = None
    each: bool = False
    release: bool = False
    first: Call | None = None
    in_create: bool = False


class GeneratedName(_Model):
    """The property that names the resource, made up as CloudFormation does when the template gives none."""

    property: str
    longest: int = 63
    lower_case: bool = False


class Row(Call):
    """A resource type that API calls stand behind.

    Attributes:
        service: boto3's name of the service.
        operation: The create call; empty for a type that is nothing but its settings.
        name: The naming property, where there is one.
        tag_resource_type: EC2's name of the type in TagSpecifications; Tags then go there.
        physical_id: What Ref answers.
        reads: Calls after creation, by name, whose answers attributes are taken from.
        attributes: What Fn::GetAtt answers.
        settings: By property.
        update: The call that changes other properties in place; they are fitted to it as to the create call.
        updates_only_recorded: AWS changes the resource in place and moto has no call for it: the change is
            accepted and reported as unmapped.
        recorded_changes: Properties of which the same is true, while others take the update call.
        before_delete: Calls that clear the way for ``delete``.
        delete: The delete call; a type without one goes with another resource.
    """

    service: str
    operation: str = ""
    name: GeneratedName | None = None
    tag_resource_type: str = ""
    physical_id: str
    reads: dict[str, Call] = {}
    attributes: dict[str, str] = {}
    settings: dict[str, Setting] = {}
    update: Call | None = None
    updates_only_recorded: bool = False
    recorded_changes: frozenset[str] = frozenset()
    before_delete: tuple[Call, ...] = ()
    delete: Call | None = None


class Record(_Model):
    """A resource type that nothing stands behind: it is written down, and reported as only that.

    Attributes:
        why: What the emulator lacks.
        name: The naming property, where there is one.
        physical_id: Expression for what Ref answers.
        attributes: Expressions for what Fn::GetAtt answers.
    """

    why: str
    name: GeneratedName | None = None
    physical_id: str = "generated"
    attributes: dict[str, str] = {}


def calls(row: Row) -> list[Call]:
    """Every call that a row makes, the create call first."""
    found: list[Call | None] = [row if row.operation else None, *row.reads.values()]
    for setting in row.settings.values():
        found += [setting.first, setting.apply, setting.remove]
    found += [row.update, *row.before_delete, row.delete]
    return [call for call in found if call is not None]
