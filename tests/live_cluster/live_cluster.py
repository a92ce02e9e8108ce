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
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from tests.assembly import PROJECT
from tests.assets.sandbox import ASSETS
from tests.live_cluster import fleet_status, head_node
from tests.live_cluster.aws_account import AwsAccount
from tests.live_cluster.instances import Instances
from tests.live_cluster.judged_cluster import JudgedCluster
from tests.live_cluster.node_daemons import NodeDaemons
from tests.live_cluster.private_zone import PrivateZone
from tests.slurm.local_slurm import WAIT_SECONDS, LocalSlurm, SlurmError, free_ports, listens

_INSTALL = 'set -euo pipefail; source "$0/health.sh"; install_health_check'


class LiveCluster(LocalSlurm):
    """One cluster; a context manager that starts and stops it."""

    # Each look starts a command of Slurm's, and several clusters share the processors.
    POLL_SECONDS = 0.5

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
        self.instances = Instances(self.files, cluster, start_daemon=self._start_slurmd, processes=self._processes)
        self._waits = waits
        self._stopped = threading.Event()
        self._zone = PrivateZone(directory / "names")
        self.files.variables.update(self._zone.variables)

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

    def update_queue(self, queue: str, image: str) -> None:
        """Update the image of a queue's nodes, as an update of the stack does.

        After aws-parallelcluster-cookbook (commit f75d84c), cookbooks/aws-parallelcluster-slurm/recipes/update/
        update_head_node.rb, with the mapping SLURM_POWER_SAVING_MAPPING for dynamic nodes.

        Args:
            queue: the queue's name.
            image: id of the new machine image.
        """
        strategy = self.cluster.configuration["Scheduling"]["SlurmSettings"]["QueueUpdateStrategy"]
        state = {"DRAIN": "POWER_DOWN_ASAP", "TERMINATE": "POWER_DOWN_FORCE"}[strategy]
        nodes = ",".join(
            part for each in self.cluster.compute_resources if each.queue == queue for part in each.ranges()
        )
        self.account.replace_image(queue, image)
        self._end(self._manager)
        reason = "reason=updating node state during cluster update"
        self.run("scontrol", "update", f"state={state}", f"nodename={nodes}", reason)
        self._end(self._controller)
        self._start_slurmctld()
        self.run("scontrol", "reconfigure")
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
        """Start a process that is not a daemon of Slurm's."""
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
        self._zone.write(self.account.addresses())
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
        # srun needs the names in the batch script; torch cannot listen with libnss-wrapper.
        unset = '[[ -z "${SLURM_STEP_ID:-}" ]] || echo unset LD_PRELOAD'
        self.files.script(self.daemons.directory / "task_prolog", f"#!/bin/bash\n{unset}\n")

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

    def _watch_instances(self) -> None:
        while not self._stopped.wait(1):
            # The emulated AWS may end before this thread.
            with contextlib.suppress(BotoCoreError, ClientError):
                self._zone.write(self.account.addresses())
                self.instances.follow(self.account)

    def _start_slurmd(self, name: str, *command: str | Path) -> subprocess.Popen[bytes]:
        self._daemon(name, *command)
        # A node may end by itself: only the head node's daemons may not.
        return self._daemons.pop()

    # ---- looking and waiting -------------------------------------------------------------------------------------

    def start_if_held(self, job: str) -> None:
        """Let a requeued job start at once: Slurm holds it back until its credentials expired (cred_expire)."""
        shown = self.job(job)
        if shown["JobState"] == "PENDING" and shown["Reason"] == "BeginTime":
            # An inactive partition takes no job: it waits.
            with contextlib.suppress(SlurmError):
                self.start_now(job)

    def wait_for_state(self, job: str, state: str, seconds: float = WAIT_SECONDS) -> dict[str, str]:
        """Wait until a job has a state, and let it start as often as it is requeued."""

        def has_state() -> bool:
            self.start_if_held(job)
            return self.job(job)["JobState"] == state

        self.wait(f"job {job} to be {state}", has_state, seconds)
        return self.job(job)

    def wait_until_nothing_runs(self) -> None:
        """Wait until no instance runs and every node can be started again."""
        self.wait("idle instances to end", lambda: not self.instances.running())
        self.wait("all nodes to be powered down", self._powered_down)

    def log_of(self, daemon: str) -> str:
        """Return what a daemon printed."""
        return self.files.log(daemon).read_text(encoding="utf-8", errors="replace")

    def _powered_down(self) -> bool:
        states = [self.node(node)["State"] for node in self.nodes]
        return all("POWERED_DOWN" in state and "POWERING" not in state for state in states)
