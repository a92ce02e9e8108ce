"""A real Slurm on this machine: munged, slurmctld and a slurmd for each fake node, all below one directory.

Nodes have as many CPUs as wanted (Slurm is told not to count), are named as AWS ParallelCluster names them, and may be
dynamic as ParallelCluster's are: in state CLOUD, started by Slurm's ResumeProgram when a job needs them.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from tests.slurm.slurm_files import SlurmFiles, slurm_configuration

INSTALLED = Path(__file__).parents[2] / ".tools" / "slurm"
"""Where `make test-slurm` unpacks Slurm."""

ENDED = frozenset(
    {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT"}
)
"""States of a job that has ended (squeue's manual page, JOB STATE CODES)."""

WAIT_SECONDS = 180
"""The longest wait for anything: slurmctld looks for dynamic nodes that came up twice a minute, and processes that
train need a minute to import what they use when others keep the machine busy."""


class SlurmError(Exception):
    """A command of Slurm failed, a daemon did not start, or what was waited for did not come."""


class LocalSlurm:
    """One cluster; a context manager that starts and stops it."""

    POLL_SECONDS: ClassVar[float] = 0.1
    """Between two looks while it waits."""

    def __init__(
        self,
        directory: Path,
        *,
        nodes: Sequence[str],
        cpus: int = 128,
        cloud: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Describe a cluster.

        Args:
            directory: everything is kept below it; its path must be short, as the paths of Unix sockets are.
            nodes: node names `<queue>-dy-<compute resource>-<number>`; the first one's queue is the default partition.
            cpus: CPUs of each node.
            cloud: nodes do not run until a job needs them, and stop when they have been idle for `SuspendTime`.
            settings: further lines of slurm.conf, for example `Prolog` or `HealthCheckProgram`.
        """
        self.files = SlurmFiles(directory, INSTALLED)
        self.nodes = tuple(nodes)
        self._cpus = cpus
        self._cloud = cloud
        self._settings = dict(settings or {})
        self._daemons: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def environment(self) -> dict[str, str]:
        """Environment for Slurm's commands, with this cluster's first on the PATH."""
        return {
            "HOME": str(self.files.directory),
            "PATH": f"{self.files.commands}:{os.environ['PATH']}",
            "SLURM_CONF": str(self.files.configuration),
        }

    def start(self) -> None:
        """Start the daemons and wait until each node can take a job.

        Raises:
            SlurmError: a daemon ended or a node did not come up; the message holds the ends of the logs.
        """
        ports = free_ports(1 + len(self.nodes))
        configuration = self._configuration(ports[0], dict(zip(self.nodes, ports[1:], strict=True)))
        self.files.create(configuration, self.nodes, munge_key=secrets.token_bytes(1024))
        try:
            self._start_daemons(ports[0])
        except BaseException as error:
            self.stop()
            if isinstance(error, SlurmError):
                raise SlurmError(f"{error}\n{self.files.log_ends()}") from None
            raise

    def stop(self) -> None:
        """End every process of this cluster: daemons, nodes and what jobs left behind. Twice is once."""
        # What slurmctld starts has inherited blocked signals: only this one reaches it.
        while processes := list(self._processes()):
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            for daemon in self._daemons:
                daemon.wait()
        self._daemons.clear()

    def run(self, command: str, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """Run a command of Slurm, for example `sinfo`, and return what it prints.

        Raises:
            SlurmError: it failed, or took longer than half a minute.
        """
        try:
            process = subprocess.run(
                [self.files.commands / command, *arguments],
                env={**self.environment, **(environment or {})},
                cwd=self.files.directory,
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SlurmError(f"{command} {' '.join(arguments)}: no answer within 30 s") from None
        if process.returncode != 0:
            raise SlurmError(f"{command} {' '.join(arguments)}: {process.stderr.strip()}")
        return process.stdout

    def submit(self, *arguments: str | Path, **environment: str) -> str:
        """Submit a job with sbatch's arguments and return its id."""
        return self.run("sbatch", "--parsable", *map(str, arguments), environment=environment).strip()

    def job(self, job: str) -> dict[str, str]:
        """Return the fields of `scontrol show job`."""
        return fields(self.run("scontrol", "show", "job", "--oneliner", job))

    def node(self, node: str) -> dict[str, str]:
        """Return the fields of `scontrol show node`, with an empty reason where there is none."""
        return {"Reason": ""} | fields(self.run("scontrol", "show", "node", "--oneliner", node))

    def start_now(self, job: str) -> None:
        """Let a requeued job start at once: after a failed prolog Slurm holds it back until its credentials expired."""
        self.run("scontrol", "update", f"JobId={job}", "StartTime=now")

    def wait_for_end(self, job: str) -> dict[str, str]:
        """Wait until a job has ended and return its fields.

        Raises:
            SlurmError: it still runs or waits.
        """
        self.wait(f"job {job} to end", lambda: self.job(job)["JobState"] in ENDED)
        return self.job(job)

    def wait(
        self,
        what: str,
        condition: Callable[[], bool],
        seconds: float = WAIT_SECONDS,
        progress: Callable[[], object] | None = None,
    ) -> None:
        """Wait until a condition holds, at most some seconds.

        Args:
            what: what is waited for, for the message.
            condition: looked at every `POLL_SECONDS`.
            seconds: how long, or how long without progress.
            progress: what changes as long as work goes on; each change starts the seconds anew.

        Raises:
            SlurmError: a daemon ended, or the condition still does not hold; the message says `what` was waited for.
        """
        seen, deadline = None, time.monotonic() + seconds
        while not condition():
            ended = [daemon.args for daemon in self._daemons if daemon.poll() is not None]
            if ended:
                raise SlurmError(f"ended by itself: {ended}")
            if progress and (now := progress()) != seen:
                seen, deadline = now, time.monotonic() + seconds
            if time.monotonic() > deadline:
                raise SlurmError(f"waited {seconds:.0f} s for {what}")
            time.sleep(self.POLL_SECONDS)

    def _configuration(self, controller_port: int, nodes: Mapping[str, int]) -> str:
        return slurm_configuration(
            self.files,
            nodes=nodes,
            controller_port=controller_port,
            user=getpass.getuser(),
            cpus=self._cpus,
            cloud=self._cloud,
            settings=self._settings,
        )

    def _start_daemons(self, controller_port: int) -> None:
        self._daemon("munged", *self.files.munged_command())
        self.wait("munge to answer", self.files.munge_socket.exists)
        self._daemon("slurmctld", *self.files.slurmctld_command())
        self.wait("slurmctld to listen", lambda: listens(controller_port))
        if not self._cloud:
            for node in self.nodes:
                self._daemon(f"slurmd.{node}", *self.files.slurmd_command(node))
        self.wait(
            "the nodes to be idle", lambda: all(self.node(node)["State"].startswith("IDLE") for node in self.nodes)
        )

    def _daemon(self, name: str, *command: str | Path) -> None:
        with self.files.log(name).open("ab") as log:
            self._daemons.append(
                subprocess.Popen(
                    [str(word) for word in command],
                    env=self.files.daemon_environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def _processes(self) -> Iterator[int]:
        """Find what belongs to this cluster: its configuration file is in the environment of all that it starts."""
        mark = f"SLURM_CONF={self.files.configuration}".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if mark in environment.split(b"\0"):
                yield int(folder.name)


def fields(shown: str) -> dict[str, str]:
    """Take apart a line of `KEY=VALUE` as scontrol prints it; values may hold spaces."""
    return {match[1]: match[2].strip() for match in re.finditer(r"(\S+?)=(.*?)(?=\s+[A-Za-z:/]+=|$)", shown.strip())}


def listens(port: int) -> bool:
    """Return whether somebody on this machine takes connections to a port."""
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


def free_ports(count: int) -> list[int]:
    """Return ports of this machine that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
