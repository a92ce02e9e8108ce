"""A local Slurm as the head node's set-up leaves it, each node with a fake machine of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.assets.health_node import HealthNode
from tests.assets.sandbox import ASSETS
from tests.slurm.local_slurm import LocalSlurm

NODES = ("train-dy-trn1-1", "train-dy-trn1-2")
HEALTH_CHECK = "opt/slurm/etc/slipway/health_check.sh"
PROLOG = "opt/slurm/etc/scripts/prolog.d/10_slipway_health_check"
INSTALL = 'set -euo pipefail; source "$0/health.sh"; install_health_check; install_smoke_jobs'


class TrainiumCluster(LocalSlurm):
    """Two fake trn1.32xlarge.

    A real node has its own file system and its own /opt/slurm; here `machines` holds one directory for each node.
    """

    def __init__(self, directory: Path, *, cloud: bool = False, health_check_seconds: int = 0) -> None:
        """Prepare the machines and install the programs.

        Args:
            directory: everything is kept below it.
            cloud: nodes start when a job needs them.
            health_check_seconds: how often Slurm runs the health check on idle nodes; 0 for never.
        """
        self.head = directory / "head"
        self.machines = {name: HealthNode(directory / "machines" / name) for name in NODES}
        super().__init__(
            directory / "c",
            nodes=NODES,
            cloud=cloud,
            settings={
                "Prolog": str(directory / "prolog"),
                # As in our cluster configuration.
                "PrologFlags": "Alloc",
                "HealthCheckProgram": str(directory / "health_check"),
                "HealthCheckInterval": str(health_check_seconds),
                "HealthCheckNodeState": "IDLE",
                "TaskProlog": str(directory / "task_prolog"),
            },
        )
        for node in self.machines.values():
            command = node.programs / "scontrol"
            command.unlink()
            command.symlink_to(self.files.commands / "scontrol")
        subprocess.run(
            ["bash", "-c", INSTALL, ASSETS / "cluster"],
            env={"PATH": "/usr/bin:/bin", "ROOT": str(self.head), "SCRIPT_DIRECTORY": str(ASSETS / "cluster")},
            check=True,
        )
        self.tools = directory / "tools"
        self.tools.mkdir()
        self._write_node_scripts(directory)

    def smoke_job(self, name: str) -> Path:
        """Return an installed smoke job."""
        return self.head / "apps" / "slipway" / "smoke" / f"{name}.sbatch"

    def tool(self, name: str, body: str) -> None:
        """Put a command for the jobs on all nodes, a piece of Bash; `$ROOT` is the machine it runs on."""
        self._script(self.tools / name, body)

    def _write_node_scripts(self, directory: Path) -> None:
        """Write the only part that nodes do not have: several of them share this machine."""
        machine = f"ROOT={directory}/machines/$SLURMD_NODENAME/root STATE={directory}/machines/$SLURMD_NODENAME/state"
        for name, program in {"prolog": PROLOG, "health_check": HEALTH_CHECK}.items():
            self._script(directory / name, f"export {machine}\nexec {self.head / program}")
        path = f"PATH={self.tools}:{self.files.commands}:/usr/bin:/bin"
        self._script(directory / "task_prolog", f"printf 'export %s\\n' {machine} {path}")

    @staticmethod
    def _script(path: Path, body: str) -> None:
        path.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
