"""One proof: a deadline, the probes, the deletion, the evidence."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path

import typer

from slipway.assembly.choice import FOLDER, NotChosenError, chosen_assembly
from slipway.assembly.environment_files import folder_name
from slipway.assembly.process_groups import ProcessGroup
from slipway.assembly.stacks import NoAssemblyError, read_stacks
from slipway.console import confirm
from slipway.errors import FailedError, RefusedError
from slipway.operate.deployed_environment import DeployedEnvironment, find_environment
from slipway.project import PROJECT
from slipway.prove.ceiling import Ceiling
from slipway.prove.deadline import Deadline, deletion_order, stack_name
from slipway.prove.evidence import Evidence, Outcome, Tried
from slipway.prove.probes import Probe, probes
from slipway.review.cost.estimate import estimate as cost_of
from slipway.review.deploy_time.estimate import estimate as deploy_time_of
from slipway.review.report.wording import duration, usd

EPHEMERAL = "ephemeral"
_say = partial(typer.echo, err=True)
_SLIPWAY = (sys.executable, "-m", "slipway")
_DESTROY = ("--yes", "--with-running-jobs", "--without-export")
_POLL_SECONDS = 5
_TELL_SECONDS = 60
_AGAIN_SECONDS = 60


def run(choice: str, ceiling_usd: float, evidence_file: Path | None, *, yes: bool) -> Evidence:
    """Prove an environment.

    Args:
        choice: name or file of an environment.
        ceiling_usd: US dollars that it may cost, by list prices.
        evidence_file: where the evidence goes; `evidence/<date>-<environment>.json` when left out.
        yes: ask nothing.

    Raises:
        RefusedError: nothing was changed.
        FailedError: the deadline cannot be set; nothing is deployed.
    """
    try:
        assembly = chosen_assembly(choice, None, "prove")
        stacks = read_stacks(assembly)
    except (NotChosenError, NoAssemblyError) as error:
        raise RefusedError(str(error)) from error
    cost = cost_of(stacks)
    if cost.unknown:
        names = ", ".join(dict.fromkeys(line.what for line in cost.unknown))
        raise RefusedError(
            f"the price of {names} in {cost.region} is not known: no ceiling can hold. Nothing was changed"
        )
    ceiling = Ceiling(ceiling_usd, cost.peak_usd_per_hour, deploy_time_of(assembly).seconds)
    ceiling.check()
    environment = find_environment(choice)
    _refuse(environment)
    _announce(environment, ceiling)
    confirm(f"Deploy {environment.name}, try it, and delete it?", yes=yes)
    folder = FOLDER / "prove" / folder_name(choice)
    proof = Proof(
        environment, ceiling, Deadline(environment.account, environment.name, deletion_order(assembly)), folder
    )
    evidence = proof.run()
    file = evidence_file or PROJECT / "evidence" / f"{evidence.started:%Y-%m-%d}-{environment.name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{evidence.model_dump_json(indent=2)}\n", encoding="utf-8")
    _say(f"evidence: {file}")
    return evidence


def _refuse(environment: DeployedEnvironment) -> None:
    """Refuse what must not be deleted.

    Raises:
        RefusedError: it must not.
    """
    if environment.stacks:
        raise RefusedError(
            f"{environment.name} is deployed in account {environment.account.id}: a proof makes and deletes its own "
            "environment. Copy the file, and give it another name. Nothing was changed"
        )
    if environment.settings.lifecycle != EPHEMERAL:
        raise RefusedError(
            f"{environment.name} keeps its data, and a proof deletes everything. Write `lifecycle: {EPHEMERAL}` into a "
            "copy of the file. Nothing was changed"
        )


def _announce(environment: DeployedEnvironment, ceiling: Ceiling) -> None:
    _say(
        f"environment {environment.name}: account {environment.account.id}, {environment.account.region}; up to "
        f"${ceiling.usd_per_hour:,.2f} an hour by list prices. Its deletion begins after "
        f"{duration(ceiling.teardown_after_seconds)} at the latest, by this command or by the stack "
        f"{stack_name(environment.name)}"
    )
    for probe in _wanted(environment):
        commands = " && ".join("slipway " + " ".join(words) for words in probe.commands(environment.choice))
        _say(f"  {probe.id}: {commands}")


def _wanted(environment: DeployedEnvironment) -> Iterator[Probe]:
    return (probe for probe in probes().probes if probe.is_for(environment.settings))


@dataclass
class Proof:
    """A proof that runs.

    Attributes:
        environment: what is proven.
        ceiling: of its cost.
        deadline: what deletes it if this process does not.
        folder: where logs go.
        clock: returns seconds.
        sleep: waits for some seconds.
    """

    environment: DeployedEnvironment
    ceiling: Ceiling
    deadline: Deadline
    folder: Path
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _began: float = field(init=False, default=0.0)

    def run(self) -> Evidence:
        """Set the deadline, try everything, and delete everything, whatever happens.

        Raises:
            FailedError: the deadline cannot be set; nothing is deployed.
            RefusedError: one is set already.
        """
        started, self._began = datetime.now(UTC), self.clock()
        self.deadline.arm(started + timedelta(seconds=self.ceiling.teardown_after_seconds))
        tried: list[Tried] = []
        is_stopped = is_deleted = False
        try:
            for probe in _wanted(self.environment):
                tried.append(self._try(probe, tried))
        except KeyboardInterrupt:
            is_stopped = True
            _say("stopped: deleting the environment. Ctrl-C once more leaves that to the deadline")
        finally:
            is_deleted = self._delete()
        return Evidence(
            environment=self.environment.name,
            region=self.environment.account.region,
            slipway=version("slipway"),
            started=started,
            ended=datetime.now(UTC),
            ceiling_usd=self.ceiling.usd,
            spent_usd=round(self.ceiling.spent(self._elapsed), 2),
            tried=tuple(tried),
            is_stopped=is_stopped,
            is_deleted=is_deleted,
        )

    @property
    def _elapsed(self) -> float:
        return self.clock() - self._began

    def _try(self, probe: Probe, before: Sequence[Tried]) -> Tried:
        left = min(probe.seconds, self.ceiling.teardown_after_seconds - self._elapsed)
        if left <= 0 or any(one.outcome != "passed" for one in before):
            _say(f"{probe.id}: not tried")
            return Tried(probe=probe.id, proves=probe.proves, outcome="not_tried")
        began = self.clock()
        outcome: Outcome = "passed"
        code: int | None = 0
        for number, words in enumerate(probe.commands(self.environment.choice)):
            log = f"{folder_name(probe.id)}-{number}.log"
            code = self._command(words, log, left - (self.clock() - began))
            if code != 0:
                outcome = "out_of_time" if code is None else "failed"
                break
        seconds = int(self.clock() - began)
        more = "" if outcome == "passed" else f", {self.folder / log}"
        _say(f"{probe.id}: {outcome.replace('_', ' ')} after {duration(seconds)}, {self._cost}{more}")
        return Tried(probe=probe.id, proves=probe.proves, outcome=outcome, seconds=seconds, exit_code=code)

    @property
    def _cost(self) -> str:
        return f"{usd(self.ceiling.spent(self._elapsed))} at most so far"

    def _command(self, words: Sequence[str], log: str, seconds: float) -> int | None:
        """Run a command of Slipway's; return its exit code, or None if it was ended because its time is over."""
        file, until, told = self.folder / log, self.clock() + seconds, self.clock()
        group = ProcessGroup((*_SLIPWAY, *words), os.environ, PROJECT, file)
        try:
            while self.clock() < until:
                try:
                    return group.wait(_POLL_SECONDS)
                except subprocess.TimeoutExpired:
                    if self.clock() - told >= _TELL_SECONDS:
                        told = self.clock()
                        _say(f"  {self._cost}; {_last_line(file)}")
        finally:
            group.end()
        return None

    def _delete(self) -> bool:
        """Delete the environment, and take the deadline away; return whether both worked.

        CloudFormation refuses the deletion of a stack that it still changes, so it is tried until the ceiling.
        """
        words = ("destroy", "-e", self.environment.choice, *_DESTROY)
        number = 0
        while True:
            left = self.ceiling.seconds - self._elapsed
            code = self._command(words, f"destroy-{number}.log", max(left, _AGAIN_SECONDS))
            if code == 0 or left <= _AGAIN_SECONDS:
                break
            self.sleep(_AGAIN_SECONDS)
            number += 1
        if code != 0:
            _say(
                f"{self.environment.name} is not deleted: {self.folder / f'destroy-{number}.log'} says why. The stack "
                f"{stack_name(self.environment.name)} goes on. To do it now: {self.environment.command('destroy')}"
            )
            return False
        try:
            self.deadline.disarm()
        except FailedError as error:
            _say(str(error))
            return False
        _say(f"{self.environment.name} is deleted, {self._cost}")
        return True


def _last_line(file: Path) -> str:
    lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
