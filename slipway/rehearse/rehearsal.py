"""Runs the phases and makes the report, whatever happens on the way."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from slipway.rehearse import findings
from slipway.rehearse.cdk_cli import BOOTSTRAP_STACK
from slipway.rehearse.errors import RehearsalError
from slipway.rehearse.ledger import Entry
from slipway.rehearse.leftovers import deployed
from slipway.rehearse.permissions import read_permissions
from slipway.rehearse.phases import PHASES, Phase
from slipway.rehearse.processes import Interrupted
from slipway.rehearse.report import PhaseOutcome, PhaseResult, Report, RunOutcome
from slipway.rehearse.session import Session


class Rehearsal:
    """One run of the phases.

    Attributes:
        interrupted_by: number of the signal that ended it early, else None.
    """

    def __init__(self, session: Session, phases: Sequence[Phase] = PHASES) -> None:
        """Prepare a run.

        Args:
            session: a new session.
            phases: the phases, in order.
        """
        self._session = session
        self._phases = phases
        self._results: list[PhaseResult] = []
        self.interrupted_by: int | None = None

    def run(self) -> Report:
        """Run the phases, stop everything that was started, and write report.json.

        After a failure only the phases that clean up still run; after a stop signal none.
        """
        started_at, start = datetime.now(UTC), time.monotonic()
        try:
            for phase in self._phases:
                self._results.append(self._run(phase))
        except Interrupted as interrupt:
            self.interrupted_by = interrupt.number
        finally:
            self._session.stop_emulator()
        report = self._report(started_at, time.monotonic() - start)
        self._session.folder.report.write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
        return report

    def _run(self, phase: Phase) -> PhaseResult:
        if not self._may_run(phase):
            return self._finished(phase, "skipped", 0.0, "")
        start = time.monotonic()
        self._session.work = None
        title = f"{phase.title} (phase {len(self._results) + 1} of {len(self._phases)})"
        try:
            with self._session.progress.phase(title):
                detail = phase.run(self._session)
        except RehearsalError as error:
            return self._finished(phase, "failed", time.monotonic() - start, str(error))
        except Interrupted:
            self._results.append(self._finished(phase, "interrupted", time.monotonic() - start, ""))
            raise
        return self._finished(phase, "passed", time.monotonic() - start, detail)

    def _may_run(self, phase: Phase) -> bool:
        failed = any(result.outcome == "failed" for result in self._results)
        emulated = self._session.emulated
        return not failed or (phase.cleans_up and emulated is not None and emulated.process.is_alive)

    def _finished(self, phase: Phase, outcome: PhaseOutcome, seconds: float, detail: str) -> PhaseResult:
        folder = self._session.folder
        log = folder.log(phase.name)
        if outcome != "skipped":
            self._session.progress.finished(outcome, phase.title, seconds, detail)
        return PhaseResult(
            name=phase.name,
            title=phase.title,
            outcome=outcome,
            seconds=round(seconds, 1),
            detail=detail,
            log=str(log.relative_to(folder.root)) if log.exists() else None,
        )

    def _report(self, started_at: datetime, seconds: float) -> Report:
        session = self._session
        entries: list[Entry] = session.emulated.ledger.entries if session.emulated else []
        assembly_stacks = session.assembly.stack_names if session.assembly else frozenset()
        outcome = self._outcome()
        return Report(
            environment=session.subject.name,
            environment_file=str(session.subject.environment_file),
            region=session.emulated.region if session.emulated else None,
            started_at=started_at,
            seconds=round(seconds, 1),
            outcome=outcome,
            verdict=self._verdict(outcome, entries, len(assembly_stacks)),
            phases=tuple(self._results),
            stacks=findings.stacks(entries, assembly_stacks, session.outputs),
            types=findings.types(entries),
            failures=findings.failures(entries),
            not_rehearsed=findings.not_rehearsed(entries),
            seeds=findings.seeds(entries),
            permissions=read_permissions(session.folder.permissions, session.subject.name),
            inventory={kind: len(names) for kind, names in session.deployed.items()},
            leftovers=session.leftovers,
        )

    def _outcome(self) -> RunOutcome:
        if self.interrupted_by is not None:
            return "interrupted"
        return "failed" if any(result.outcome == "failed" for result in self._results) else "passed"

    def _verdict(self, outcome: RunOutcome, entries: Sequence[Entry], stack_count: int) -> str:
        if outcome == "interrupted":
            return "rehearsal interrupted: nothing was proven"
        if outcome == "failed":
            failed = [result.title for result in self._results if result.outcome == "failed"]
            return f"rehearsal failed: {', '.join(failed)}"
        resources = [entry for entry in findings.resources_of(entries) if entry.stack != BOOTSTRAP_STACK]
        created = sum(entry.action == "create" for entry in resources)
        destroyed = created - len(deployed(resources))
        left = len(self._session.leftovers)
        rest = f"nothing left but {left} documented leftover{'s' * (left != 1)}" if left else "nothing left"
        return f"rehearsal passed: {stack_count} stacks, {created} resources created, {destroyed} destroyed, {rest}"
