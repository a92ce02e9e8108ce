"""The files of a local Slurm: its configuration, its programs, and the commands that start its daemons."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

LONGEST_SOCKET_PATH = 107
"""Bytes of a Unix socket's path (unix(7))."""

LONGEST_STEP = "9999.4294967291"
"""A job's and a step's number, as slurmstepd names its socket."""

COMMANDS = ("sacct", "salloc", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")

RESUME = """#!/bin/sh
# Slurm gives it a list of nodes to start, and no environment.
export PATH={commands}:/usr/bin:/bin {environment}
# No instance boots in the second of its request. slurmd tells its uptime in rounded seconds: a node that begins at once
# seems to have booted before it was asked for, and slurmctld waits for another boot until ResumeTimeout.
sleep 3
nodes=$(scontrol show hostnames "$1")
for node in $nodes; do
  rm -f {run}/slurmd."$node".pid
  setsid {slurmd} -D -b -N "$node" -d {slurmstepd} </dev/null >>{log}."$node".out 2>&1 &
done
# When this program ends, slurmscriptd kills what is still in its process group (Slurm 24.11).
for node in $nodes; do
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -e {run}/slurmd."$node".pid ] || sleep 1
  done
done
"""

SUSPEND = """#!/bin/sh
export PATH={commands}:/usr/bin:/bin {environment}
for node in $(scontrol show hostnames "$1"); do
  kill -KILL "$(cat {run}/slurmd."$node".pid)"
done
"""


@dataclass(frozen=True)
class SlurmFiles:
    """Where everything of a local Slurm is."""

    directory: Path
    """Everything of this cluster."""

    installed: Path
    """Where install.sh put Slurm."""

    variables: dict[str, str] = field(default_factory=dict)
    """Further environment variables of daemons and commands."""

    @property
    def configuration(self) -> Path:
        """slurm.conf."""
        return self.directory / "slurm.conf"

    @property
    def commands(self) -> Path:
        """Folder of Slurm's commands, each bound to this cluster."""
        return self.directory / "bin"

    @property
    def munge_socket(self) -> Path:
        """Where munged answers."""
        return self.directory / "munge.socket"

    def log(self, daemon: str) -> Path:
        """What a daemon prints."""
        return self.directory / "log" / f"{daemon}.out"

    def log_ends(self) -> str:
        """Return the last lines of all logs."""
        logs = sorted((self.directory / "log").iterdir())
        ends = {log.name: log.read_text(encoding="utf-8", errors="replace").splitlines()[-8:] for log in logs}
        return "\n".join(f"{name}: {line}" for name, lines in ends.items() for line in lines)

    def daemon_environment(self) -> dict[str, str]:
        """Return the environment of the daemons."""
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SLURM_CONF": str(self.configuration), **self.variables}

    def munged_command(self) -> tuple[str | Path, ...]:
        """Return the command that starts munged with this cluster's own key and socket."""
        return (
            self._program("munged"),
            "--foreground",
            # The directories of a test may be writable for more than their owner.
            "--force",
            f"--socket={self.munge_socket}",
            f"--key-file={self.directory / 'munge' / 'key'}",
            f"--pid-file={self.directory / 'munge' / 'pid'}",
            f"--seed-file={self.directory / 'munge' / 'seed'}",
            f"--log-file={self.directory / 'log' / 'munged.log'}",
        )

    def slurmctld_command(self) -> tuple[str | Path, ...]:
        """Return the command that starts the controller."""
        return (self._program("slurmctld"), "-D")

    def slurmd_command(self, node: str) -> tuple[str | Path, ...]:
        """Return the command that starts a node."""
        return (self._program("slurmd"), "-D", "-N", node, "-d", self._program("slurmstepd"))

    def create(self, configuration: str, nodes: Iterable[str], munge_key: bytes) -> None:
        """Create the directories, the configuration and the programs.

        Raises:
            FileNotFoundError: Slurm is not unpacked; `make test-slurm` does it.
            ValueError: the directory's path is too long for the sockets that Slurm puts into it.
        """
        if not self.installed.is_dir():
            raise FileNotFoundError(f"no Slurm in {self.installed}: run `make test-slurm`")
        sockets = [f"{self.directory}/spool/{node}/{node}_{LONGEST_STEP}" for node in nodes]
        if any(len(path) > LONGEST_SOCKET_PATH for path in sockets):
            raise ValueError(f"{self.directory} is too long a path for Slurm's sockets, for example {sockets[0]}")
        for folder in ("bin", "log", "munge", "run", "state", *(f"spool/{node}" for node in nodes)):
            (self.directory / folder).mkdir(parents=True)
        (self.directory / "munge").chmod(0o700)
        key = self.directory / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(munge_key)
        self.configuration.write_text(configuration, encoding="utf-8")
        # Tests may run where there are no cgroups, or where they are not the tests' to change.
        (self.directory / "cgroup.conf").write_text("CgroupPlugin=disabled\n", encoding="utf-8")
        for name, text in {"resume": RESUME, "suspend": SUSPEND}.items():
            self.script(self.directory / name, text.format(**self._script_values()))
        for command in COMMANDS:
            self.script(
                self.commands / command,
                f'#!/bin/sh\nexport {self._words()}\nexec {self.installed}/bin/{command} "$@"\n',
            )

    def _program(self, name: str) -> Path:
        return self.installed / "sbin" / name

    def _words(self) -> str:
        variables = {"SLURM_CONF": str(self.configuration), **self.variables}
        return " ".join(f"{name}={value}" for name, value in variables.items())

    def _script_values(self) -> dict[str, str | Path]:
        return {
            "commands": self.commands,
            "environment": self._words(),
            "slurmd": self._program("slurmd"),
            "slurmstepd": self._program("slurmstepd"),
            "log": self.directory / "log" / "slurmd",
            "run": self.directory / "run",
        }

    @staticmethod
    def script(path: Path, text: str) -> None:
        """Write a program."""
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)


