"""The rule cases of the cluster, its nodes and how they are bought."""

from typing import Any

from tests.config.rule_cases import GROUP, QUEUE, RESERVATION, RESOURCE, Case, queue, queues


def _same_type_twice(*, efa: bool) -> list[dict[str, Any]]:
    """Two compute resources of one type: the first with its EFA, the second as said."""
    return [
        {"name": "first", "instance_type": "trn1.32xlarge"},
        {"name": "second", "instance_type": "trn1.32xlarge", "efa": efa},
    ]


CLUSTER = [
    Case(
        "cluster-name-allowed",
        {"training.cluster_name": "2nd"},
        "training.cluster_name",
        "must be a letter, then letters, digits and hyphens (got '2nd')",
        {"training.cluster_name": "Second-2"},
    ),
    Case(
        "cluster-name-allowed",
        {"training.cluster_name": "c" * 61},
        "training.cluster_name",
        "is too long (got 61 characters). Write 60 characters at most.",
        {"training.cluster_name": "c" * 60},
    ),
    Case(
        "cluster-name-allowed",
        {"training.cluster_name": "c" * 41, "storage.accounting_database": {}},
        "training.cluster_name",
        "is too long for a cluster with Slurm accounting (got 41 characters). Write 40 characters at most.",
        {"training.cluster_name": "c" * 40, "storage.accounting_database": {}},
    ),
    Case(
        "cluster-name-free",
        {"training.cluster_name": "slipway-test-training"},
        "training.cluster_name",
        "the names `slipway-test-...` belong to the environment's own stacks",
        {"training.cluster_name": "slipway-tests"},
    ),
    Case(
        "queue-limit",
        {"training.queues": queues(51)},
        "training.queues",
        "allows 50 queues (got 51)",
        {"training.queues": queues(50)},
        also=frozenset({"compute-resource-limit"}),
    ),
    Case(
        "compute-resource-limit",
        {"training.queues": queues(17, resources=3)},
        "training.queues",
        "allows 50 compute resources over all queues (got 51)",
        {"training.queues": queues(16, resources=3)},
    ),
    Case(
        "queue-name-allowed",
        {f"{QUEUE}.name": "Trn1_Big"},
        "training.queues[0].name",
        "(got 'Trn1_Big'). For example `trn1-big`.",
        {f"{QUEUE}.name": "trn1-big"},
    ),
    Case(
        "queue-name-allowed",
        {f"{QUEUE}.name": "default"},
        "training.queues[0].name",
        "ParallelCluster keeps the name 'default' for itself",
        {f"{QUEUE}.name": "default1"},
    ),
    Case(
        "compute-resource-name-allowed",
        {f"{RESOURCE}.name": "n" * 26},
        "training.queues[0].compute_resources[0].name",
        "is too long (got 26 characters). Write 25 characters at most.",
        {f"{RESOURCE}.name": "n" * 25},
    ),
    Case(
        "queue-names-distinct",
        {"training.queues.1": queue("trn1")},
        "training.queues[1].name",
        "another queue has the name 'trn1'",
        {"training.queues.1": queue("trn2")},
    ),
    Case(
        "compute-resource-names-distinct",
        {f"{QUEUE}.compute_resources.1": {"name": "trn1-32xl", "instance_type": "trn1.32xlarge"}},
        "training.queues[0].compute_resources[1].name",
        "another compute resource of the queue has the name 'trn1-32xl'",
        {
            "training.queues.1": {
                **queue("b"),
                "compute_resources": [{"name": "trn1-32xl", "instance_type": "trn1.32xlarge"}],
            }
        },
    ),
    Case(
        "head-node-type-known",
        {"training.head_node.instance_type": "m6i.2xlarg"},
        "training.head_node.instance_type",
        "Write m6i.large, m6i.xlarge, m6i.2xlarge,",
        {"training.head_node.instance_type": "m6i.4xlarge"},
    ),
    Case(
        "head-node-type-known",
        {"training.head_node.instance_type": "m7g.2xlarge"},
        "training.head_node.instance_type",
        "m7g.2xlarge has an arm64 processor, and the images of all nodes are for x86_64. Write a type with",
        {"training.head_node.instance_type": "m7i.2xlarge"},
    ),
    Case(
        "head-node-without-accelerator",
        {"training.head_node.instance_type": "trn1.2xlarge"},
        "training.head_node.instance_type",
        "would waste the accelerator of trn1.2xlarge",
        {"training.head_node.instance_type": "c6i.xlarge"},
    ),
    Case(
        "head-node-offered",
        {
            "region": "us-east-1",
            "network.training_availability_zone_id": "use1-az3",
            "network.other_availability_zone_ids": ["use1-az4"],
        },
        "training.head_node.instance_type",
        "m6i.2xlarge is not offered in use1-az3",
        {
            "region": "us-east-1",
            "network.training_availability_zone_id": "use1-az4",
            "network.other_availability_zone_ids": ["use1-az3"],
        },
        also=frozenset({"node-type-offered"}),
    ),
    Case(
        "head-node-memory",
        {"training.head_node.instance_type": "m6i.large", f"{RESOURCE}.max_count": 186},
        "training.head_node.instance_type",
        "m6i.large has 8 GiB and 186 nodes need 8.04 GiB",
        {"training.head_node.instance_type": "m6i.large", f"{RESOURCE}.max_count": 185},
    ),
    Case(
        "operating-system-in-release",
        {"training.operating_system": "rocky9"},
        "training.operating_system",
        "ParallelCluster 3.16.1 has no 'rocky9'",
        {"training.operating_system": "ubuntu2404"},
    ),
]

