"""What is served of each model, and what could be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from slipway.errors import RefusedError
from slipway.operate.roll_out.compatibility import problems
from slipway.operate.roll_out.published import ModelBucket
from slipway.operate.roll_out.service import InferenceStack, ServiceDescription
from slipway.operate.roll_out.state import State, prefix_of
from slipway.operate.roll_out.tasks import Tasks
from slipway.terminal import Fitted


@dataclass(frozen=True)
class Report:
    """The answer to `slipway roll-out` without a version.

    Attributes:
        stack: the deployed stack.
        bucket: its model bucket.
        fixed: the prefix of each model that is not rolled out.
        tasks: returns how many tasks a service has.
    """

    stack: InferenceStack
    bucket: ModelBucket
    fixed: Mapping[str, str]
    tasks: Callable[[str], Tasks]

    def print(self, model: str | None, console: Console) -> None:
        """Print it.

        Args:
            model: only this model; none for all.
            console: where to.
        """
        models = [name for name in self.stack.services if model in (None, name)]
        table = Table(title=f"{self.stack.name} ({self.stack.status})", title_justify="left")
        for heading in ("model", "served", "tasks", "before", "candidate"):
            table.add_column(heading, overflow="fold")
        for name in models:
            service, state = self.stack.services[name], self.stack.state(name)
            table.add_row(
                name,
                _version(state.served) or "nothing yet",
                str(self.tasks(service.service_name)),
                _version(state.previous) or "-",
                self._candidate(service, state),
            )
        for name, prefix in self.fixed.items():
            if model in (None, name):
                table.add_row(name, f"{prefix}/ (fixed)", "-", "-", "-")
        console.print(Fitted(table))
        for name in models:
            self._print_versions(name, console)

    def _candidate(self, service: ServiceDescription, state: State) -> str:
        if not service.has_canary:
            return "no canary"
        if state.candidate is None:
            return "-"
        return f"{_version(state.candidate)}: {state.percent} %, {self.tasks(service.candidate_name)}"

    def _print_versions(self, model: str, console: Console) -> None:
        state = self.stack.state(model)
        versions = sorted(self.bucket.versions(model))
        pins = {prefix_of(seen): seen for seen in (state.previous, state.candidate, state.served) if seen}
        console.print(f"published versions of {model}: {len(versions)}", highlight=False, markup=False)
        for prefix in versions:
            mark = {prefix_of(state.served): "*", prefix_of(state.candidate): "+"}.get(prefix, " ")
            version = pins.get(prefix, prefix)
            for number, line in enumerate(self._described(model, version)):
                text = f"{mark} {prefix}: {line}" if number == 0 else f"    does not fit: {line}"
                console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _described(self, model: str, version: str) -> list[str]:
        """Return a line that says what a version is, and one for each reason for which it cannot be served."""
        try:
            published = self.bucket.read(version)
        except RefusedError as damaged:
            return [str(damaged)]
        architectures = self.bucket.architectures(published)
        return [published.summary(), *problems(published, architectures, self.stack.services[model])]


def _version(version: str | None) -> str | None:
    return (prefix_of(version) or "").rpartition("/")[2] or None
