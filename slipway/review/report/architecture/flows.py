"""Flows between the parts of the picture, where the templates prove them (flows.yaml)."""

import json
from collections.abc import Iterator
from typing import Any

from slipway.review.report.architecture.model import Flow, Part
from slipway.review.report.architecture.rows import FlowRow, flow_rows
from slipway.review.report.architecture.template_values import Resources, as_text, at_path

_Pairs = dict[str, list[tuple[Part, Part]]]


def people_of(parts: tuple[Part, ...], resources: Resources) -> Iterator[Part]:
    """Yield the people that use one of these parts."""
    rows = flow_rows()
    for kind, people in rows.people.items():
        used = (row for row in rows.flows if row.from_ == kind)
        if any(_used_by_people(row, part, resources) for row in used for part in parts):
            yield Part(
                id=kind, stack="", kind=kind, name="", title=people.title, details=people.details, place="people"
            )


def read_flows(parts: tuple[Part, ...], resources: Resources, region: str) -> Iterator[Flow]:
    """Yield every flow that the templates prove, in the order of flows.yaml.

    Args:
        parts: all parts, the people too.
        resources: what the parts were read from.
        region: AWS Region, for labels.
    """
    for row in flow_rows().flows:
        sources = [part for part in parts if part.kind == row.from_ and row.from_name in {None, part.name}]
        targets = [part for part in parts if part.kind == row.to and row.to_name in {None, part.name}]
        for label, pairs in _proven(row, sources, targets, resources, region).items():
            yield from _joined(label, pairs)


def _proven(row: FlowRow, sources: list[Part], targets: list[Part], resources: Resources, region: str) -> _Pairs:
    pairs: _Pairs = {}
    both = [(source, target) for source in sources for target in targets]
    if row.proof == "connector":
        for connector in (name for name in resources.by_id if resources.type_of(name) == row.connector):
            properties = resources.by_id[connector].get("Properties", {})
            if row.when is None or at_path(properties, row.when) is not None:
                label = row.label.format_map(_Texts(properties, region))
                found = [pair for pair in both if _connects(connector, pair, row.shared, resources)]
                pairs.setdefault(label, []).extend(found)
        return pairs
    proofs = {"people": _reached_by_people, "uses": _uses, "used": _used}
    pairs[row.label] = [pair for pair in both if proofs[row.proof](row, pair, resources)]
    return pairs


def _reached_by_people(row: FlowRow, pair: tuple[Part, Part], resources: Resources) -> bool:
    return _used_by_people(row, pair[1], resources)


def _uses(row: FlowRow, pair: tuple[Part, Part], resources: Resources) -> bool:
    return bool(set(pair[0].members) & _refers_to(pair[1], row.through, resources))


def _used(row: FlowRow, pair: tuple[Part, Part], resources: Resources) -> bool:
    return bool(set(pair[1].members) & _refers_to(pair[0], row.through, resources))


def _used_by_people(row: FlowRow, part: Part, resources: Resources) -> bool:
    if part.kind != row.to or row.to_name not in {None, part.name}:
        return False
    return row.says is None or any(row.says in json.dumps(resources.by_id[member]) for member in part.members)


def _refers_to(part: Part, through: frozenset[str], resources: Resources) -> set[str]:
    return {
        reached
        for member in part.members
        for reached in resources.reached(resources.by_id[member], part.stack, through)
    }


def _connects(connector: str, pair: tuple[Part, Part], shared: str | None, resources: Resources) -> bool:
    referred = set(resources.referred(resources.by_id[connector], connector.partition("/")[0]))
    source, target = pair
    if not referred & set(source.members):
        return False
    if shared is None:
        return bool(referred & set(target.members))
    common = referred & _refers_to(target, frozenset(), resources)
    return any(resources.type_of(name) == shared for name in common)


def _joined(label: str, pairs: list[tuple[Part, Part]]) -> Iterator[Flow]:
    """Make one flow of several with the same source, or of several with the same targets."""
    by_source: dict[str, list[str]] = {}
    for source, target in pairs:
        by_source.setdefault(source.id, []).append(target.id)
    by_targets: dict[tuple[str, ...], list[str]] = {}
    for source_id, target_ids in by_source.items():
        by_targets.setdefault(tuple(dict.fromkeys(target_ids)), []).append(source_id)
    for targets, sources in by_targets.items():
        yield Flow(sources=tuple(sources), targets=targets, label=label)


class _Texts(dict[str, str]):
    """Texts of properties, for `str.format_map`."""

    def __init__(self, properties: dict[str, Any], region: str) -> None:
        super().__init__()
        self._properties, self._region = properties, region

    def __missing__(self, path: str) -> str:
        return as_text(at_path(self._properties, path), self._region) or ""
