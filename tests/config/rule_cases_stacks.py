"""The rule cases of training stacks: which Neuron release goes with which operating system, Python and chip."""

from typing import Any

from tests.config.rule_cases import QUEUE, RESOURCE, Case, queue

CLUSTER_STACK = "training.training_stack"
SYSTEM = "training.operating_system"

# The one zone that has both Trn1 and Trn2.
OHIO = {
    "region": "us-east-2",
    "network.training_availability_zone_id": "use2-az3",
    "network.other_availability_zone_ids": ["use2-az1"],
}


def two_stacks(**second: Any) -> dict[str, Any]:
    """A cluster on Ubuntu 24.04 with a queue of Trn1 nodes and one of Trn2 nodes, which is changed as said."""
    return {**OHIO, SYSTEM: "ubuntu2404", "training.queues.1": queue("trn2", "trn2.48xlarge", **second)}


TRAINING_STACKS = [
    Case(
        "training-stack-known",
        {CLUSTER_STACK: "xla-2.28.0"},
        CLUSTER_STACK,
        "Slipway does not know the training stack 'xla-2.28.0'. Did you mean 'xla-2.28.1'?",
        {CLUSTER_STACK: "xla-2.28.1"},
    ),
    Case(
        "queue-training-stack-known",
        two_stacks(training_stack="native"),
        "training.queues[1].training_stack",
        "Slipway does not know the training stack 'native'. Did you mean 'native-2.33'?",
        two_stacks(training_stack="native-2.33"),
    ),
    Case(
        "training-stack-on-operating-system",
        {SYSTEM: "alinux2023"},
        SYSTEM,
        "xla-2.28.1 has packages for Python 3.10, 3.11 and 3.12 on ubuntu2204 and ubuntu2404; alinux2023 has Python "
        "3.9 and glibc 2.34",
        {SYSTEM: "alinux2023", CLUSTER_STACK: "seed-2.20"},
    ),
    Case(
        "training-stack-on-operating-system",
        {SYSTEM: "ubuntu2404", CLUSTER_STACK: "seed-2.20"},
        SYSTEM,
        "Write operating_system ubuntu2204 or alinux2023, or training_stack xla-2.28.1 or native-2.33.",
        {SYSTEM: "ubuntu2204", CLUSTER_STACK: "seed-2.20"},
    ),
    Case(
        "queue-training-stack-on-operating-system",
        {**two_stacks(training_stack="native-2.33"), SYSTEM: "ubuntu2204"},
        "training.queues[1].training_stack",
        "native-2.33 has packages for Python 3.12, 3.13 and 3.14 on ubuntu2404; ubuntu2204 has Python 3.10",
        two_stacks(training_stack="native-2.33"),
    ),
    Case(
        # The cluster's own stack fits, a second queue's does not: no system has packages of both.
        "queue-training-stack-on-operating-system",
        {**two_stacks(training_stack="native-2.33"), SYSTEM: "ubuntu2204", CLUSTER_STACK: "seed-2.20"},
        "training.queues[1].training_stack",
        "Write operating_system ubuntu2404, or training_stack seed-2.20 or xla-2.28.1.",
        two_stacks(training_stack="xla-2.28.1"),
    ),
    Case(
        "training-stack-on-accelerated-queue",
        {f"{QUEUE}.training_stack": "xla-2.28.1", f"{RESOURCE}.instance_type": "m6i.2xlarge"},
        "training.queues[0].training_stack",
        "nodes without accelerator have no training stack. Remove this line.",
        {f"{QUEUE}.training_stack": "xla-2.28.1"},
    ),
    Case(
        "training-stack-on-node",
        {CLUSTER_STACK: "native-2.33", SYSTEM: "ubuntu2404"},
        "training.queues[0].compute_resources[0].instance_type",
        "native-2.33 does not support trn1.32xlarge",
        # A queue without accelerator asks for nothing.
        {CLUSTER_STACK: "native-2.33", SYSTEM: "ubuntu2404", f"{RESOURCE}.instance_type": "m6i.2xlarge"},
    ),
    Case(
        "training-stack-on-node",
        {**two_stacks(), CLUSTER_STACK: "seed-2.20", SYSTEM: "ubuntu2204"},
        "training.queues[1].compute_resources[0].instance_type",
        "seed-2.20 does not support trn2.48xlarge (facts of 2026-08-17). Write a type of the family trn1 or trn1n, or "
        "give the queue training_stack xla-2.28.1 or native-2.33.",
        {**two_stacks(training_stack="xla-2.28.1"), CLUSTER_STACK: "seed-2.20", SYSTEM: "ubuntu2204"},
    ),
]