def slurm_configuration(
    files: SlurmFiles,
    *,
    nodes: Mapping[str, int],
    controller_port: int,
    user: str,
    cpus: int,
    cloud: bool,
    settings: Mapping[str, str],
) -> str:
    """Return slurm.conf.

    Where it matters to jobs the settings are ParallelCluster's (`templates/default/slurm/slurm.conf.erb` of its
    cookbook); waits are short.

    Args:
        files: where everything is.
        nodes: node names with the ports of their slurmd.
        controller_port: port of slurmctld.
        user: who runs the daemons.
        cpus: CPUs of each node.
        cloud: whether nodes are started when they are needed.
        settings: further lines, which win.
    """
    directory = files.directory
    general = {
        "ClusterName": "local",
        "SlurmctldHost": f"{socket.gethostname().split('.')[0]}(127.0.0.1)",
        "SlurmctldPort": controller_port,
        "SlurmUser": user,
        "SlurmdUser": user,
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={files.munge_socket}",
        "CredType": "cred/munge",
        "PluginDir": files.installed / "plugins",
        "MpiDefault": "none",
        # ParallelCluster's is proctrack/cgroup, which gives signals to the children of slurmstepd alone (Slurm's
        # src/plugins/proctrack/cgroup/proctrack_cgroup.c, "they will get all signals, inherited processes will only get
        # SIGKILL"). No cgroups here: this one gives them to one process group, and torchrun's workers are in others.
        "ProctrackType": "proctrack/pgid",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        # The nodes have the CPUs that are written here, whatever this machine has.
        "SlurmdParameters": "config_overrides",
        "SlurmctldPidFile": directory / "run" / "slurmctld.pid",
        "SlurmdPidFile": directory / "run" / "slurmd.%n.pid",
        "StateSaveLocation": directory / "state",
        "SlurmdSpoolDir": directory / "spool" / "%n",
        "JobRequeue": 1,
        "ReturnToService": 1,
        "SchedulerParameters": "nohold_on_prolog_fail,batch_sched_delay=0,sched_interval=1,bf_interval=1",
        "MinJobAge": 3600,
        "KillWait": 5,
        "MessageTimeout": 30,
        "SlurmctldTimeout": 30,
        "SlurmdTimeout": 30,
    }
    power: dict[str, object] = {
        "ResumeProgram": directory / "resume",
        "SuspendProgram": directory / "suspend",
        "SuspendTime": 600,
        "ResumeTimeout": 60,
        "SuspendTimeout": 2,
        "SlurmctldParameters": "idle_on_node_suspend,power_save_interval=1,power_save_min_interval=0",
        "PrivateData": "cloud",
        "TreeWidth": 65533,
    }
    lines = [f"{key}={value}" for key, value in (general | (power if cloud else {}) | dict(settings)).items()]
    state = "CLOUD" if cloud else "UNKNOWN"
    for name, port in nodes.items():
        lines.append(
            f"NodeName={name} NodeHostname={socket.gethostname().split('.')[0]} NodeAddr=127.0.0.1 Port={port}"
            f" CPUs={cpus} RealMemory=1024 State={state}"
        )
    queues = {
        name.split("-")[0]: [other for other in nodes if other.split("-")[0] == name.split("-")[0]] for name in nodes
    }
    for number, (queue, members) in enumerate(queues.items()):
        default = "YES" if number == 0 else "NO"
        lines.append(f"PartitionName={queue} Nodes={','.join(members)} Default={default} MaxTime=INFINITE State=UP")
    return "\n".join(lines) + "\n"