NODES = [
    Case(
        "node-type-known",
        {f"{RESOURCE}.instance_type": "p5.48xlarge"},
        "training.queues[0].compute_resources[0].instance_type",
        "Slipway does not know the instance type 'p5.48xlarge'. Write trn1.2xlarge, trn1.32xlarge,",
        {f"{RESOURCE}.instance_type": "trn1.2xlarge"},
    ),
    Case(
        "node-type-known",
        {f"{RESOURCE}.instance_type": "trm1.32xlarge"},
        "training.queues[0].compute_resources[0].instance_type",
        "Slipway does not know the instance type 'trm1.32xlarge'. Did you mean 'trn1.32xlarge'?",
        {f"{RESOURCE}.instance_type": "trn1.2xlarge"},
    ),
    Case(
        "node-type-known",
        {f"{RESOURCE}.instance_type": "trn1.64xlarge"},
        "training.queues[0].compute_resources[0].instance_type",
        "Slipway does not know the instance type 'trn1.64xlarge'. Write trn1.2xlarge or trn1.32xlarge.",
        {f"{RESOURCE}.instance_type": "trn1.2xlarge"},
    ),
    Case(
        "node-type-known",
        {f"{RESOURCE}.instance_type": "c7gn.8xlarge"},
        "training.queues[0].compute_resources[0].instance_type",
        "c7gn.8xlarge has an arm64 processor",
        {f"{RESOURCE}.instance_type": "c7i.8xlarge"},
    ),
    Case(
        "node-type-offered",
        {"network.training_availability_zone_id": "usw2-az3"},
        "training.queues[0].compute_resources[0].instance_type",
        "trn1.32xlarge is not offered in usw2-az3",
        {"network.training_availability_zone_id": "usw2-az1", "network.other_availability_zone_ids": ["usw2-az3"]},
    ),
    Case(
        "node-type-offered",
        {f"{RESOURCE}.instance_type": "trn2.48xlarge"},
        "training.queues[0].compute_resources[0].instance_type",
        "Regions with it: ap-south-2 and us-east-2.",
        {f"{RESOURCE}.instance_type": "trn1n.32xlarge"},
    ),
    Case(
        "node-type-trains",
        {f"{RESOURCE}.instance_type": "inf2.xlarge"},
        "training.queues[0].compute_resources[0].instance_type",
        "inf2.xlarge is for inference, not for training",
        {f"{RESOURCE}.instance_type": "m6i.2xlarge"},
    ),
    Case(
        "nodes-of-one-kind",
        {f"{QUEUE}.compute_resources.1": {"name": "cpu", "instance_type": "m6i.2xlarge"}},
        "training.queues[0].compute_resources[1].instance_type",
        "m6i.2xlarge without accelerator cannot be in one queue with trn1.32xlarge with accelerator",
        {f"{QUEUE}.compute_resources.1": {"name": "small", "instance_type": "trn1.2xlarge"}},
    ),
    Case(
        "accelerated-nodes-exclusive",
        {f"{QUEUE}.job_exclusive_allocation": False},
        "training.queues[0].job_exclusive_allocation",
        "two jobs on one node would take the same NeuronCores, which Slurm cannot count. Remove this line",
        {f"{QUEUE}.job_exclusive_allocation": False, f"{RESOURCE}.instance_type": "m6i.2xlarge"},
    ),
    Case(
        "efa-available",
        {f"{RESOURCE}.instance_type": "trn1.2xlarge", f"{RESOURCE}.efa": True},
        "training.queues[0].compute_resources[0].efa",
        "trn1.2xlarge has no EFA",
        {f"{RESOURCE}.efa": True},
    ),
    Case(
        "efa-available",
        {f"{RESOURCE}.instance_type": "m7i.48xlarge", f"{RESOURCE}.efa": True},
        "training.queues[0].compute_resources[0].efa",
        "Slipway has no facts about EFA of m7i.48xlarge. Remove this line",
        {f"{RESOURCE}.instance_type": "m7i.48xlarge", f"{RESOURCE}.efa": False},
    ),
    Case(
        "efa-between-nodes",
        {f"{RESOURCE}.efa": False, f"{RESOURCE}.max_count": 2},
        "training.queues[0].compute_resources[0].efa",
        "2 nodes would not use the 8 EFA interfaces of each. Remove this line, or write `max_count: 1`.",
        {f"{RESOURCE}.efa": False, f"{RESOURCE}.max_count": 1},
    ),
    Case(
        "efa-equal-for-type",
        {f"{QUEUE}.compute_resources": _same_type_twice(efa=False)},
        "training.queues[0].compute_resources[1].efa",
        "differs from compute resource first, which has the same instance type",
        {f"{QUEUE}.compute_resources": _same_type_twice(efa=True)},
    ),
    Case(
        "counts-in-order",
        {f"{RESOURCE}.min_count": 3, f"{RESOURCE}.max_count": 2},
        "training.queues[0].compute_resources[0].min_count",
        "is larger than max_count (got 3, max_count is 2)",
        {f"{RESOURCE}.min_count": 2, f"{RESOURCE}.max_count": 2},
    ),
]

