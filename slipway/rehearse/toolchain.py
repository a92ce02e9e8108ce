"""The programs that a rehearsal runs."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from slipway.assembly.existing import existing_in
from slipway.project import INSTALLATION, cdk_of, node_modules_of, parallelcluster_of
from slipway.rehearse.assembly import Assembly
from slipway.rehearse.errors import RehearsalError


class SetUpMissingError(RehearsalError):
    """A program is not installed."""


@dataclass(frozen=True)
class Toolchain:
    """Where the programs are.

    Attributes:
        project: folder with `cdk.json`.
        cdk: the CDK CLI.
        emulator: command that starts the emulator, without its options.
        executables: folder that comes first on every child's PATH.
        parallelcluster_python: interpreter of the virtual environment with aws-parallelcluster.
        node_modules: folder with the AWS SDK clients that Lambda's Node.js runtime provides.
    """

    project: Path
    cdk: Path
    emulator: tuple[str | Path, ...]
    executables: Path
    parallelcluster_python: Path
    node_modules: Path

    @classmethod
    def of_project(cls, project: Path) -> Self:
        """Return the project's own programs, where set-up installs them."""
        return cls(
            project=project,
            cdk=cdk_of(project),
            emulator=(sys.executable, "-m", "slipway_emulator"),
            # Not resolved: the link's folder is the virtual environment's, where Node.js may be as well.
            executables=Path(sys.executable).parent,
            parallelcluster_python=parallelcluster_of(project) / "python",
            node_modules=node_modules_of(project),
        )

    def require_installed(self) -> None:
        """Check that the programs are there.

        Raises:
            SetUpMissingError: one is not.
        """
        for program in (self.cdk, self.parallelcluster_python):
            if not program.exists():
                raise SetUpMissingError(f"{program} is missing; `{INSTALLATION}` installs it")

    def emulator_command(
        self, directory: Path, assembly: Assembly, certificate_arns: Sequence[str]
    ) -> tuple[str | Path, ...]:
        """Return the command that starts the emulator.

        Args:
            directory: its folder.
            assembly: what is rehearsed: the emulator plays its Region, and has what it uses and does not own.
            certificate_arns: the ACM certificates that its account holds.
        """
        existing = [resource.as_metadata for resource in existing_in(assembly.stacks)]
        return (
            *self.emulator,
            *("--directory", directory, "--region", assembly.region),
            *("--parallelcluster-python", self.parallelcluster_python),
            *("--node-modules", self.node_modules),
            *(option for arn in certificate_arns for option in ("--certificate", arn)),
            *(("--network", assembly.network.model_dump_json()) if assembly.network else ()),
            *(("--existing", json.dumps(existing)) if existing else ()),
        )
