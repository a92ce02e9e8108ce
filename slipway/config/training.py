"""The `training` section: the Slurm cluster that AWS ParallelCluster builds."""

from typing import Annotated, Literal

from pydantic import Field

from slipway.config.access import ClusterUser, DirectoryService, LoginNodes, Ssh
from slipway.config.queues import AmiId, Queue
from slipway.config.section import Section


class HeadNode(Section):
    """The node that runs slurmctld. It cannot be resized without replacing the cluster."""

    instance_type: str = "m6i.2xlarge"
    """EC2 instance type, x86_64 like the Trainium nodes. Any CPU type is taken; one without facts is unpriced."""

    root_volume_gib: Annotated[int, Field(ge=50, le=16384)] = 200
    """Size of the encrypted gp3 root volume in GiB."""

    custom_ami_id: AmiId | None = None
    """Its image, baked for this ParallelCluster version; AWS's own when left out. It cannot be changed later."""


class HomeVolume(Section):
    """The volume that the head node shares as /home; `storage.home` takes its place."""

    size_gib: Annotated[int, Field(ge=10, le=16384)] = 100
    """Size in GiB of the encrypted gp3 volume."""

    deletion_policy: Literal["delete", "snapshot", "retain"] | None = None
    """What happens to it with the cluster. Left out: `delete`, or `snapshot` where storage is persistent."""


class AppsVolume(Section):
    """The volume that the head node shares as /apps: virtual environments and tools."""

    size_gib: Annotated[int, Field(ge=10, le=16384)] = 200
    """Size in GiB of the encrypted gp3 volume."""

    deletion_policy: Literal["delete", "snapshot", "retain"] | None = None
    """What happens to it with the cluster. Left out: `delete`, or `snapshot` where storage is persistent."""


class Checkpoint(Section):
    """What a checkpoint of the largest model means for /fsx; only warnings come from it."""

    parameters_billions: Annotated[int, Field(ge=1, le=10000)]
    """Parameters of the largest model, in billions: 8 for Llama 3 8B."""

    longest_write_seconds: Annotated[int, Field(ge=1, le=86400)] = 300
    """Seconds that training may stand still while all ranks write one checkpoint."""


class Training(Section):
    """The cluster. Its name and its ParallelCluster version cannot change: another value builds another cluster."""

    cluster_name: str
    """Name of the cluster and of its stack: a letter, then letters, digits, hyphens; 60 at most, 40 with accounting."""

    parallelcluster_version: str = "3.16.1"
    """AWS ParallelCluster version."""

    operating_system: str = "ubuntu2204"
    """Operating system of all nodes by ParallelCluster's name; `ubuntu2204`, `ubuntu2404` or `alinux2023`."""

    training_stack: str = "xla-2.28.1"
    """Driver, runtime, compiler and framework packages of one AWS Neuron SDK release; see the table below."""

    head_node: HeadNode = HeadNode()
    """The head node."""

    login_nodes: LoginNodes | None = None
    """Nodes for people; without them they log in to the head node."""

    ssh: Ssh | None = None
    """SSH beside Session Manager."""

    directory_service: DirectoryService | None = None
    """Where users come from."""

    users: tuple[ClusterUser, ...] = ()
    """Users without a directory; without both everyone is the operating system's default user, who is root by sudo."""

    home: HomeVolume = HomeVolume()
    """/home on a volume of the head node."""

    apps: AppsVolume = AppsVolume()
    """/apps on a volume of the head node."""

    checkpoint: Checkpoint | None = None
    """Size of the checkpoints to come, to be warned when /fsx is slow or small for them."""

    scaledown_idletime_minutes: Annotated[int, Field(ge=1, le=1440)] = 10
    """Minutes without a job after which Slurm terminates a node."""

    kill_wait_seconds: Annotated[int, Field(ge=30, le=3600)] = 600
    """Seconds that a job has to save a checkpoint and end, at `scancel`, `scontrol requeue` and its time limit."""

    queue_update_strategy: Literal["DRAIN", "TERMINATE", "COMPUTE_FLEET_STOP"] = "DRAIN"
    """What an update that changes a queue does to its running nodes, in ParallelCluster's words."""

    queues: Annotated[tuple[Queue, ...], Field(min_length=1)]
    """The Slurm partitions; the first is the default one."""

    def training_stack_of(self, queue: Queue) -> str | None:
        """Return the training stack of a queue's nodes; none without accelerators.

        Raises:
            UnknownFact: there are no facts about an instance type.
        """
        return (queue.training_stack or self.training_stack) if queue.accelerated else None

    @property
    def training_stacks(self) -> tuple[str, ...]:
        """The cluster's training stack and those of its queues, each once."""
        chosen = (queue.training_stack for queue in self.queues)
        return tuple(dict.fromkeys([self.training_stack, *(stack for stack in chosen if stack)]))
