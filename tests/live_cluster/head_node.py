"""What ParallelCluster's cookbook writes on the head node, as far as Slurm and the node daemons read it.

Sources, all of aws-parallelcluster-cookbook, commit f75d84c of October 2024, the latest that could be read (3.12; what
3.13 to 3.16 changed is not in here): cookbooks/aws-parallelcluster-slurm/templates/default/slurm/slurm.conf.erb,
.../slurm/parallelcluster_*.conf.erb, and files/default/head_node_slurm/slurm (config_renderer.py,
templates/slurm_parallelcluster.conf, pcluster_fleet_config_generator.py).
"""

from __future__ import annotations

import getpass
import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.live_cluster.aws_account import AwsAccount
from tests.live_cluster.judged_cluster import ComputeResource, JudgedCluster
from tests.slurm.slurm_files import SlurmFiles

PARALLELCLUSTER_WAITS: Mapping[str, int] = {
    "loop_time": 60,
    "insufficient_capacity_timeout": 600,
    "node_replacement_timeout": 1800,
    "ResumeTimeout": 1350,
    "SuspendTime": 600,
    "SuspendTimeout": 120,
    "power_save_min_interval": 30,
    "SlurmdTimeout": 180,
    "KillWait": 600,
}
"""Seconds on a real cluster with our configuration (ResumeTimeout, SuspendTime and KillWait are ours)."""

SHORT_WAITS: Mapping[str, int] = {
    # clustermgtd sleeps five seconds in each round.
    "loop_time": 6,
    "insufficient_capacity_timeout": 25,
    "node_replacement_timeout": 90,
    "ResumeTimeout": 90,
    "SuspendTime": 20,
    "SuspendTimeout": 10,
    "power_save_min_interval": 1,
    "SlurmdTimeout": 30,
    "KillWait": 5,
}
"""Seconds here, so that a fault plays in a minute or two."""


def slurm_configuration(
    files: SlurmFiles,
    cluster: JudgedCluster,
    *,
    controller_port: int,
    nodes: Mapping[str, int],
    waits: Mapping[str, int],
    programs: Path,
) -> str:
    """Return slurm.conf.

    Args:
        files: where everything is.
        cluster: the judged cluster.
        controller_port: port of slurmctld.
        nodes: ports of the nodes' slurmd, by name: here they share one machine.
        waits: `SHORT_WAITS` or others.
        programs: folder with `resume`, `suspend`, `prolog` and `health_check`.
    """
    own = cluster.custom_settings()
    own["HealthCheckProgram"] = str(programs / "health_check")
    settings = _settings(files, cluster.name, controller_port, waits, programs) | own | {"KillWait": waits["KillWait"]}
    lines = [f"{key}={value}" for key, value in settings.items()]
    for number, queue in enumerate(cluster.queues):
        resources = [each for each in cluster.compute_resources if each.queue == queue["Name"]]
        lines += [line for resource in resources for line in _node_lines(resource, nodes)]
        members = ",".join(part for resource in resources for part in resource.ranges())
        lines += [
            f"NodeSet={queue['Name']}_nodes Nodes={members}",
            f"PartitionName={queue['Name']} Nodes={queue['Name']}_nodes MaxTime=INFINITE State=UP"
            + (" Default=YES" if number == 0 else "")
            + (" OverSubscribe=EXCLUSIVE" if queue["JobExclusiveAllocation"] else ""),
        ]
    if static := [part for each in cluster.compute_resources for part in each.ranges() if "-st-" in part]:
        lines.append(f"SuspendExcNodes={','.join(static)}")
    return "\n".join(lines) + "\n"


def partition_nodes(cluster: JudgedCluster) -> dict[str, str]:
    """Return what parallelcluster_partition_nodelist_mapping.json holds."""
    return {
        queue["Name"]: ",".join(
            part for each in cluster.compute_resources if each.queue == queue["Name"] for part in each.ranges()
        )
        for queue in cluster.queues
    }


def fleet_configuration(cluster: JudgedCluster) -> dict[str, dict[str, Any]]:
    """Return what fleet-config.json holds."""
    found: dict[str, dict[str, Any]] = {}
    for resource in cluster.compute_resources:
        found.setdefault(resource.queue, {})[resource.name] = dict(resource.fleet)
    return found


