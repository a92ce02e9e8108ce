"""Cases of the rules about nodes, capacity, the release and operations."""

from dataclasses import replace

from tests.review.lint.case import (
    BLOCK,
    HEAD,
    LOGS,
    QUEUE,
    RESERVED,
    RESOURCE,
    SETTINGS,
    TRN2,
    UNGROUPED,
    Case,
    in_zone,
    login_pool,
    small_queues,
)
from tests.review.lint.configurations import PRIVATE

NODES = [
    Case(
        "efa-between-trainium-nodes",
        {f"{RESOURCE}.Efa": None},
        "trn1.32xlarge has 8 EFA interfaces, and they are off",
        {f"{RESOURCE}.Efa": None, f"{RESOURCE}.MaxCount": 1},
    ),
    Case(
        "efa-where-it-exists",
        {f"{RESOURCE}.InstanceType": "trn1.2xlarge"},
        "trn1.2xlarge has no EFA",
        {f"{RESOURCE}.InstanceType": "trn1.2xlarge", f"{RESOURCE}.Efa.Enabled": "false"},
    ),
    Case(
        "placement-group-with-efa",
        UNGROUPED,
        "nodes with EFA have no placement group",
        {f"{QUEUE}.Networking.PlacementGroup": {"Name": "ours"}},
    ),
    Case(
        "placement-group-chosen-with-efa",
        {f"{QUEUE}.Networking.PlacementGroup": None},
        "nothing says whether they stand in a placement group",
        UNGROUPED,
    ),
    Case(
        # Reserved nodes, and a single one, too.
        "placement-group-chosen-with-efa",
        {**RESERVED, f"{QUEUE}.Networking.PlacementGroup": None, f"{RESOURCE}.MaxCount": 1},
        "nothing says whether they stand in a placement group",
        {
            **RESERVED,
            f"{QUEUE}.Networking.PlacementGroup": None,
            f"{RESOURCE}.Networking.PlacementGroup.Enabled": False,
        },
    ),
    Case(
        "no-placement-group-around-reservation",
        RESERVED,
        "a new placement group around a capacity reservation",
        {**RESERVED, **UNGROUPED},
    ),
    Case(
        "no-placement-group-around-reservation",
        RESERVED,
        "a new placement group around a capacity reservation",
        {**RESERVED, f"{QUEUE}.Networking.PlacementGroup": {"Enabled": True, "Name": "ours"}},
    ),
    Case("types-offered", {"Region": "eu-west-1"}, "eu-west-1 does not offer trn1.32xlarge"),
    Case(
        "types-offered",
        {f"{RESOURCE}.InstanceType": "trn1n.32xlarge"},
        "usw2-az1 does not offer trn1n.32xlarge (only usw2-az4)",
        {},
        in_zone("usw2-az1"),
    ),
    Case(
        "jobs-get-whole-nodes",
        {f"{QUEUE}.JobExclusiveAllocation": None},
        "two jobs may share a node",
        {f"{QUEUE}.JobExclusiveAllocation": "true"},
    ),
    Case(
        "no-static-nodes-at-first",
        {f"{RESOURCE}.MinCount": "1"},
        "creation waits for 1 nodes that nothing reserves",
        {f"{RESOURCE}.MinCount": 1, **RESERVED, **UNGROUPED},
    ),
    Case(
        "counts-in-order",
        {f"{RESOURCE}.MinCount": 5, **RESERVED, **UNGROUPED},
        "MinCount is 5 and MaxCount 4",
        {f"{RESOURCE}.MinCount": 4, **RESERVED, **UNGROUPED},
    ),
    Case(
        "head-node-carries-all-nodes",
        {f"{HEAD}.InstanceType": "c6i.xlarge", f"{RESOURCE}.MaxCount": 200},
        "8 GiB of memory for up to 200 nodes, which need 8.6",
        {f"{HEAD}.InstanceType": "m6i.xlarge", f"{RESOURCE}.MaxCount": 200},
        {"vcpu_quotas": {"on_demand_trn": 99_999, "on_demand_standard": 64}, "hourly_ceiling_usd": 1e6},
    ),
    Case(
        "addresses-for-all-nodes",
        {f"{RESOURCE}.MaxCount": 4, **login_pool(Count=3)},
        "the nodes take up to 8 addresses in subnet-a, which has 7",
        {f"{RESOURCE}.MaxCount": 4, **login_pool(Count=2)},
        {"subnets": {"subnet-a": replace(PRIVATE, addresses=7)}},
    ),
    Case(
        "addresses-for-all-nodes",
        {f"{RESOURCE}.Efa": None},
        "the nodes take up to 33 addresses",
        {},
        {"subnets": {"subnet-a": replace(PRIVATE, addresses=32)}},
        also=frozenset({"efa-between-trainium-nodes"}),
    ),
]