BLOCK = {f"{QUEUE}.capacity_type": "capacity_block", f"{RESOURCE}.min_count": 1}

CAPACITY = [
    Case(
        "capacity-type-sold",
        {**BLOCK, f"{QUEUE}.capacity_reservation_id": RESERVATION, f"{RESOURCE}.instance_type": "trn1.2xlarge"},
        "training.queues[0].compute_resources[0].instance_type",
        "trn1.2xlarge is not sold as capacity_block",
        {**BLOCK, f"{QUEUE}.capacity_reservation_id": RESERVATION},
    ),
    Case(
        "capacity-type-sold",
        {**BLOCK, f"{QUEUE}.capacity_reservation_id": RESERVATION, f"{RESOURCE}.instance_type": "m7i.8xlarge"},
        "training.queues[0].compute_resources[0].instance_type",
        "EC2 sells types with accelerators in Capacity Blocks, not m7i.8xlarge. Set the queue's capacity_type",
        {f"{QUEUE}.capacity_type": "spot", f"{RESOURCE}.instance_type": "m7i.8xlarge"},
    ),
    Case(
        "capacity-block-has-reservation",
        BLOCK,
        "training.queues[0].capacity_type",
        "capacity_block needs the id of the block",
        {**BLOCK, f"{QUEUE}.capacity_reservation_id": RESERVATION},
    ),
    Case(
        "capacity-block-is-static",
        {**BLOCK, f"{QUEUE}.capacity_reservation_id": RESERVATION, f"{RESOURCE}.max_count": 2},
        "training.queues[0].compute_resources[0].min_count",
        "min_count = max_count > 0 (got min_count 1, max_count 2). Write `min_count: 2`.",
        {**BLOCK, f"{QUEUE}.capacity_reservation_id": RESERVATION, f"{RESOURCE}.max_count": 1},
    ),
    Case(
        "spot-without-reservation",
        {f"{QUEUE}.capacity_type": "spot", f"{QUEUE}.capacity_reservation_id": RESERVATION},
        "training.queues[0].capacity_reservation_id",
        "Spot capacity cannot come from a reservation",
        {f"{QUEUE}.capacity_type": "on_demand", f"{QUEUE}.capacity_reservation_id": RESERVATION},
    ),
    Case(
        "reservation-named-once",
        {
            f"{QUEUE}.capacity_reservation_id": RESERVATION,
            f"{QUEUE}.capacity_reservation_resource_group_arn": GROUP,
        },
        "training.queues[0].capacity_reservation_resource_group_arn",
        "the queue names one reservation already",
        {
            f"{QUEUE}.capacity_reservation_id": RESERVATION,
            "training.queues.1": queue("b", capacity_reservation_resource_group_arn=GROUP),
        },
    ),
    Case(
        "reservation-group-on-demand",
        {f"{QUEUE}.capacity_type": "spot", f"{QUEUE}.capacity_reservation_resource_group_arn": GROUP},
        "training.queues[0].capacity_reservation_resource_group_arn",
        "spot capacity does not come from a group of reservations",
        {f"{QUEUE}.capacity_type": "on_demand", f"{QUEUE}.capacity_reservation_resource_group_arn": GROUP},
    ),
    Case(
        "reservation-group-on-demand",
        {**BLOCK, f"{QUEUE}.capacity_reservation_resource_group_arn": GROUP},
        "training.queues[0].capacity_reservation_resource_group_arn",
        "capacity_block capacity does not come from a group of reservations",
        {**BLOCK, f"{QUEUE}.capacity_reservation_id": RESERVATION},
        also=frozenset({"capacity-block-has-reservation"}),
    ),
    Case(
        "reservation-group-in-region",
        {f"{QUEUE}.capacity_reservation_resource_group_arn": GROUP.replace("us-west-2", "us-east-1")},
        "training.queues[0].capacity_reservation_resource_group_arn",
        "the ARN is of us-east-1, the environment in 'us-west-2'. Name a group there",
        {f"{QUEUE}.capacity_reservation_resource_group_arn": GROUP},
    ),
    Case(
        "placement-group-of-reservation",
        {f"{QUEUE}.placement_group": "trn1-reserved"},
        "training.queues[0].placement_group",
        "only nodes from a reservation start in a placement group that is there already. Name the reservation",
        {f"{QUEUE}.placement_group": "trn1-reserved", f"{QUEUE}.capacity_reservation_resource_group_arn": GROUP},
    ),
    Case(
        "placement-group-of-reservation",
        {**BLOCK, f"{QUEUE}.capacity_reservation_id": RESERVATION, f"{QUEUE}.placement_group": "trn1-reserved"},
        "training.queues[0].placement_group",
        "a Capacity Block is in no placement group",
        {f"{QUEUE}.capacity_reservation_id": RESERVATION, f"{QUEUE}.placement_group": "trn1-reserved"},
    ),
    Case(
        "reservation-of-one-kind",
        {
            f"{QUEUE}.capacity_reservation_id": RESERVATION,
            "training.queues.1": queue("b", "trn1.2xlarge", capacity_reservation_id=RESERVATION),
        },
        "training.queues[1].capacity_reservation_id",
        "is used for trn1.32xlarge as on_demand and for trn1.2xlarge as on_demand",
        {
            f"{QUEUE}.capacity_reservation_id": RESERVATION,
            "training.queues.1": queue("b", capacity_reservation_id=RESERVATION),
        },
    ),
]
