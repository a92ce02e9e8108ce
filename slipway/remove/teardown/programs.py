"""The programs of others that a teardown runs."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from slipway.errors import RefusedError


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
        """Return the project's own, where `make` installs them.

        Raises:
            RefusedError: one is missing.
        """
        programs = cls(
            cdk=project / "node_modules" / ".bin" / "cdk",
            pcluster=project / ".tools" / "parallelcluster" / "bin" / "pcluster",
        )
        for program in (programs.cdk, programs.pcluster):
            if not program.exists():
                raise RefusedError(f"{program} is missing; `make setup` installs it. Nothing was changed")
        return programs

    def destroy(self, assembly: Path) -> bool:
        """Run `cdk destroy --all`, its output shown as it comes; return whether it succeeded."""
        command = [str(self.cdk), "destroy", "--app", str(assembly), "--all", "--force", "--no-notices"]
        return subprocess.run(command, check=False).returncode == 0
