"""Template properties into API arguments: botocore's own model of the call decides what fits."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from botocore.model import MapShape, StructureShape


class Fitter:
    """Fits one resource's properties to the input of an API call.

    Members are matched without regard to case, and values are coerced to the API's type: CloudFormation accepts
    ``"100"`` for a number, APIs do not. What has no home is collected in `unmapped`.

    Args:
        renames: Path of a property (``A.B``, list positions left out) to the API member that holds it on the
            same level; a target ``X.Y`` nests.
    """

    def __init__(self, renames: Mapping[str, str]) -> None:
        self._renames = renames
        self.unmapped: list[str] = []

    def fit(self, shape: Any, value: Any, path: str = "") -> Any:
        """The value in the form of the shape; ``path`` is where in the properties it comes from.

        Raises:
            ValueError: A number is expected and the text is none.
        """
        match shape.type_name:
            case "structure":
                return self._structure(shape, value, path)
            case "list":
                items = value if isinstance(value, list) else [value]
                return [self.fit(shape.member, item, path) for item in items if item is not None]
            case "map":
                return self._map(shape, value, path)
            case scalar:
                return _SCALARS.get(scalar, _unchanged)(value)

    def _structure(self, shape: StructureShape, value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            self.unmapped.append(path)
            return {}
        fitted: dict[str, Any] = {}
        for name, item in value.items():
            if item is None:
                continue
            item_path = f"{path}.{name}" if path else name
            self._place(shape, fitted, self._renames.get(item_path, name), item, item_path)
        return fitted

    def _place(self, shape: Any, fitted: dict[str, Any], target: str, item: Any, item_path: str) -> None:
        first, _, rest = target.partition(".")
        member = member_named(shape, first)
        if member is None:
            self.unmapped.append(item_path)
        elif rest:
            self._place(shape.members[member], fitted.setdefault(member, {}), rest, item, item_path)
        else:
            fitted[member] = self.fit(shape.members[member], item, item_path)

    def _map(self, shape: MapShape, value: Any, path: str) -> dict[str, Any]:
        if isinstance(value, list):  # tags: a list in templates, a map in some APIs
            value = {item["Key"]: item["Value"] for item in value}
        if not isinstance(value, Mapping):
            self.unmapped.append(path)
            return {}
        return {str(key): self.fit(shape.value, item, path) for key, item in value.items()}


def member_named(shape: StructureShape, name: str) -> str | None:
    """The member of a structure that has this name in some capitalisation."""
    for member in shape.members:
        if member.lower() == name.lower():
            return str(member)
    return None


def _unchanged(value: Any) -> Any:
    """Timestamps and blobs: botocore takes what the template has."""
    return value


def _boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else str(value).lower() == "true"


def _integer(value: Any) -> int:
    return int(float(value))


def _text(value: Any) -> str:
    """Text as APIs want it: policy documents and the like are JSON."""
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


_SCALARS: Mapping[str, Callable[[Any], Any]] = {
    "integer": _integer,
    "long": _integer,
    "float": float,
    "double": float,
    "boolean": _boolean,
    "string": _text,
}
