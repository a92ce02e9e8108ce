"""What the expressions of a row know about the resource they are evaluated for."""

from dataclasses import replace
from typing import Any

from slipway_emulator.resources.handler import Existing, Request
from slipway_emulator.resources.row import GeneratedName
from slipway_emulator.settings import ACCOUNT

_LONGEST_GENERATED = 60


def known(request: Request, existing: Existing | None = None) -> dict[str, Any]:
    """The names that `row` documents, before any call was made."""
    return {
        "properties": dict(request.properties),
        "id": existing.physical_id if existing else None,
        "attributes": dict(existing.attributes) if existing else {},
        "answer": {},
        "generated": request.generated_name(_LONGEST_GENERATED),
        "region": request.stack.region,
        "account": ACCOUNT,
        "stack": request.stack.name,
    }


def with_generated_name(request: Request, naming: GeneratedName | None) -> Request:
    """The request with a name made up for the naming property, where there is one and the template gave none."""
    if naming is None:
        return request
    return with_name(request, naming, request.generated_name(naming.longest, lower_case=naming.lower_case))


def with_name(request: Request, naming: GeneratedName, text: str) -> Request:
    """The request with a physical name, unless the template gave one."""
    return replace(request, properties={naming.property: text, **request.properties})
