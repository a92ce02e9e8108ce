"""A copy of an environment file with the changes that every user makes first: more nodes, a model, another budget.

The copy is edited as text at the places that the YAML parser names, so that comments and order stay as they are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from slipway.config.environment import Environment
from slipway.config.kubernetes import NodeGroup
from slipway.config.loader import load_environment
from slipway.config.problems import InvalidEnvironment, dotted
from slipway.config.queues import Queue
from slipway.rehearse.errors import RehearsalError

Field = tuple[str | int, ...]


class NoChangeError(RehearsalError):
    """None of the changes gives a valid environment."""


@dataclass(frozen=True)
class Change:
    """One value to change.

    Attributes:
        field: keys and indexes that lead to the value. Its section must be in the file; the value need not.
        values: gives what to write for the text that stands there (None when nothing does, or no single value), best
            first. The first that makes a valid environment is taken.
    """

    field: Field
    values: Callable[[str | None], tuple[str, ...]]


def _more(default: int) -> Callable[[str | None], tuple[str, ...]]:
    """One more, or where a limit forbids it one less, than what exists there or the default."""

    def values(text: str | None) -> tuple[str, ...]:
        number = default if text is None else int(yaml.safe_load(text))
        return str(number + 1), str(number - 1)

    return values


def _changes(environment: Environment) -> tuple[Change, ...]:
    """Return the changes in the order in which they are tried; a later one may need an earlier one."""
    return (
        *_more_nodes(environment),
        Change(("inference", "models", 0, "prefix"), lambda text: ("rehearsal/v1",)),
        _scaling(environment),
        Change(("operations", "monthly_budget_usd"), _more(0)),
    )


def _more_nodes(environment: Environment) -> Iterator[Change]:
    """Let the first queue, and the first node group, have another node; both clusters may be there, or one of them."""
    # A reservation has as many nodes as its queue says: asking for one more than that fails, and rightly so.
    queues = environment.training.queues if environment.training else ()
    node_groups = environment.kubernetes.node_groups if environment.kubernetes else ()
    for number in _unreserved(queues)[:1]:
        yield Change(("training", "queues", number, "compute_resources", 0, "max_count"), _more(1))
    for number in _unreserved(node_groups)[:1]:
        yield Change(("kubernetes", "node_groups", number, "max_count"), _more(1))


def _unreserved(nodes: Sequence[Queue | NodeGroup]) -> list[int]:
    return [number for number, kind in enumerate(nodes) if kind.capacity_reservation_id is None]


def _scaling(environment: Environment) -> Change:
    """Let the first model's tasks scale, or scale further where they do."""
    scaling: Field = ("inference", "models", 0, "scaling")
    if environment.inference and environment.inference.models[0].scaling.max_count is not None:
        return Change((*scaling, "max_count"), _more(1))
    return Change(scaling, lambda text: ("{min_count: 1, max_count: 2}",))


def write_changed_environment(original: Path, copy: Path) -> tuple[str, ...]:
    """Write a changed, valid copy of an environment file.

    Args:
        original: the environment file.
        copy: where the copy goes.

    Returns:
        What was changed, as `training.queues[0].compute_resources[0].max_count: 5`.

    Raises:
        NoChangeError: no change is possible in this file.
        InvalidEnvironment: the original is not valid.
    """
    text = original.read_text(encoding="utf-8")
    changes = _changes(load_environment(original))
    made: list[str] = []
    for change in changes:
        for value, attempt in _attempts(text, change):
            copy.write_text(attempt, encoding="utf-8")
            if _is_valid(copy):
                text = attempt
                made.append(f"{dotted(change.field)}: {value}")
                break
    if not made:
        raise NoChangeError(f"no change of {', '.join(dotted(change.field) for change in changes)} is valid")
    copy.write_text(text, encoding="utf-8")
    return tuple(made)


def _is_valid(path: Path) -> bool:
    try:
        load_environment(path)
    except InvalidEnvironment:
        return False
    return True


def _attempts(text: str, change: Change) -> Iterator[tuple[str, str]]:
    """Give each value that may be tried, and the text with it.

    There is none where the section is missing, or where something other than a scalar stands.
    """
    section, node = _node(text, change.field[:-1]), _node(text, change.field)
    if not isinstance(section, yaml.MappingNode) or not section.value:
        return
    if node is None:
        for value in change.values(None):
            yield value, _inserted(text, section, f"{change.field[-1]}: {value}")
    elif isinstance(node, yaml.ScalarNode):
        for value in change.values(node.value):
            yield value, text[: node.start_mark.index] + value + text[node.end_mark.index :]


def _node(text: str, field: Field) -> yaml.Node | None:
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    for part in field:
        if isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == part), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
        else:
            return None
    return node


def _inserted(text: str, section: yaml.MappingNode, entry: str) -> str:
    """Put an entry in front of the first one of its section."""
    first = section.value[0][0].start_mark
    separator = ", " if section.flow_style else "\n" + " " * first.column
    return text[: first.index] + entry + separator + text[first.index :]
