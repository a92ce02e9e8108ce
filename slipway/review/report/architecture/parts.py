"""Parts of the picture, from resources and the rows of the catalogue."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from slipway.review.report.architecture.model import Part
from slipway.review.report.architecture.rows import EachLine, PartRow, PieceRow, part_rows, words
from slipway.review.report.architecture.template_values import Resources, as_text, at_path, construct_name

_FIELD = re.compile(r"\{([^}|]+)(\|tail)?\}")


@dataclass(frozen=True)
class _Source:
    """A resource and the settings of it that a part is made of."""

    resources: Resources
    resource_id: str
    settings: Any
    members: tuple[str, ...]
    words: dict[str, str]
    region: str

    @property
    def stack(self) -> str:
        return self.resource_id.partition("/")[0]

    def value(self, path: str, settings: Any = None) -> Any:
        """Return what exists at a path of the settings; `Type/path` is one of a member's properties."""
        member_type, slash, inner = path.partition("/")
        if not slash:
            return at_path(self.settings if settings is None else settings, path)
        for member in self.members:
            if self.resources.type_of(member) == member_type:
                return at_path(self.resources.by_id[member].get("Properties", {}), inner)
        return None

    def text(self, template: str, settings: Any = None) -> str | None:
        """Return a text with its {paths} filled in; None when one of them has no value."""
        missing = False

        def fill(match: re.Match[str]) -> str:
            nonlocal missing
            path, tail = match.groups()
            text = self.words.get(path) or as_text(self.value(path, settings), self.region)
            missing = missing or text is None
            shown = (text or "").rpartition(".")[2] if tail else text or ""
            return words().get(shown, shown)

        filled = _FIELD.sub(fill, template)
        return None if missing else filled


def read_parts(resources: Resources, region: str) -> Iterator[Part]:
    """Yield the parts that the catalogue names, in the order of drawing, then of the templates."""
    for resource_type, of_one in part_rows().items():
        ids = [name for name in resources.by_id if resources.type_of(name) == resource_type]
        row = of_one
        if of_one.several and len(ids) > 1:
            row = of_one.model_copy(update={"title": of_one.several, "details": (), "subnets": None, "once": True})
        for resource_id in _first_of_each_stack(ids) if row.once else ids:
            count = sum(name.partition("/")[0] == resource_id.partition("/")[0] for name in ids)
            source = _source(resources, resource_id, row, region, count)
            for piece in row.pieces or (row,):
                yield from _parts(source, piece, tuple(ids) if row.once else source.members)


def _first_of_each_stack(ids: list[str]) -> list[str]:
    return list({name.partition("/")[0]: name for name in reversed(ids)}.values())[::-1]


def _source(resources: Resources, resource_id: str, row: PartRow, region: str, count: int) -> _Source:
    resource = resources.by_id[resource_id]
    stack, _, logical_id = resource_id.partition("/")
    reached = resources.reached(resource, stack, frozenset(row.with_))
    return _Source(
        resources=resources,
        resource_id=resource_id,
        settings=resource.get("Properties", {}),
        members=(resource_id, *(name for name in reached if resources.type_of(name) in row.with_)),
        words={"name": construct_name(resource, logical_id), "count": str(count)},
        region=region,
    )


def _parts(source: _Source, row: PieceRow, members: tuple[str, ...]) -> Iterator[Part]:
    if row.needs and source.value(row.needs) is None:
        return
    settings = source.value(row.at) if row.at else source.settings
    for item in settings if isinstance(settings, list) else [settings]:
        if item is None:
            continue
        piece = str(item.get("Name", "")) if row.at else source.words["name"]
        subnets = source.resources.subnets(source.value(row.subnets, item), source.stack) if row.subnets else ()
        yield Part(
            id=f"{source.resource_id}#{row.kind} {piece}".strip() if row.at else source.resource_id,
            stack=source.stack,
            kind=row.kind,
            name=piece,
            title=_title(source, row, item),
            details=tuple(_details(source, row, item)),
            place="subnets" if subnets else row.place,
            subnets=subnets,
            group=row.group,
            members=members,
            settings=sha256(json.dumps(item, sort_keys=True).encode()).hexdigest(),
        )


def _title(source: _Source, row: PieceRow, item: Any) -> str:
    if row.titles:
        return row.titles.values.get(str(source.value(row.titles.property, item)), row.title)
    return source.text(row.title, item) or row.kind.replace("_", " ").capitalize()


def _details(source: _Source, row: PieceRow, item: Any) -> Iterator[str]:
    for detail in row.details:
        if isinstance(detail, EachLine):
            lines = [source.text(detail.line, inner) for inner in source.value(detail.each, item) or []]
        else:
            lines = [source.text(detail, item)]
        yield from (line for line in lines if line)
