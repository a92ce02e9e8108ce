"""The `kubernetes` section: an Amazon EKS cluster of Trainium nodes, beside the Slurm cluster or instead of it."""

from typing import Annotated, Literal

from pydantic import Field

from slipway import facts
from slipway.config.queues import CapacityReservationId, PlacementGroupName
from slipway.config.section import Form, Section

PublicCidr = Annotated[
    str, Form(r"([0-9]{1,3}\.){3}[0-9]{1,3}/[0-9]{1,2}", "an IPv4 range in CIDR notation", "203.0.113.0/24")
]
"""An IPv4 range of the internet."""

PrincipalArn = Annotated[
    str,
    Form(
        r"arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[A-Za-z0-9_+=,.@/-]+",
        "the ARN of an IAM role or user",
        "arn:aws:iam::111122223333:role/platform-engineer",
    ),
]
"""ARN of an IAM role or user. Of a role that is assumed, the role's own ARN, not that of its session."""

SecretArn = Annotated[
    str,
    Form(
        r"arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+",
        "the ARN of a secret in AWS Secrets Manager",
        "arn:aws:secretsmanager:us-west-2:111122223333:secret:hugging-face-AbCdEf",
    ),
]
"""ARN of a secret in AWS Secrets Manager."""


class CoreNodes(Section):
    """Nodes without accelerator for what the cluster itself runs: DNS, operators, metrics, the shell, TensorBoard."""

    instance_type: str = "m6i.xlarge"
    """EC2 instance type, x86_64."""

    min_count: Annotated[int, Field(ge=2, le=100)] = 2
    """Nodes that always run: at least one in each of two availability zones."""

    max_count: Annotated[int, Field(ge=2, le=100)] = 4
    """Most nodes that the autoscaler may start."""


class NodeGroup(Section):
    """An EKS managed node group of one instance type, in the training availability zone."""

    name: Annotated[
        str,
        Form(
            r"[a-z]([a-z0-9-]{0,23}[a-z0-9])?",
            "a lower-case letter, then letters, digits and hyphens, 25 at most",
            "trn1",
        ),
    ]
    """Name of the node group; recipes name it as `queue`."""

    instance_type: str
    """EC2 instance type of the nodes: with Neuron devices to train, or without to prepare and convert."""

    min_count: Annotated[int, Field(ge=0)] = 0
    """Nodes that always run, and are paid, from the first minute."""

    max_count: Annotated[int, Field(ge=1, le=65_536)] = 1
    """Most nodes that the autoscaler may start; a subnet has no addresses for more than 65,536."""

    capacity_type: Literal["on_demand", "spot", "capacity_block"] = "on_demand"
    """How the nodes are bought. `capacity_block` needs `capacity_reservation_id`."""

    capacity_reservation_id: CapacityReservationId | None = None
    """An On-Demand Capacity Reservation or a Capacity Block (`cr-` and 17 hexadecimal digits) that the nodes use."""

    placement_group: PlacementGroupName | None = None
    """The placement group that the reservation was made in. Left out, reserved nodes are started without one."""

    efa: bool | None = None
    """Elastic Fabric Adapter. Left out, it is on exactly where the instance type has it."""

    root_volume_gib: Annotated[int, Field(ge=50, le=16384)] = 200
    """Size in GiB of the encrypted gp3 root volume. Where there are local disks, images and pods are on those."""

    auto_repair: bool = True
    """Whether EKS replaces a node whose monitoring agent finds it broken."""

    @property
    def uses_efa(self) -> bool:
        """Whether the nodes get EFA interfaces: as `efa` says, else if the instance type has them.

        Raises:
            UnknownFact: `efa` is left out and there are no facts about the instance type.
        """
        return facts.instance_type(self.instance_type).efa_interfaces > 0 if self.efa is None else self.efa

    @property
    def accelerated(self) -> bool:
        """Whether the nodes have Neuron devices.

        Raises:
            UnknownFact: there are no facts about the instance type.
        """
        return facts.instance_type(self.instance_type).neuron_devices > 0


class Team(Section):
    """People who share a namespace, a user of the file system and rights in the account, apart from all others."""

    name: Annotated[
        str,
        Form(
            r"[a-z]([a-z0-9-]{0,28}[a-z0-9])?",
            "a lower-case letter, then letters, digits and hyphens, 30 at most",
            "research",
        ),
    ]
    """Name of the team. Its namespace is `slipway-` and the name; its folders on /fsx and its keys in the checkpoint
    bucket hold the name."""

    uid: Annotated[int, Field(ge=1001, le=60_000)]
    """User and group id of the team's pods, 1001 to 60000: who its files on /fsx belong to. The cluster refuses the
    team's pods any other."""

    user_arns: tuple[PrincipalArn, ...] = ()
    """IAM roles and users who may run jobs in the team's namespace and look at them, and do nothing elsewhere."""

    hugging_face_token_secret_arn: SecretArn | None = None
    """Secret whose value is the team's Hugging Face token. No other team's jobs can read it."""


class Kubernetes(Section):
    """The EKS cluster. Its network cannot change: another one builds another cluster."""

    version: str = "1.35"
    """Kubernetes version. It only goes up, by one at a time; EKS raises it by itself when its standard support ends."""

    training_stack: str = "xla-2.28.1"
    """Runtime, compiler and framework packages in the training image, of one AWS Neuron SDK release."""

    public_access_cidrs: tuple[PublicCidr, ...] = ()
    """IPv4 ranges that reach the cluster's API over the internet. Left out, it is reached through the VPC alone."""

    administrator_arns: tuple[PrincipalArn, ...] = ()
    """IAM roles and users who may do everything in the cluster."""

    user_arns: tuple[PrincipalArn, ...] = ()
    """IAM roles and users who may run jobs in the namespace `slipway` and look at them, and do nothing elsewhere."""

    teams: tuple[Team, ...] = ()
    """Teams with a namespace each, kept from each other's files, secrets and pods. With `launcher: torchrun` only."""

    core_nodes: CoreNodes = CoreNodes()
    """Nodes for what the cluster itself runs."""

    node_groups: Annotated[tuple[NodeGroup, ...], Field(min_length=1)]
    """The nodes of jobs."""

    launcher: Literal["torchrun", "mpi"] = "torchrun"
    """How training processes start on the nodes: `torchrun` in the pods of a JobSet, or `mpi` in an MPIJob."""

    queueing: Literal["none", "kueue"] = "none"
    """`kueue` starts a run when the nodes for all of it are there, and lets others wait in their order."""

    hugging_face_token_secret_arn: SecretArn | None = None
    """Secret whose value is a Hugging Face token, for tokenizers that need one. Jobs of the namespace `slipway` read it
    when they start."""
