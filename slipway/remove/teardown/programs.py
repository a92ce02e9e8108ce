"""The programs of others that a teardown runs."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from slipway.assembly.process_groups import ProcessGroup
from slipway.errors import RefusedError
from slipway.project import INSTALLATION, cdk_of, parallelcluster_of


@dataclass(frozen=True)
class Programs:
    """Where they are.

    Attributes:
        cdk: the CDK CLI.
        pcluster: ParallelCluster's command line.
    """

    cdk: Path
    pcluster: Path

    @classmethod
    def of_project(cls, project: Path) -> Self:
        """Return the project's own, where set-up installs them.

        Raises:
            RefusedError: one is missing.
        """
        programs = cls(
            cdk=cdk_of(project),
            pcluster=parallelcluster_of(project) / "pcluster",
        )
        for program in (programs.cdk, programs.pcluster):
            if not program.exists():
                raise RefusedError(f"{program} is missing; `{INSTALLATION}` installs it. Nothing was changed")
        return programs

    def destroy(self, assembly: Path) -> bool:
        """Run `cdk destroy --all`, its output shown as it comes; return whether it succeeded.

        Raises:
            KeyboardInterrupt: the user stopped it; the CDK CLI has ended.
        """
        command = [str(self.cdk), "destroy", "--app", str(assembly), "--all", "--force", "--no-notices"]
        group = ProcessGroup(command, os.environ, Path.cwd(), log=None)
        try:
            return group.wait() == 0
        finally:
            group.end()
