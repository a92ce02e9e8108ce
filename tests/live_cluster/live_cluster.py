"""A whole cluster alive on one machine.

`sbatch` -> real slurmctld -> the real slurm_resume of aws-parallelcluster-node -> RunInstances of an emulated EC2 with
the launch template that the real aws-parallelcluster made of our configuration -> the instance boots: our unmodified
compute_node.sh and health check, then a real slurmd -> the job runs -> the idle instance is terminated by the real
slurm_suspend and clustermgtd.

Not real: EC2 itself, cloud-init and chef, cgroups, EFA, shared file systems, the health of instances, computemgtd.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from slipway import facts
from tests.assembly import PROJECT
from tests.assets.sandbox import ASSETS
from tests.contracts.real_packages import unpacked
from tests.live_cluster import fleet_status, head_node
from tests.live_cluster.aws_account import AwsAccount
from tests.live_cluster.booted_node import BootedNode, Instance
from tests.live_cluster.judged_cluster import JudgedCluster
from tests.live_cluster.node_daemons import NodeDaemons
from tests.slurm.local_slurm import LocalSlurm, free_ports, listens

BOOT_SECONDS = 4
"""From the start of an instance to its set-up. slurmd tells its uptime in whole seconds, and slurmctld ignores a node
that seems to have booted before it was asked for."""

_INSTALL = 'set -euo pipefail; source "$0/health.sh"; install_health_check'


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


class LiveCluster(LocalSlurm):
    """One cluster; a context manager that starts and stops it."""

    def __init__(
        self, directory: Path, cluster: JudgedCluster, *, waits: Mapping[str, int] = head_node.SHORT_WAITS
    ) -> None:
        """Describe a cluster.

        Args:
            directory: everything is kept below it; its path must be short.
            cluster: what ParallelCluster made of the environment.
            waits: seconds that Slurm and ParallelCluster wait.
        """
        super().__init__(directory, nodes=[name for each in cluster.compute_resources for name, _ in each.nodes()])
        self.cluster: Final = cluster
        self.instances: dict[str, KnownInstance] = {}
        self.events: list[str] = []
        self.broken_boots = False
        self._waits = waits
        self._began = time.monotonic()
        self._stopped = threading.Event()
        self._names = directory / "names"
        self.files.variables.update(self._name_service())

    # ---- start and stop ------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """End every process of this cluster. Twice is once."""
        self._stopped.set()
        super().stop()

    def _configuration(self, controller_port: int, nodes: Mapping[str, int]) -> str:
        return head_node.slurm_configuration(
            self.files,
            self.cluster,
            controller_port=controller_port,
            nodes=nodes,
            waits=self._waits,
            programs=self.files.directory / "daemons",
        )

    def _start_daemons(self, controller_port: int) -> None:
        directory = self.files.directory
        for folder in ("names", "faults", "machines", "head", "etc/pcluster"):
            (directory / folder).mkdir(parents=True)
        port = free_ports(1)[0]
        self._daemon_of(
            "aws", [sys.executable, "-m", "tests.live_cluster.aws_endpoint", str(port), directory / "faults"]
        )
        self.wait("the emulated AWS to listen", lambda: listens(port))
        self.account = AwsAccount(self.cluster, port, directory / "faults")
        self.account.create()
        self._write_head_node()
        self._daemon("munged", *self.files.munged_command())
        self.wait("munge to answer", self.files.munge_socket.exists)
        self._controller_port = controller_port
        self._start_slurmctld()
        self._start_clustermgtd()
        self.wait("clustermgtd's first round", (directory / "heartbeat").exists)
        for target in (self._watch_instances, self._watch_fleet):
            threading.Thread(target=target, daemon=True).start()

    def restart_clustermgtd(self) -> None:
        """Restart ParallelCluster's daemon of the head node."""
        self._end(self._manager)
        self._start_clustermgtd()

    def restart_head_node(self) -> None:
        """End the head node's daemons and start them again, as a reboot does."""
        self._end(self._manager)
        self._end(self._controller)
        self._start_slurmctld()
        self._start_clustermgtd()

    def _start_slurmctld(self) -> None:
        self._daemon("slurmctld", *self.files.slurmctld_command())
        self._controller = self._daemons[-1]
        self.wait("slurmctld to listen", lambda: listens(self._controller_port))

    def _start_clustermgtd(self) -> None:
        command = self.daemons.command("slurm_plugin.clustermgtd")
        self._daemon_of("clustermgtd", command, self.daemons.clustermgtd_environment())
        self._manager = self._daemons[-1]

    def _end(self, daemon: subprocess.Popen[bytes]) -> None:
        """End a daemon as systemd does."""
        self._daemons.remove(daemon)
        daemon.terminate()
        daemon.wait()

    def _daemon_of(self, name: str, command: list[Any], environment: Mapping[str, str] | None = None) -> None:
        """Start a process that is no daemon of Slurm's."""
        own = {"PATH": os.environ["PATH"], "SLURM_CONF": str(self.files.configuration)}
        with self.files.log(name).open("ab") as log:
            process = subprocess.Popen(
                [str(word) for word in command],
                env=dict(environment or own),
                cwd=PROJECT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._daemons.append(process)

    # ---- the head node -------------------------------------------------------------------------------------------

    def _write_head_node(self) -> None:
        directory = self.files.directory
        self._write_names()
        settings = head_node.daemon_settings(self.cluster, self.account, directory, self._waits)
        self.daemons = NodeDaemons(self.files, self.account, settings)
        self.daemons.write()
        head_node.write_json(directory / "fleet-config.json", head_node.fleet_configuration(self.cluster))
        mapping = directory / "etc/pcluster/parallelcluster_partition_nodelist_mapping.json"
        head_node.write_json(mapping, head_node.partition_nodes(self.cluster))
        subprocess.run(
            ["bash", "-c", _INSTALL, ASSETS / "cluster"],
            env={"PATH": "/usr/bin:/bin", "ROOT": str(directory / "head"), "SCRIPT_DIRECTORY": str(ASSETS / "cluster")},
            check=True,
        )
        # A real node has its own file system; here `machines` holds one directory for each node.
        machine = f"machine={directory}/machines/$SLURMD_NODENAME; export ROOT=$machine/root STATE=$machine/state"
        slurm = "opt/slurm/etc"
        for name, program in {
            "prolog": "scripts/prolog.d/10_slipway_health_check",
            "health_check": "slipway/health_check.sh",
        }.items():
            script = f"#!/bin/bash\n{machine}\nexec $ROOT/{slurm}/{program}\n"
            self.files.script(self.daemons.directory / name, script)

    def _name_service(self) -> dict[str, str]:
        """Give Slurm's programs the cluster's private zone, and the user slurm for whom clustermgtd reserves nodes.

        A node that was reset has its name for its address. Where it does not resolve, slurmctld never gives up a job
        that ran there; on AWS Route 53 still answers.
        """
        library = next((unpacked("debian") / "root").glob("usr/lib/*/libnss_wrapper.so"))
        files = {f"NSS_WRAPPER_{kind.upper()}": str(self._names / kind) for kind in ("hosts", "passwd", "group")}
        return {"LD_PRELOAD": str(library), **files}

    def _write_names(self) -> None:
        host = socket.gethostname()
        own = f"127.0.0.1 localhost {host} {host.split('.')[0]}\n"
        nodes = "".join(f"{address} {name}\n" for name, address in self.account.addresses().items())
        users = {"passwd": "slurm:x:64030:64030::/:/bin/false\n", "group": "slurm:x:64030:\n"}
        texts = {"hosts": own + nodes} | {name: Path("/etc", name).read_text() + line for name, line in users.items()}
        for name, text in texts.items():
            file = self._names / name
            if not file.exists() or file.read_text() != text:
                file.with_suffix(".new").write_text(text)
                file.with_suffix(".new").rename(file)

    def _watch_fleet(self) -> None:
        """Carry out requests to stop or start the fleet, as clusterstatusmgtd of the head node does.

        After aws-parallelcluster-cookbook (commit f75d84c), cookbooks/aws-parallelcluster-computefleet/files/
        clusterstatusmgtd/clusterstatusmgtd.py: REQUESTED -> in progress -> chef -> final. Chef runs
        slurm_fleet_status_manager while clustermgtd is stopped
        (aws-parallelcluster-slurm/recipes/update/update_computefleet_status_head_node.rb).
        """
        transitions = {"STOP_REQUESTED": ("STOPPING", "STOPPED"), "START_REQUESTED": ("STARTING", "RUNNING")}
        while not self._stopped.wait(1):
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                status = self.fleet_status()
                if status in transitions:
                    during, after = transitions[status]
                    self._change_fleet(status, during, after)

    def _change_fleet(self, requested: str, during: str, after: str) -> None:
        table = self.account.fleet_table
        fleet_status.replace_status(self.account.dynamodb, table, requested, during)
        request = self.files.directory / "request.json"
        head_node.write_json(request, {"status": requested})
        self._end(self._manager)
        self.daemons.change_fleet(request)
        self._start_clustermgtd()
        fleet_status.replace_status(self.account.dynamodb, table, during, after)

    def fleet_status(self) -> str:
        """Return the compute fleet's status."""
        return fleet_status.status(self.account.dynamodb, self.account.fleet_table)["status"]

    # ---- instances -----------------------------------------------------------------------------------------------

    def running(self) -> list[str]:
        """Return the ids of the instances that run, and cost."""
        return [name for name, known in self.instances.items() if known.state in {"pending", "running"}]

    def instance_of(self, node: str) -> str:
        """Return the id of the running instance that a node has."""
        return next(name for name in self.running() if self.instances[name].node == node)

    def terminate(self, instance: str) -> None:
        """Terminate an instance from outside, as EC2 does with Spot capacity."""
        self.account.ec2.terminate_instances(InstanceIds=[instance])

    def usd(self) -> float:
        """Return what the instances cost so far by their list prices, in US dollars."""
        return sum(
            ((known.ended or time.monotonic()) - known.since) / 3600 * self._usd_per_hour(known.type)
            for known in self.instances.values()
        )

    def _usd_per_hour(self, kind: str) -> float:
        price = facts.on_demand_price(kind, self.cluster.region)
        return price.usd if price and price.usd else 0.0

    def _watch_instances(self) -> None:
        while not self._stopped.wait(0.5):
            try:
                self._write_names()
                for name, instance in self.account.instances().items():
                    self._follow(name, instance)
            except Exception as error:
                if not self._stopped.is_set():
                    self._tell(f"watching instances: {error!r}")

    def _follow(self, name: str, instance: Mapping[str, Any]) -> None:
        spot = instance.get("InstanceLifecycle") == "spot"
        known = self.instances.setdefault(name, KnownInstance(instance["InstanceType"], spot))
        state = instance["State"]["Name"]
        if state != known.state:
            known.state = state
            self._tell(f"{name} {state} {known.type} {instance.get('PrivateIpAddress')}")
        if state not in {"pending", "running"} and known.ended is None:
            known.ended = time.monotonic()
            self._power_off(known)
        if state == "running" and not known.node and time.monotonic() - known.since > BOOT_SECONDS:
            self._boot(name, known, instance["PrivateIpAddress"])

    def _boot(self, name: str, known: KnownInstance, address: str) -> None:
        node = self.account.node_name(name)
        if node is None:
            return
        known.node = node
        directory = self.files.directory / "machines" / node
        self._remove_machine(directory)
        instance = Instance(name, known.type, address, node, "spot" if known.spot else "on-demand")
        known.machine = BootedNode(directory, instance, self.cluster, self.files.directory / "head")
        self._link_scontrol(known.machine)
        if self.broken_boots:
            known.machine.lose_a_device()
        done = known.machine.set_up(*known.machine.custom_action)
        if done.status:
            # ParallelCluster's bootstrap powers the instance off, which terminates it.
            self._tell(f"{node} on {name}: set-up failed: {done.stderr.strip().splitlines()[-1]}")
            self.terminate(name)
            return
        self._tell(f"{node} on {name}: {done.stdout.strip().splitlines()[-1]}")
        command = [*self.files.slurmd_command(node), "-b", "--instance-id", name, "--instance-type", known.type]
        self._daemon(f"slurmd.{node}", *command)
        known.slurmd = self._daemons.pop()

    def _remove_machine(self, directory: Path) -> None:
        if directory.exists():
            retired = directory.with_name(f"{directory.name}.{len(self.events)}")
            directory.rename(retired)

    def _link_scontrol(self, machine: BootedNode) -> None:
        command = machine.programs / "scontrol"
        command.unlink(missing_ok=True)
        command.symlink_to(self.files.commands / "scontrol")

    def _power_off(self, known: KnownInstance) -> None:
        if known.slurmd is None:
            return
        known.slurmd.kill()
        known.slurmd.wait()
        known.slurmd = None
        # What ran on the machine goes with it.
        for process in self._processes():
            with contextlib.suppress(OSError):
                if f"SLURMD_NODENAME={known.node}".encode() in Path(f"/proc/{process}/environ").read_bytes().split(
                    b"\0"
                ):
                    os.kill(process, signal.SIGKILL)

    # ---- looking and waiting -------------------------------------------------------------------------------------

    def _tell(self, event: str) -> None:
        self.events.append(f"{time.monotonic() - self._began:6.1f} s  {event}")

    def start_if_held(self, job: str) -> None:
        """Let a requeued job start at once: Slurm holds it back until its credentials expired (cred_expire)."""
        shown = self.job(job)
        if shown["JobState"] == "PENDING" and shown["Reason"] == "BeginTime":
            self.start_now(job)

    def wait_for_state(self, job: str, state: str) -> dict[str, str]:
        """Wait until a job has a state, and let it start as often as it is requeued."""

        def has_state() -> bool:
            self.start_if_held(job)
            return self.job(job)["JobState"] == state

        self.wait(f"job {job} to be {state}", has_state)
        return self.job(job)

    def wait_until_nothing_runs(self) -> None:
        """Wait until no instance runs and every node can be started again."""
        self.wait("idle instances to end", lambda: not self.running())
        self.wait("all nodes to be powered down", self._powered_down)

    def log_of(self, daemon: str) -> str:
        """Return what a daemon printed."""
        return self.files.log(daemon).read_text(encoding="utf-8", errors="replace")

    def _powered_down(self) -> bool:
        states = [self.node(node)["State"] for node in self.nodes]
        return all("POWERED_DOWN" in state and "POWERING" not in state for state in states)

    def when(self, what: str, condition: Callable[[], bool]) -> float:
        """Wait until a condition holds, and return how many seconds that took."""
        began = time.monotonic()
        self.wait(what, condition)
        return time.monotonic() - began