def daemon_settings(
    cluster: JudgedCluster, account: AwsAccount, directory: Path, waits: Mapping[str, int]
) -> dict[str, dict[str, object]]:
    """Return the settings of the node daemons' configuration files, by section.

    Args:
        cluster: the judged cluster.
        account: where its tables and its zone are.
        directory: where fleet-config.json and clustermgtd's heartbeat are.
        waits: `SHORT_WAITS` or others.
    """
    common: dict[str, object] = {
        "cluster_name": cluster.name,
        "region": cluster.region,
        "proxy": "NONE",
        "dynamodb_table": account.nodes_table,
        "hosted_zone": account.hosted_zone,
        "dns_domain": f"{cluster.name}.pcluster.",
        "use_private_hostname": "false",
        "head_node_private_ip": "127.0.0.1",
        "head_node_hostname": socket.gethostname(),
        "instance_id": "i-0123456789abcdef0",
        "fleet_config_file": directory / "fleet-config.json",
        "scaling_strategy": cluster.configuration["Scheduling"]["ScalingStrategy"],
        "clustermgtd_heartbeat_file_path": directory / "heartbeat",
    }
    clustermgtd = {
        "heartbeat_file_path": directory / "heartbeat",
        "node_replacement_timeout": waits["node_replacement_timeout"],
        "insufficient_capacity_timeout": waits["insufficient_capacity_timeout"],
        "loop_time": waits["loop_time"],
        "compute_console_logging_enabled": "true",
        "compute_console_wait_time": 5,
    }
    return {
        "clustermgtd": common | clustermgtd,
        "slurm_resume": common,
        "slurm_suspend": common,
        "slurm_fleet_status_manager": common,
    }


def _settings(
    files: SlurmFiles, name: str, controller_port: int, waits: Mapping[str, int], programs: Path
) -> dict[str, object]:
    directory, host, user = files.directory, socket.gethostname().split(".")[0], getpass.getuser()
    return {
        "ClusterName": name,
        "SlurmUser": user,
        "SlurmdUser": user,
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmctldPort": controller_port,
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={files.munge_socket},cred_expire=70",
        "PluginDir": files.installed / "plugins",
        "StateSaveLocation": directory / "state",
        "SlurmdSpoolDir": directory / "spool" / "%n",
        "SlurmctldPidFile": directory / "run" / "slurmctld.pid",
        "SlurmdPidFile": directory / "run" / "slurmd.%n.pid",
        "ReconfigFlags": "KeepPartState",
        "SlurmctldParameters": "idle_on_node_suspend,node_reg_mem_percent=75,power_save_interval=1,"
        f"power_save_min_interval={waits['power_save_min_interval']}",
        "TreeWidth": 30,
        "SuspendProgram": programs / "suspend",
        "ResumeProgram": programs / "resume",
        "ResumeFailProgram": programs / "suspend",
        "SuspendTimeout": waits["SuspendTimeout"],
        "SuspendTime": waits["SuspendTime"],
        "ResumeTimeout": waits["ResumeTimeout"],
        "PrivateData": "cloud",
        "ResumeRate": 0,
        "SuspendRate": 0,
        "Prolog": programs / "prolog",
        # Ours: a job's programs run without what gives Slurm's their names (private_zone.py).
        "TaskProlog": programs / "task_prolog",
        "SchedulerParameters": "nohold_on_prolog_fail,batch_sched_delay=0,sched_interval=5",
        "BatchStartTimeout": 180,
        "SlurmctldTimeout": 300,
        "SlurmdTimeout": waits["SlurmdTimeout"],
        "UnkillableStepTimeout": 180,
        "InactiveLimit": 0,
        "MinJobAge": 300,
        "MessageTimeout": 60,
        "EnforcePartLimits": "ALL",
        "SchedulerType": "sched/backfill",
        "MpiDefault": "none",
        "ReturnToService": 1,
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "JobCompType": "jobcomp/none",
        "SlurmctldDebug": "verbose",
        "SlurmdDebug": "info",
        "DebugFlags": "Power",
        # Not as on a node: no cgroups here, and this machine's hardware must not be counted.
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SlurmdParameters": "config_overrides",
    }


def _node_lines(resource: ComputeResource, ports: Mapping[str, int]) -> list[str]:
    features = (resource.instance_types if len(resource.instance_types) == 1 else ()) + (resource.name,)
    features += ("efa",) if resource.efa else ()
    return [
        f"NodeName={name} CPUs={resource.cpus} RealMemory={resource.memory_mib} State=CLOUD Port={ports[name]}"
        f" Feature={','.join((kind, *features))} Weight={resource.weight[kind == 'dynamic']}"
        for name, kind in resource.nodes()
    ]


def write_json(path: Path, value: object) -> None:
    """Write a JSON file."""
    path.write_text(json.dumps(value), encoding="utf-8")
