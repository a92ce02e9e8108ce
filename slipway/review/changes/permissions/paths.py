"""All settings of a resource by their paths."""

from collections.abc import Iterator
from typing import Any

from slipway.review.changes.properties import item_name


def paths(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value in a value with its path, such as `Rules[RateLimit].Action`; items without a name by place."""
    if path:
        yield path, value
    if isinstance(value, dict):
        for name, item in value.items():
            yield from paths(item, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            name = item_name(item)
            yield from paths(item, f"{path}[{number if name is None else name}]")
