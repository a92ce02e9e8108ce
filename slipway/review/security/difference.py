"""What one version of an environment breaks and accepts that another does not."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from slipway.review.security.model import Acknowledgement, Security, SecurityDelta, SecurityFinding

_Entry = TypeVar("_Entry", SecurityFinding, Acknowledgement)


def difference(base: Security, head: Security) -> SecurityDelta:
    """Compare the findings of two assemblies.

    A finding is the same when tool, rule and resource are: its words may name another size or price. A logical id
    stays when a construct moves without a change of the id, and so do its findings.

    Args:
        base: the version that the other is compared with.
        head: the version that is planned.
    """
    # What nobody looked for is not gone.
    looked_for = [finding for finding in base.findings if finding.tool not in head.not_run]
    return SecurityDelta(
        new=tuple(_surplus(head.findings, base.findings, _finding)),
        gone=tuple(_surplus(looked_for, head.findings, _finding)),
        new_acknowledgements=tuple(_surplus(head.acknowledgements, base.acknowledgements, _acknowledgement)),
        gone_acknowledgements=tuple(_surplus(base.acknowledgements, head.acknowledgements, _acknowledgement)),
        not_checked=tuple(_not_comparable(base.not_checked, head.not_checked)),
        not_run=tuple(dict.fromkeys((*head.not_run, *base.not_run))),
    )


def _finding(finding: SecurityFinding) -> Hashable:
    return (finding.tool, finding.rule, finding.stack, finding.resource)


def _acknowledgement(entry: Acknowledgement) -> Hashable:
    return (entry.rule, entry.stack, entry.resource)


def _surplus(
    entries: Iterable[_Entry], others: Iterable[_Entry], key: Callable[[_Entry], Hashable]
) -> Iterator[_Entry]:
    """Yield what is there more often than on the other side: those with new words, then any."""
    entries, others = list(entries), list(others)
    more = Counter(map(key, entries)) - Counter(map(key, others))
    for entry in sorted(entries, key=lambda one: one in others):
        if more[key(entry)] > 0:
            more[key(entry)] -= 1
            yield entry


def _not_comparable(base: Iterable[str], head: Iterable[str]) -> Iterator[str]:
    """Yield what only one side was checked for: what differs there is not known."""
    base, head = list(base), list(head)
    yield from (f"Only of the base: {sentence}" for sentence in base if sentence not in head)
    yield from (f"Only of what is planned: {sentence}" for sentence in head if sentence not in base)
