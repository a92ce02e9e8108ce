"""An instance that boots: our whole set-up of a compute node, with stubs for what needs hardware, root or a network."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from slipway import facts
from tests.assets import health_node
from tests.assets.cluster_node import ADDRESS, CURL, INSTANCE_TYPE, KERNEL, PYTHON, ClusterNode
from tests.live_cluster.judged_cluster import JudgedCluster

_HEALTH_STUBS = ("df", "logger", "stat", "systemd-run")


@dataclass(frozen=True)
class Instance:
    """What EC2 and ParallelCluster tell a node of itself."""

    id: str
    type: str
    address: str
    node: str
    life_cycle: str
    """`on-demand` or `spot`."""

    @property
    def queue(self) -> str:
        """The queue that the node belongs to."""
        return self.node.partition("-")[0]


class BootedNode(ClusterNode):
    """The machine of one instance."""

    def __init__(self, directory: Path, instance: Instance, cluster: JudgedCluster, head: Path) -> None:
        """Lay out what ParallelCluster's image and the shared file systems give a node.

        Args:
            directory: not there yet.
            instance: which one boots.
            cluster: the one that it belongs to.
            head: root of the head node, whose /opt/slurm all nodes share.
        """
        super().__init__(directory, cluster.configuration["Image"]["Os"])
        self._stack = self._set_scripts(cluster, instance)
        self._set_hardware(facts.instance_type(instance.type))
        self._set_stubs(instance)
        self.remember(free_mebibytes="20000", fsx_type="lustre", life_cycle=instance.life_cycle)
        self.write(
            "/etc/parallelcluster/cfnconfig",
            f"stack_name={cluster.name}\ncfn_region=us-west-2\ncfn_scheduler_queue_name={instance.queue}\n",
        )
        shared = self.root / "opt" / "slurm"
        shutil.rmtree(shared)
        shutil.copytree(head / "opt" / "slurm", shared)
        (shared / "bin").symlink_to(self.programs)

    def remember(self, **values: str) -> None:
        """Set what the stubs answer."""
        for name, value in values.items():
            (self.state / name).write_text(f"{value}\n", encoding="utf-8")

    def lose_a_device(self) -> None:
        """Take one Neuron device away, as a failed chip does."""
        (self.root / "dev" / "neuron7").unlink()

    def _set_scripts(self, cluster: JudgedCluster, instance: Instance) -> str:
        """Put what the deployment generates into the bucket, and return the node's training stack."""
        for file in cluster.assembly.glob("asset.*/training_stacks*"):
            copy = shutil.copytree if file.is_dir() else shutil.copy
            target = self.bucket / file.name
            if target.is_dir():
                shutil.rmtree(target)
            copy(file, target)
        resource = next(
            each for each in cluster.compute_resources if any(name == instance.node for name, _ in each.nodes())
        )
        self.custom_action = resource.custom_action
        (self.state / resource.custom_action[1]).symlink_to(self.bucket.parent)
        return resource.custom_action[3]

    def _set_hardware(self, kind: facts.InstanceType) -> None:
        shutil.rmtree(self.root / "dev")
        shutil.rmtree(self.root / "sys/class/infiniband")
        (self.root / "sys/class/infiniband").mkdir(parents=True)
        self.add_devices(kind.neuron_devices, kind.efa_interfaces)
        if kind.nvme_volumes:
            self.write("/dev/disk/by-id/nvme-Amazon_EC2_NVMe_Instance_Storage_AWS0")
        for number in range(kind.neuron_devices):
            for counter in ("mem_ecc_uncorrected", "sram_ecc_uncorrected"):
                self.write(f"{health_node.NEURON_TREE}/neuron{number}/stats/hardware/{counter}", "0\n")

    def _set_stubs(self, instance: Instance) -> None:
        for name in _HEALTH_STUBS:
            self.stub(name, health_node.STUBS[name])
        self.stub("curl", CURL.replace(INSTANCE_TYPE, instance.type).replace(ADDRESS, instance.address))
        self.stub("uname", f'[[ "$1" == -r ]] && printf "{KERNEL}\\n" || printf "{instance.node}\\n"')
        lock = self.bucket / "training_stacks" / f"{self._stack}.sh"
        if lock.exists():
            (version,) = re.findall(r"^PYTHON_VERSION=(\S+)$", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
            self.stub(f"python{version}", PYTHON)