CAPACITY = [
    Case(
        "types-sold-so",
        {**BLOCK, f"{RESOURCE}.InstanceType": "trn1n.32xlarge", f"{RESOURCE}.MinCount": 4},
        "trn1n.32xlarge is sold as on-demand and spot only",
        {**UNGROUPED, f"{QUEUE}.CapacityType": "SPOT", f"{QUEUE}.Networking.PlacementGroup": {"Enabled": True}},
    ),
    Case(
        "capacity-block-runs-whole",
        {**BLOCK, f"{RESOURCE}.MinCount": 3},
        "MinCount is 3 and MaxCount 4",
        {**BLOCK, f"{RESOURCE}.MinCount": 4},
    ),
    Case(
        "capacity-block-runs-whole",
        {**UNGROUPED, f"{QUEUE}.CapacityType": "CAPACITY_BLOCK", f"{RESOURCE}.MinCount": 4},
        "no CapacityReservationId names the block",
    ),
    Case(
        "reservation-is-no-block",
        {**TRN2, **RESERVED, **UNGROUPED},
        "no on-demand price is published",
        {**TRN2, **BLOCK, f"{RESOURCE}.MinCount": 4},
        in_zone("use2-az1"),
    ),
    Case(
        "quotas-allow-all-nodes",
        {},
        "all nodes have 512 vCPUs, the quota `Running On-Demand Trn instances` allows 500",
        {f"{RESOURCE}.MaxCount": 3},
        {"vcpu_quotas": {"on_demand_trn": 500, "on_demand_standard": 64}},
    ),
    Case(
        "all-nodes-below-price-ceiling",
        {f"{RESOURCE}.MaxCount": 5},
        "all nodes cost 107.88 USD per hour, the ceiling is 100.00",
        {f"{RESOURCE}.MaxCount": 4},
    ),
    Case(
        "idle-nodes-end",
        {f"{SETTINGS}.ScaledownIdletime": "-1"},
        "idle nodes run",
        {f"{SETTINGS}.ScaledownIdletime": 5},
    ),
]

RELEASE = [
    Case(
        "release-can-be-deployed", {}, "ParallelCluster 3.13.1 cannot be deployed any more", {}, {"release": "3.13.1"}
    ),
    Case(
        "region-supported",
        {"Region": "ap-south-2", f"{RESOURCE}.InstanceType": "trn2.48xlarge", "Image.Os": "ubuntu2404"},
        "does not support ap-south-2",
        TRN2,
        in_zone("aps2-az1"),
    ),
    Case(
        "operating-system-exists",
        {"Image.Os": "alinux2"},
        "ParallelCluster 3.16.0 removed alinux2",
        also=frozenset({"operating-system-has-training-stack"}),
    ),
    Case(
        "operating-system-exists",
        {"Image.Os": "debian12"},
        "has no debian12; it has alinux2023",
        also=frozenset({"operating-system-has-training-stack"}),
    ),
    Case(
        "operating-system-has-training-stack",
        {"Image.Os": "rocky9"},
        "no training stack for trn1 runs on rocky9",
        {"Image.Os": "ubuntu2404"},
    ),
    Case(
        "queues-within-limits",
        {"Scheduling.SlurmQueues": small_queues(51)},
        "51 queues, and ParallelCluster 3.16.1 allows 50",
        {"Scheduling.SlurmQueues": small_queues(50)},
        {"vcpu_quotas": {"on_demand_standard": 256}},
    ),
    Case(
        "queues-within-limits",
        {"Scheduling.SlurmQueues": small_queues(17, resources=3)},
        "51 compute resources, and ParallelCluster 3.16.1 allows 50",
        {"Scheduling.SlurmQueues": small_queues(25, resources=2)},
        {"vcpu_quotas": {"on_demand_standard": 256}},
    ),
    Case("scheduler-exists", {"Scheduling.Scheduler": "awsbatch"}, "ParallelCluster 3.16.0 removed awsbatch"),
    Case("scheduler-exists", {"Scheduling.Scheduler": "pbs"}, "there is no scheduler pbs"),
    Case(
        "slurm-settings-allowed",
        {f"{SETTINGS}.CustomSlurmSettings": [{"prolog": "/opt/prolog.sh"}]},
        "Prolog is ParallelCluster's own",
        {f"{SETTINGS}.CustomSlurmSettings": [{"PrologFlags": "Alloc"}, {"NodeName": "extra", "State": "CLOUD"}]},
    ),
    Case(
        "slurm-settings-allowed",
        {f"{RESOURCE}.CustomSlurmSettings": {"Gres": "neuron:16"}},
        "Gres is ParallelCluster's own",
        {f"{RESOURCE}.CustomSlurmSettings": {"Features": "trn1"}},
    ),
    Case(
        "slurm-settings-allowed",
        {
            f"{SETTINGS}.Database": {"Uri": "db:3306"},
            f"{SETTINGS}.CustomSlurmSettings": [{"JobAcctGatherType": "jobacct_gather/linux"}],
        },
        "JobAcctGatherType",
        {f"{SETTINGS}.CustomSlurmSettings": [{"JobAcctGatherType": "jobacct_gather/linux"}]},
    ),
]

OPERATIONS = [
    Case(
        "queues-can-be-updated",
        {"Scheduling.SlurmSettings": None},
        "QueueUpdateStrategy is missing",
        {f"{SETTINGS}.QueueUpdateStrategy": "TERMINATE"},
    ),
    Case(
        "logs-have-a-deletion-policy",
        {f"{LOGS}.DeletionPolicy": None},
        "the log group stays",
        {f"{LOGS}.DeletionPolicy": "Retain"},
    ),
    Case("logs-have-a-retention", {f"{LOGS}.RetentionInDays": None}, "logs are kept 180 days, which is the default"),
    Case("logs-are-kept", {f"{LOGS}.Enabled": False}, "the nodes' logs are lost", {f"{LOGS}.Enabled": True}),
    Case(
        "head-node-timeout-fits",
        {"DevSettings": {"Timeouts": {"HeadNodeBootstrapTimeout": "3600"}}},
        "3600 seconds are more than 2700",
        {"DevSettings": {"Timeouts": {"HeadNodeBootstrapTimeout": 2700}}},
    ),
    Case(
        "timeouts-leave-time-for-the-set-up",
        {"DevSettings": {"Timeouts": {"ComputeNodeBootstrapTimeout": 600}}},
        "600 seconds are not more than 600",
        {"DevSettings": {"Timeouts": {"ComputeNodeBootstrapTimeout": 601}}},
    ),
]
