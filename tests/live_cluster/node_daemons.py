"""ParallelCluster's node daemons of the head node, unmodified: how they are configured and started.

`clustermgtd`, `slurm_resume`, `slurm_suspend` and `slurm_fleet_status_manager` are the real aws-parallelcluster-node.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.contracts.real_packages import unpacked
from tests.live_cluster.aws_account import AwsAccount
from tests.slurm.slurm_files import SlurmFiles

_LAUNCH = """
import logging, sys
from importlib import import_module
# main() opens a log below /var/log/parallelcluster unless logging is configured.
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
module = sys.argv.pop(1)
import_module(module).main()
"""

_LOGGING = """[loggers]
keys=root
[handlers]
keys=stream
[formatters]
keys=plain
[logger_root]
level=INFO
handlers=stream
[handler_stream]
class=StreamHandler
formatter=plain
args=(sys.stdout,)
[formatter_plain]
format=%(asctime)s %(levelname)s %(message)s
"""

# With Slurm before 25.11.6 each node gets the whole list of instance ids, and clustermgtd powers healthy nodes down
# (aws-parallelcluster-node 3.16.1 is for 25.11.8): one call for each node.
_SCONTROL = """rest=() names=() ids=()
for word; do case "$word" in
  nodename=*,*) IFS=, read -ra names <<<"${{word#*=}}"; rest+=("$word") ;;
  instanceid=*,*) IFS=, read -ra ids <<<"${{word#*=}}" ;;
  *) rest+=("$word") ;;
esac; done
for each in "${{!ids[@]}}"; do {real} update "nodename=${{names[each]}}" "instanceid=${{ids[each]}}"; done
exec {real} "${{rest[@]}}"
"""


class NodeDaemons:
    """The programs of one head node."""

    def __init__(self, files: SlurmFiles, account: AwsAccount, settings: Mapping[str, Mapping[str, object]]) -> None:
        """Describe them.

        Args:
            files: the Slurm that they drive.
            account: the AWS that they call.
            settings: of their configuration files, by section (`head_node.daemon_settings`).
        """
        self._files = files
        self._account = account
        self._settings = settings
        self.directory = files.directory / "daemons"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of all of them."""
        packages = (unpacked("aws-parallelcluster-node"), unpacked("retrying"))
        return {
            **self._account.environment,
            "PYTHONPATH": os.pathsep.join(map(str, packages)),
            "SLURM_BINARIES_DIR": str(self._files.commands),
            "PATH": f"{self.directory}:{self._files.commands}:/usr/bin:/bin",
            "HOME": str(self._files.directory),
            # What this test looks for when it stops everything.
            "SLURM_CONF": str(self._files.configuration),
        }

    def write(self) -> None:
        """Write configuration files and the programs that slurmctld calls."""
        self.directory.mkdir()
        self._wrap_scontrol()
        (self.directory / "launch.py").write_text(_LAUNCH, encoding="utf-8")
        (self.directory / "logging.conf").write_text(_LOGGING, encoding="utf-8")
        for section, values in self._settings.items():
            rows = {**values, "logging_config": self.directory / "logging.conf"}
            lines = "".join(f"{key} = {value}\n" for key, value in rows.items())
            self._configuration(section).write_text(f"[{section}]\n{lines}", encoding="utf-8")
        # The daemons run as another user there, who may call scontrol and their own commands as root.
        self._script("sudo", 'exec "$@"')
        # Of the cookbook (aws-parallelcluster-computefleet/files/compute_fleet_status/compute_fleet_status.py).
        table = f"{sys.executable} -m tests.live_cluster.fleet_status {self._account.fleet_table}"
        self._script("get-compute-fleet-status.sh", f"PYTHONPATH={Path.cwd()} exec {table}")
        self._script("update-compute-fleet-status.sh", f'PYTHONPATH={Path.cwd()} exec {table} "$2"')
        environment = "\n".join(f"export {key}='{value}'" for key, value in self.environment.items())
        for name in ("resume", "suspend"):
            command = " ".join(self.command(f"slurm_plugin.{name}"))
            self._script(
                name,
                f"{environment}\nexport CONFIG_FILE={self._configuration(f'slurm_{name}')}\n"
                f'echo "$(date +%T) {name} $*" >>{self._files.log("power")}\n'
                # slurmctld removes the file when this program has started.
                'if [[ -n "${SLURM_RESUME_FILE:-}" ]]; then copy=$(mktemp); cp "$SLURM_RESUME_FILE" "$copy"; '
                "export SLURM_RESUME_FILE=$copy; fi\n"
                f'exec {command} "$@" >>{self._files.log(name)} 2>&1',
            )

    def command(self, module: str, *arguments: str) -> list[str]:
        """Return the command that runs a module's main function."""
        return [sys.executable, "-u", str(self.directory / "launch.py"), module, *arguments]

    def clustermgtd_environment(self) -> dict[str, str]:
        """Return the environment of clustermgtd."""
        return {**self.environment, "CONFIG_FILE": str(self._configuration("clustermgtd"))}

    def change_fleet(self, request: Path) -> None:
        """Run slurm_fleet_status_manager, as the head node's recipe `update_computefleet_status` does.

        Args:
            request: file with the status that is requested.
        """
        section = "slurm_fleet_status_manager"
        with self._files.log("fleet").open("ab") as log:
            subprocess.run(
                self.command("slurm_plugin.fleet_status_manager", "-cf", str(request)),
                env={**self.environment, "CONFIG_FILE": str(self._configuration(section))},
                check=True,
                stdout=log,
                stderr=log,
            )

    def _configuration(self, section: str) -> Path:
        return self.directory / f"{section}.conf"

    def _wrap_scontrol(self) -> None:
        program = self._files.commands / "scontrol"
        real = program.rename(program.with_name("scontrol.real"))
        self._files.script(program, f"#!/bin/bash\n{_SCONTROL.format(real=real)}")

    def _script(self, name: str, body: str) -> None:
        self._files.script(self.directory / name, f"#!/bin/bash\n{body}\n")
