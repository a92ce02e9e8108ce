"""The programs of others that a teardown runs."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

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
        """Run `cdk destroy --all`, its output shown as it comes; return whether it succeeded."""
        command = [str(self.cdk), "destroy", "--app", str(assembly), "--all", "--force", "--no-notices"]
        return subprocess.run(command, check=False).returncode == 0
