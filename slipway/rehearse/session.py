"""What the phases of one rehearsal share: the programs, the folder, and what was found so far."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slipway.rehearse.assembly import Assembly
from slipway.rehearse.cdk_cli import CdkCli
from slipway.rehearse.emulator_process import EmulatorProcess
from slipway.rehearse.folder import RunFolder
from slipway.rehearse.inventory import Inventory
from slipway.rehearse.isolation import emulated_account, offline_variables
from slipway.rehearse.ledger import Ledger, ResourceEntry
from slipway.rehearse.leftovers import Leftover
from slipway.rehearse.progress import Progress
from slipway.rehearse.toolchain import Toolchain
from slipway.rehearse.work import Work


@dataclass(frozen=True)
class Subject:
    """What is rehearsed.

    Attributes:
        name: name of the environment.
        environment_file: its file.
        keeps_data: whether its storage is `persistent`.
        certificate_arns: the ACM certificates that it names.
    """

    name: str
    environment_file: Path
    keeps_data: bool
    certificate_arns: tuple[str, ...] = ()


@dataclass
class Emulated:
    """The emulated account while the emulator runs.

    Attributes:
        process: the emulator.
        region: the region it plays.
        ledger: what it has done.
        variables: what the processes of the account's administrator see.
        deployer: what the CDK CLI's see: those of the administrator, and after the bootstrap the keys of a user with
            the policy of `slipway deploy-role`.
    """

    process: EmulatorProcess
    region: str
    ledger: Ledger
    variables: dict[str, str]
    deployer: dict[str, str]


@dataclass
class Session:
    """The state of one run.

    Attributes:
        subject: what is rehearsed.
        toolchain: the programs.
        folder: where everything is written.
        progress: the display.
        emulated: the emulated account; None before it is started.
        assembly: the environment's cloud assembly; None before it is synthesized.
        changed_assembly: the one of the changed environment file; None before it is synthesized.
        outputs: outputs of the stacks after the first deployment.
        before: what stood before anything was deployed.
        existing_vpc: the existing VPC before the first deployment. Empty without one.
        deployed: what the deployment added.
        leftovers: what is left after everything was destroyed.
        work: what the current phase does to each stack. None if it changes no stack.
    """

    subject: Subject
    toolchain: Toolchain
    folder: RunFolder
    progress: Progress
    emulated: Emulated | None = None
    assembly: Assembly | None = None
    changed_assembly: Assembly | None = None
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    before: Inventory = field(default_factory=dict)
    existing_vpc: Mapping[str, Any] = field(default_factory=dict)
    deployed: Inventory = field(default_factory=dict)
    leftovers: tuple[Leftover, ...] = ()
    work: Work | None = None

    def __post_init__(self) -> None:
        """Work out what the children may see."""
        self.offline = offline_variables(
            home=self.folder.home,
            temporary=self.folder.temporary,
            jsii_cache=self.folder.jsii_cache,
            executables=self.toolchain.executables,
            inherited=os.environ,
        )
        self.cdk = CdkCli(
            executable=self.toolchain.cdk,
            project=self.toolchain.project,
            folder=self.folder.root,
            log=self.folder.log,
            each_poll=self.watch,
        )

    def start_emulator(self, assembly: Assembly) -> None:
        """Start the emulator with the account, Region and existing resources of an assembly, and wait for its answer.

        Raises:
            EmulatorFailedError: it does not.
        """
        process = EmulatorProcess(
            self.toolchain.emulator_command(self.folder.emulator, assembly, self.subject.certificate_arns),
            {**self.offline, "MOTO_ACCOUNT_ID": assembly.account},
            self.toolchain.project,
            self.folder.log("emulator"),
        )
        variables = {**self.offline, **emulated_account(process.endpoint, assembly.region)}
        self.emulated = Emulated(
            process=process,
            region=assembly.region,
            ledger=Ledger(self.folder.emulator / "ledger.jsonl"),
            variables=variables,
            deployer=variables,
        )

    def stop_emulator(self) -> None:
        """End the emulator, if it runs, and read the rest of its ledger."""
        if self.emulated is not None:
            self.emulated.process.stop()
            self.emulated.ledger.poll()

    def watch(self) -> None:
        """Look at what is going on while a command runs.

        Raises:
            EmulatorFailedError: the emulator ended.
        """
        if self.emulated is None:
            self.progress.tick()
            return
        self.emulated.process.require_alive()
        news = [entry for entry in self.emulated.ledger.poll() if isinstance(entry, ResourceEntry)]
        if not news:
            self.progress.tick()
            return
        count, last = len(self.emulated.ledger.resources()), news[-1]
        self.progress.tick(
            f"{count} resource actions, last: {last.action} {last.stack}/{last.logical_id}",
            self.work.bars(self.emulated.ledger) if self.work else (),
        )
