"""The machines behind the instances of the emulated EC2: they boot, run a real slurmd, and go."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from slipway import facts
from tests.live_cluster.aws_account import AwsAccount
from tests.live_cluster.booted_node import BootedNode, Instance
from tests.live_cluster.judged_cluster import JudgedCluster
from tests.slurm.slurm_files import SlurmFiles

BOOT_SECONDS = 4
"""From the start of an instance to its set-up. slurmd reports its uptime in whole seconds, and slurmctld ignores a node
that seems to have booted before it was asked for."""


_RESUME_SECONDS = 3
"""From the start of slurmd to the command that resumes a static node: aws-parallelcluster-cookbook (commit f75d84c),
cookbooks/aws-parallelcluster-slurm/recipes/finalize/finalize_compute.rb, `resume_node`."""


@dataclass
class KnownInstance:
    """What is known of an instance."""

    type: str
    spot: bool
    since: float = field(default_factory=time.monotonic)
    ended: float | None = None
    state: str = ""
    node: str | None = None
    machine: BootedNode | None = None
    slurmd: subprocess.Popen[bytes] | None = None
    resume_at: float | None = None
    """When a static node is to be resumed; None: it is not, or it has been."""


class StartDaemon(Protocol):
    """Starts a daemon of the cluster's Slurm."""

    def __call__(self, name: str, *command: str | Path) -> subprocess.Popen[bytes]:
        """Return the process."""


class Instances:
    """All instances of a cluster, ended ones too."""

    def __init__(
        self,
        files: SlurmFiles,
        cluster: JudgedCluster,
        *,
        start_daemon: StartDaemon,
        processes: Callable[[], Iterator[int]],
    ) -> None:
        """Describe them.

        Args:
            files: the cluster's Slurm.
            cluster: the judged cluster.
            start_daemon: starts slurmd.
            processes: finds all processes of the cluster.
        """
        self.known: dict[str, KnownInstance] = {}
        self.events: list[str] = []
        self.broken_boots = False
        """Whether every node that boots from now on lacks a Neuron device."""

        self._files = files
        self._cluster = cluster
        self._start_daemon = start_daemon
        self._processes = processes
        self._began = time.monotonic()

    def running(self) -> list[str]:
        """Return the ids of the instances that run, and cost."""
        return [name for name, known in self.known.items() if known.state in {"pending", "running"}]

    def of_node(self, node: str) -> str:
        """Return the id of the running instance that a node has."""
        return next(name for name in self.running() if self.known[name].node == node)

    def usd(self) -> float:
        """Return what all of them cost so far by their list prices, in US dollars."""
        return sum(
            ((known.ended or time.monotonic()) - known.since) / 3600 * self._usd_per_hour(known.type)
            for known in self.known.values()
        )

    def seconds(self) -> float:
        """Return the age of the cluster."""
        return time.monotonic() - self._began

    def follow(self, account: AwsAccount) -> None:
        """Boot what has begun to run since the last call, and switch off what has ended."""
        for name, instance in account.instances().items():
            try:
                self._follow(account, name, instance)
            except Exception as error:
                self._report(f"{name}: {error!r}")

    def _usd_per_hour(self, kind: str) -> float:
        price = facts.on_demand_price(kind, self._cluster.region)
        return price.usd if price and price.usd else 0.0

    def _report(self, event: str) -> None:
        self.events.append(f"{self.seconds():6.1f} s  {event}")

    def _follow(self, account: AwsAccount, name: str, instance: Mapping[str, Any]) -> None:
        spot = instance.get("InstanceLifecycle") == "spot"
        known = self.known.setdefault(name, KnownInstance(instance["InstanceType"], spot))
        state = instance["State"]["Name"]
        if state != known.state:
            known.state = state
            self._report(f"{name} {state} {known.type} {instance.get('PrivateIpAddress')}")
        if state not in {"pending", "running"} and known.ended is None:
            known.ended = time.monotonic()
            self._power_off(known)
        if state == "running" and not known.node and time.monotonic() - known.since > BOOT_SECONDS:
            self._boot(account, name, known, instance["PrivateIpAddress"])
        if known.slurmd and known.resume_at and time.monotonic() > known.resume_at:
            known.resume_at = None
            self._resume(known)

    def _boot(self, account: AwsAccount, name: str, known: KnownInstance, address: str) -> None:
        node = account.node_name(name)
        if node is None:
            return
        known.node = node
        directory = self._files.directory / "machines" / node
        if directory.exists():
            directory.rename(directory.with_name(f"{node}.{len(self.events)}"))
        instance = Instance(name, known.type, address, node, "spot" if known.spot else "on-demand")
        known.machine = BootedNode(directory, instance, self._cluster, self._files.directory / "head")
        command = known.machine.programs / "scontrol"
        command.unlink(missing_ok=True)
        command.symlink_to(self._files.commands / "scontrol")
        if self.broken_boots:
            known.machine.lose_a_device()
        done = known.machine.run_custom_action(*known.machine.custom_action)
        if done.status:
            # ParallelCluster's bootstrap powers the instance off, which terminates it.
            self._report(f"{node} on {name}: set-up failed: {done.stderr.strip().splitlines()[-1]}")
            account.terminate(name)
            return
        self._report(f"{node} on {name}: {done.stdout.strip().splitlines()[-1]}")
        known.slurmd = self._start_daemon(
            f"slurmd.{node}",
            *(*self._files.slurmd_command(node), "-b", "--instance-id", name, "--instance-type", known.type),
        )
        if "-st-" in node:
            known.resume_at = time.monotonic() + _RESUME_SECONDS

    def _resume(self, known: KnownInstance) -> None:
        words = ("update", f"nodename={known.node}", "state=resume", "reason=Node start up")
        # It fails where the node is idle.
        subprocess.run([self._files.commands / "scontrol", *words], check=False, capture_output=True, timeout=30)

    def _power_off(self, known: KnownInstance) -> None:
        """End all processes of a machine, none of which may notice the end of another."""
        if known.slurmd is None:
            return
        mark = f"SLURMD_NODENAME={known.node}".encode()
        of_jobs = [process for process in self._processes() if mark in _read(process, "environ").split(b"\0")]
        parents = {int(_read(process, "stat").rpartition(b")")[2].split()[1]) for process in of_jobs}
        step_daemons = [parent for parent in parents if _read(parent, "comm").strip() == b"slurmstepd"]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in (known.slurmd.pid, *step_daemons, *of_jobs):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, number)
        known.slurmd.wait()
        known.slurmd = None


def _read(process: int, file: str) -> bytes:
    """Return a file of a process in /proc; of one that has ended, what looks like a child of nothing."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/{file}").read_bytes()
    return b") - 0" if file == "stat" else b""
