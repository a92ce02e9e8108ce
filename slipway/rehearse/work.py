"""How far a deployment or a destruction is, by the ledger."""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.text import Text

from slipway.rehearse.ledger import Ledger
from slipway.terminal import Bar

_DONE = ("create", "update", "replace", "delete", "retain")


@dataclass(frozen=True)
class Work:
    """What one phase does.

    Attributes:
        totals: how many resources of each stack it does something to, by the templates or the ledger.
        since: number of the first ledger entry of the phase.
    """

    totals: Mapping[str, int]
    since: int

    def bars(self, ledger: Ledger) -> list[Bar]:
        """Return how far each stack is."""
        done: dict[str, set[str]] = {name: set() for name in self.totals}
        failed: set[str] = set()
        for entry in ledger.resources(self.since):
            if entry.action in _DONE and entry.stack in done:
                done[entry.stack].add(entry.logical_id)
            elif entry.action == "failed":
                failed.add(entry.stack)
        return [
            _bar(name, len(done[name]), max(total, len(done[name])), has_failed=name in failed)
            for name, total in self.totals.items()
        ]


def _bar(name: str, done: int, total: int, *, has_failed: bool) -> Bar:
    is_over = done >= total
    if has_failed:
        state = Text("fails, rolls back", style="bold red")
    elif is_over:
        state = Text("done", style="green")
    else:
        state = Text("works" if done else "waits")
    return Bar(name, done, total, state, is_over)
