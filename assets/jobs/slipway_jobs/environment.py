"""What the kit knows of the environment it is in: a file that is written when the environment is deployed."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Literal

from slipway_jobs.recipe.section import Section

ENVIRONMENT_FILE = Path("/apps/slipway/jobs/environment.json")
"""Where the head node puts the file."""


class InstanceType(Section):
    """One EC2 instance type of the cluster's queues, or of the endpoint's hosts."""

    neuron_devices: int
    """Neuron chips; 0 without."""

    logical_neuron_cores: int
    """NeuronCores as the runtime counts them: training processes on a node."""

    neuron_memory_gib: int
    """High-bandwidth memory of all chips."""

    efa_interfaces: int
    """EFA interfaces."""

    nvme_gib: int
    """Local disks, mounted as /scratch."""

    vcpus: int | None = None
    """Virtual CPUs; none where they are not known."""

    memory_gib: int | None = None
    """Host memory; none where it is not known."""

    usd_per_hour: float | None = None
    """On-demand list price in the environment's Region; none where none is published."""

    price_as_of: str | None = None
    """Date of the price, YYYY-MM-DD."""

    @property
    def memory_bytes(self) -> float:
        """Host memory in bytes: no limit where it is not known."""
        return math.inf if self.memory_gib is None else float(self.memory_gib * 2**30)


class Queue(Section):
    """One Slurm partition."""

    name: str
    """Its name."""

    training_stack: str | None = None
    """Training stack of its nodes; none without accelerators."""

    instance_types: dict[str, int]
    """EC2 instance types of its nodes, and how many nodes of each there can be."""

    efa: bool
    """Whether its nodes reach each other by EFA."""


class NeuronRuntime(Section):
    """The Neuron runtime library of a training stack, and the drivers with which it works."""

    version: str
    """Version of the library, for example `2.30.51.0`."""

    driver_from: str | None = None
    """First driver that works, or None if every older driver works."""

    driver_below: str | None = None
    """First driver that no longer works, or None if no newer driver is known to fail."""


class TrainingStack(Section):
    """One Neuron release on the cluster."""

    release: str
    """Version of the Neuron SDK."""

    framework: Literal["xla", "native"]
    """`xla` is PyTorch/XLA with NeuronX Distributed, `native` is TorchNeuron."""

    compiler: str
    """Version of neuronx-cc."""

    job_kit: bool
    """Whether the kit's training code runs with it."""

    runtime: NeuronRuntime | None = None
    """Its runtime library, or None if driver and library are installed together, as on Slurm nodes."""


class CompiledShape(Section):
    """What a service takes a model to be compiled for."""

    batch_size: int
    """Requests that are answered at once."""

    sequence_length: int
    """Longest prompt and answer together, in tokens."""

    tensor_parallel_size: int
    """NeuronCores that share the model."""


class Service(Section):
    """One service of the endpoint, for which versions of a model are published."""

    model: str
    """Name of the model whose versions it serves: the first folder of their prefix."""

    engine: str
    """Name of the inference engine."""

    engine_release: str | None = None
    """Neuron SDK release in the engine's image; none where it is not known."""

    instance_type: str
    """EC2 instance type of its hosts, a key of `instance_types`."""

    compiled: CompiledShape | None = None
    """What the environment file says that its versions are compiled for; none where it says nothing."""

    larger_hosts: tuple[str, ...] = ()
    """Instance types of the engine's hosts with more memory, keys of `instance_types`: the cheapest first."""


class PodResources(Section):
    """What one pod of a job asks for to have a whole node, after what each node's own pods take."""

    cpu_millicores: int
    """Thousandths of a virtual CPU."""

    memory_mib: int
    """Memory."""


class Kubernetes(Section):
    """How jobs run where the scheduler is Kubernetes. A queue is a node group there, by its label and taint."""

    version: str
    """Kubernetes version of the cluster, for example `1.35`."""

    namespace: str
    """Namespace of the jobs."""

    service_account: str
    """Service account of the jobs' pods."""

    publisher_service_account: str = "publisher"
    """Service account of the publish stage's pod, the only one that may write to the model bucket."""

    user_id: int = 1000
    """User and group id of the jobs' pods. The cluster refuses others."""

    image: str
    """Training image, by name and tag."""

    volume_claim: str
    """Persistent volume claim of /fsx."""

    launcher: Literal["torchrun", "mpi"]
    """How training processes start on the nodes: in the pods of a JobSet, or by mpirun in an MPIJob."""

    local_queue: str | None = None
    """Kueue's local queue; none where runs do not queue."""

    hugging_face_token_secret: str | None = None
    """ARN of the secret with a Hugging Face token; none without."""

    pods: dict[str, PodResources]
    """What a pod that takes a whole node asks for, by the node's instance type."""


class Environment(Section):
    """The cluster, its buckets, its directories on /fsx, and the endpoint."""

    name: str
    """The environment's name."""

    region: str
    """AWS Region."""

    cluster_name: str
    """The cluster's name."""

    data_bucket: str
    """Bucket that /fsx/data shows."""

    checkpoint_bucket: str
    """Bucket that /fsx/checkpoints is copied to; it holds the compile cache too."""

    model_bucket: str
    """Bucket that the endpoint reads."""

    publisher_role_arn: str | None = None
    """Role that the publish stage takes to write into it, or None where its pod has one of its own."""

    data_directory: str = "/fsx/data"
    """Text to train on: the data bucket's, and what users fetch."""

    runs_directory: str = "/fsx/runs"
    """Where each run has its folder: scripts, logs, metrics."""

    checkpoints_directory: str = "/fsx/checkpoints"
    """Where each run has its folder of checkpoints."""

    prepared_directory: str = "/fsx/prepared"
    """Tokenized data, shared by the runs that use the same."""

    training_stacks_directory: str = "/apps/neuron"
    """Where each training stack has its Python environment."""

    scratch_directory: str = "/scratch"
    """Local disks of a node."""

    master_port: int = 44000
    """TCP port of torchrun's rendezvous, reserved on the nodes."""

    queues: tuple[Queue, ...]
    """The partitions; the first is the default one."""

    instance_types: dict[str, InstanceType]
    """What the queues' nodes, the endpoint's hosts and larger ones are."""

    training_stacks: dict[str, TrainingStack]
    """The cluster's Neuron releases; the first is the default one."""

    lustre_capacity_gib: int
    """Size of /fsx."""

    lustre_throughput_mb_s: int
    """Throughput of /fsx in MB/s: capacity times tier."""

    kill_wait_seconds: int | None = None
    """Seconds that Slurm gives a job between SIGTERM and SIGKILL; none on Kubernetes."""

    inference: tuple[Service, ...] = ()
    """The services of the endpoint; none where the environment has no endpoint."""

    kubernetes: Kubernetes | None = None
    """How jobs run on Kubernetes; none where the scheduler is Slurm."""

    def service_of(self, model: str) -> Service | None:
        """Return the service that versions of a model are published for; none where the endpoint has none."""
        return next((service for service in self.inference if service.model == model), None)


def environment_file() -> Path:
    """Return the path of the environment's file; `SLIPWAY_ENVIRONMENT` takes the place of `ENVIRONMENT_FILE`."""
    return Path(os.environ.get("SLIPWAY_ENVIRONMENT") or ENVIRONMENT_FILE)


def read_environment(file: Path) -> Environment:
    """Read an environment's file.

    Raises:
        OSError: it cannot be read.
        pydantic.ValidationError: it is not such a file, or one of another version of the kit.
    """
    return Environment.model_validate_json(file.read_text(encoding="utf-8"))
