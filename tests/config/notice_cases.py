"""One line or more for each notice: a change that calls for it, and a near one that does not."""

from tests.config.rule_cases import ON_KUBERNETES, QUEUE, RESERVATION, RESOURCE, Case
from tests.config.rule_cases_access import directory, ssh
from tests.config.rule_cases_stacks import two_stacks

LUSTRE = "storage.lustre"
CHECKPOINT = "training.checkpoint"
LARGE = {"network.private_subnet_prefix_length": 19, f"{LUSTRE}.capacity_gib": 4800}

ADMINISTERED = {**ON_KUBERNETES, "kubernetes.administrator_arns": ["arn:aws:iam::111122223333:role/platform-engineer"]}


def trainium(max_count: int) -> dict[str, object]:
    """A node group of Trainium nodes, eight EFA interfaces each."""
    return {"name": "trn1", "instance_type": "trn1.32xlarge", "max_count": max_count}


def preparation(max_count: int) -> dict[str, object]:
    """A queue without accelerator."""
    nodes = {"name": "nodes", "instance_type": "m6i.large", "max_count": max_count}
    return {"name": "preparation", "compute_resources": [nodes]}


def checkpoint(billions: int, capacity_gib: int, throughput: int, seconds: int = 300) -> dict[str, object]:
    """A model and the file system that its checkpoints go to."""
    return {
        CHECKPOINT: {"parameters_billions": billions, "longest_write_seconds": seconds},
        f"{LUSTRE}.capacity_gib": capacity_gib,
        f"{LUSTRE}.throughput_mb_s_per_tib": throughput,
    }


UNPRICED = "Slipway has no facts about m7i.8xlarge: no sum has its price, and its memory and zones are not checked."

NOTICE_CASES = [
    Case(
        "head-node-type-unpriced",
        {"training.head_node.instance_type": "m7i.8xlarge"},
        "training.head_node.instance_type",
        UNPRICED,
        {"training.head_node.instance_type": "m6i.8xlarge"},
    ),
    Case(
        "login-node-type-unpriced",
        {"training.login_nodes": {"count": 1, "instance_type": "m7i.8xlarge"}},
        "training.login_nodes.instance_type",
        UNPRICED,
        {"training.login_nodes": {"count": 1, "instance_type": "m6i.8xlarge"}},
    ),
    Case(
        "node-type-unpriced",
        {f"{RESOURCE}.instance_type": "m7i.8xlarge"},
        "training.queues[0].compute_resources[0].instance_type",
        UNPRICED,
        {f"{RESOURCE}.instance_type": "m6i.8xlarge"},
    ),
    Case(
        "ssh-range-reachable",
        ssh("203.0.113.0/24"),
        "training.ssh.allowed_cidr",
        "203.0.113.0/24 is on the internet, and the nodes have private addresses only",
        ssh("192.168.0.0/16"),
    ),
    Case(
        "directory-users-get-in",
        directory(),
        "training.directory_service",
        "users of the directory log in by SSH, which is closed. Add `training.ssh`.",
        {**directory(), **ssh("10.0.0.0/8")},
    ),
    Case(
        # 9 interfaces on each: one with an address, and eight for EFA alone.
        "network-interface-quota",
        {**LARGE, f"{RESOURCE}.max_count": 555, "training.queues.1": preparation(6)},
        "training.queues",
        "the nodes can have 5001 network interfaces (555 trn1.32xlarge x 9 and 6 m6i.large x 1)",
        {**LARGE, f"{RESOURCE}.max_count": 555, "training.queues.1": preparation(5)},
    ),
    Case(
        # 8 interfaces on each: the first is for EFA and has the node's address.
        "network-interface-quota",
        {**LARGE, **ADMINISTERED, "kubernetes.node_groups.1": trainium(625)},
        "kubernetes.node_groups",
        "(4 m6i.xlarge x 1, 1 m6i.8xlarge x 1 and 625 trn1.32xlarge x 8)",
        {**LARGE, **ADMINISTERED, "kubernetes.node_groups.1": trainium(624)},
    ),
    Case(
        "static-nodes-without-reservation",
        {f"{RESOURCE}.min_count": 1},
        "training.queues[0].compute_resources[0].min_count",
        "the cluster comes up only if EC2 has 1 trn1.32xlarge at that moment, and nothing reserves them",
        {f"{RESOURCE}.min_count": 1, f"{QUEUE}.capacity_reservation_id": RESERVATION},
    ),
    Case(
        "static-nodes-without-reservation",
        {f"{RESOURCE}.min_count": 1, f"{QUEUE}.capacity_type": "spot"},
        "training.queues[0].compute_resources[0].min_count",
        "Write `min_count: 0` until the cluster is deployed, or name a reservation.",
        {f"{RESOURCE}.min_count": 1, f"{RESOURCE}.instance_type": "m6i.large"},
    ),
    Case(
        "training-stack-chosen",
        two_stacks(),
        "training.queues[1].training_stack",
        "Write `training_stack: xla-2.28.1` to stay with it, or native-2.33 (beta).",
        two_stacks(training_stack="xla-2.28.1"),
    ),
    Case(
        # 980 GB at 1,172 MB/s.
        "checkpoint-written-in-time",
        checkpoint(70, 9600, 125),
        CHECKPOINT,
        "a checkpoint of 980 GB takes 836 seconds at 1172 MB/s, longer than longest_write_seconds (300). "
        "Give /fsx `throughput_mb_s_per_tib: 500` or `capacity_gib: 28800`.",
        checkpoint(70, 9600, 500),
    ),
    Case(
        "checkpoint-written-in-time",
        checkpoint(405, 57600, 125, seconds=60),
        CHECKPOINT,
        "Give /fsx `throughput_mb_s_per_tib: 1000` with `capacity_gib: 98400`, or `capacity_gib: 775200` alone.",
        checkpoint(405, 98400, 1000, seconds=60),
    ),
    Case(
        "checkpoint-written-in-time",
        checkpoint(70, 9600, 1000, seconds=60),
        CHECKPOINT,
        "Give /fsx `capacity_gib: 16800`.",
        checkpoint(70, 16800, 1000, seconds=60),
    ),
    Case(
        # Nine times 980 GB are 8,214 GiB.
        "checkpoints-find-room",
        checkpoint(70, 7200, 1000),
        f"{LUSTRE}.capacity_gib",
        "3 checkpoints of 980 GB fill more than a third of 7200 GiB, and data needs the rest. Write 9600 or more.",
        checkpoint(70, 9600, 1000),
    ),
    Case(
        "checkpoint-written-before-spot-ends",
        {**checkpoint(8, 2400, 250), f"{QUEUE}.capacity_type": "spot"},
        "training.queues[0].capacity_type",
        "EC2 takes Spot nodes back 120 seconds after the warning, and a checkpoint takes 191 seconds",
        {**checkpoint(8, 4800, 250), f"{QUEUE}.capacity_type": "spot"},
    ),
    Case(
        "buckets-kept-with-file-system",
        {f"{LUSTRE}.lifecycle": "persistent"},
        f"{LUSTRE}.lifecycle",
        "the file system is kept and the data bucket is deleted",
        {f"{LUSTRE}.lifecycle": "persistent", "storage.lifecycle": "persistent"},
    ),
]
