"""The rule cases of the Kubernetes cluster, its node groups and how they are bought."""

from tests.config.rule_cases import QUEUE, RESERVATION, SECRET, Case, Changes

TRN1: Changes = {"name": "trn1", "instance_type": "trn1.32xlarge"}
CPU: Changes = {"name": "cpu", "instance_type": "m6i.8xlarge"}
ADMINISTRATOR = "arn:aws:iam::111122223333:role/platform-engineer"
GUEST = "arn:aws:iam::111122223333:role/guest"
RESEARCH: Changes = {"name": "research", "uid": 2001}
TOKEN = SECRET.replace("endpoint-key", "hugging-face")
OTHER_RESERVATION = "cr-0123456789abcdef1"
BLOCK: Changes = {"capacity_type": "capacity_block", "capacity_reservation_id": RESERVATION}


def cluster(*groups: Changes, **keys: object) -> Changes:
    """Return the change that adds a Kubernetes cluster of a trn1.32xlarge, or of these groups, and of CPU nodes."""
    return {
        "kubernetes": {"administrator_arns": [ADMINISTRATOR], "node_groups": [*(groups or (TRN1,)), CPU], **keys},
    }


def accelerated(**keys: object) -> Changes:
    """Return the change that adds a cluster whose first node group has these keys."""
    return cluster({**TRN1, **keys})


KUBERNETES = [
    Case(
        "somewhere-to-train",
        {"training": None},
        "",
        "there is neither `training` nor `kubernetes`, so nothing could run a job",
        {"training": None, **cluster()},
    ),
    Case(
        "kubernetes-version-known",
        cluster(version="1.34"),
        "kubernetes.version",
        "Slipway does not know Kubernetes '1.34'. Write 1.35 or 1.36, in quotation marks.",
        cluster(version="1.36"),
    ),
    Case(
        "kubernetes-training-stack-known",
        cluster(training_stack="xla-2.28"),
        "kubernetes.training_stack",
        "Slipway does not know the training stack 'xla-2.28'. Did you mean 'xla-2.28.1'?",
        cluster(training_stack="xla-2.28.1"),
    ),
    Case(
        "kubernetes-training-stack-has-job-kit",
        cluster(training_stack="seed-2.20"),
        "kubernetes.training_stack",
        "the job kit does not run with seed-2.20",
        cluster(training_stack="xla-2.28.1"),
    ),
    Case(
        "core-node-type-known",
        cluster(core_nodes={"instance_type": "m6i.xlarg"}),
        "kubernetes.core_nodes.instance_type",
        "Write m6i.large, m6i.xlarge, m6i.2xlarge,",
        cluster(core_nodes={"instance_type": "m6i.large"}),
    ),
    Case(
        "core-nodes-without-accelerator",
        cluster(core_nodes={"instance_type": "trn1.2xlarge"}),
        "kubernetes.core_nodes.instance_type",
        "core nodes would waste the accelerator of trn1.2xlarge",
        cluster(core_nodes={"instance_type": "m5.2xlarge"}),
    ),
    Case(
        "core-nodes-in-two-zones",
        {
            **cluster(),
            "region": "us-east-1",
            "network.training_availability_zone_id": "use1-az6",
            "network.other_availability_zone_ids": ["use1-az3"],
        },
        "kubernetes.core_nodes.instance_type",
        "m6i.xlarge is not offered in use1-az3",
        {
            **cluster(),
            "region": "us-east-1",
            "network.training_availability_zone_id": "use1-az6",
            "network.other_availability_zone_ids": ["use1-az4"],
        },
        frozenset({"kubernetes-in-every-zone"}),
    ),
    Case(
        "core-node-counts-in-order",
        cluster(core_nodes={"min_count": 5}),
        "kubernetes.core_nodes.min_count",
        "is larger than max_count (got 5, max_count is 4)",
        cluster(core_nodes={"min_count": 4}),
    ),
    Case(
        "public-access-ranges-valid",
        cluster(public_access_cidrs=["203.0.113.7/24"]),
        "kubernetes.public_access_cidrs[0]",
        "203.0.113.7/24 names a host inside a range. Write 203.0.113.0/24.",
        cluster(public_access_cidrs=["203.0.113.7/32"]),
    ),
    Case(
        "public-access-ranges-valid",
        cluster(public_access_cidrs=[f"198.51.{number}.0/24" for number in range(41)]),
        "kubernetes.public_access_cidrs",
        "EKS allows 40 ranges (got 41)",
        cluster(public_access_cidrs=[f"198.51.{number}.0/24" for number in range(40)]),
    ),
    Case(
        "public-access-not-for-everyone",
        cluster(public_access_cidrs=["203.0.113.0/24", "0.0.0.0/0"]),
        "kubernetes.public_access_cidrs[1]",
        "0.0.0.0/0 would let strangers try the cluster's API. Name the networks that people come from",
        cluster(public_access_cidrs=["17.0.0.0/8"]),
    ),
    Case(
        "public-access-from-internet",
        cluster(public_access_cidrs=["10.40.0.0/16"]),
        "kubernetes.public_access_cidrs[0]",
        "no request from the internet comes from 10.40.0.0/16: 10.0.0.0/8 is private",
        cluster(public_access_cidrs=["11.40.0.0/16"]),
    ),
    Case(
        "kubernetes-people-distinct",
        cluster(administrator_arns=[ADMINISTRATOR, ADMINISTRATOR]),
        "kubernetes.administrator_arns[1]",
        f"{ADMINISTRATOR} appears twice. Remove this line.",
        cluster(administrator_arns=[ADMINISTRATOR, ADMINISTRATOR.replace("role", "user")]),
    ),
    Case(
        "kubernetes-people-distinct",
        cluster(teams=[RESEARCH | {"user_arns": [GUEST, GUEST]}]),
        "kubernetes.teams[0].user_arns[1]",
        f"{GUEST} appears twice. Remove this line.",
        cluster(user_arns=[GUEST], teams=[RESEARCH | {"user_arns": [GUEST]}]),
    ),
    Case(
        "users-are-no-administrators",
        cluster(teams=[RESEARCH | {"user_arns": [ADMINISTRATOR]}]),
        "kubernetes.teams[0].user_arns[0]",
        f"{ADMINISTRATOR} is in administrator_arns, too. Keep it in one of the two.",
        cluster(user_arns=[GUEST]),
    ),
    Case(
        "teams-distinct",
        cluster(teams=[RESEARCH, RESEARCH | {"uid": 2002}]),
        "kubernetes.teams[1].name",
        "another team is named research. Write another name.",
        cluster(teams=[RESEARCH, RESEARCH | {"name": "speech", "uid": 2002}]),
    ),
    Case(
        "teams-distinct",
        cluster(teams=[RESEARCH, RESEARCH | {"name": "speech"}]),
        "kubernetes.teams[1].uid",
        "the team research has the user id 2001. Write another number",
        cluster(teams=[RESEARCH]),
    ),
    Case(
        "teams-without-mpi",
        cluster(launcher="mpi", teams=[RESEARCH]),
        "kubernetes.teams",
        "Write `launcher: torchrun`, or remove `teams`.",
        cluster(launcher="mpi"),
    ),
    Case(
        "kubernetes-people-in-partition",
        cluster(administrator_arns=[ADMINISTRATOR.replace("aws", "aws-cn")]),
        "kubernetes.administrator_arns[0]",
        "the ARN is of the partition aws-cn, us-west-2 is in aws. Write arn:aws:iam:",
        cluster(administrator_arns=[ADMINISTRATOR]),
    ),
    Case(
        "hugging-face-secret-in-region",
        cluster(teams=[RESEARCH | {"hugging_face_token_secret_arn": TOKEN.replace("us-west-2", "us-east-1")}]),
        "kubernetes.teams[0].hugging_face_token_secret_arn",
        "the ARN is of us-east-1, the environment in 'us-west-2'. Keep the secret there",
        cluster(teams=[RESEARCH | {"hugging_face_token_secret_arn": TOKEN}]),
    ),
    Case(
        "hugging-face-secret-in-region",
        cluster(hugging_face_token_secret_arn=TOKEN.replace("us-west-2", "us-east-1")),
        "kubernetes.hugging_face_token_secret_arn",
        "the ARN is of us-east-1, the environment in 'us-west-2'. Keep the secret there",
        cluster(hugging_face_token_secret_arn=TOKEN),
    ),
    Case(
        "training-subnet-large-enough",
        accelerated(max_count=365),
        "network.private_subnet_prefix_length",
        "4070 for Kubernetes nodes and their pods, 16 for the Kubernetes API",
        accelerated(max_count=364),
    ),
]

NODE_GROUPS = [
    Case(
        "node-group-names-distinct",
        cluster(TRN1, {**TRN1}),
        "kubernetes.node_groups[1].name",
        "another node group has the name 'trn1'",
        cluster(TRN1, {**TRN1, "name": "trn1-spot", "capacity_type": "spot"}),
    ),
    Case(
        "node-group-names-distinct",
        accelerated(name="core"),
        "kubernetes.node_groups[0].name",
        "the core nodes have the name 'core'",
        accelerated(name="core2"),
    ),
    Case(
        "kubernetes-in-every-zone",
        {
            "region": "us-east-1",
            "network": {"training_availability_zone_id": "use1-az6", "other_availability_zone_ids": ["use1-az3"]},
            "training": None,
            **cluster(),
        },
        "network.other_availability_zone_ids[0]",
        "EKS refuses a cluster with a subnet in use1-az3",
        {
            "region": "us-east-1",
            "network": {"training_availability_zone_id": "use1-az6", "other_availability_zone_ids": ["use1-az1"]},
            "training": None,
            **cluster(),
        },
        frozenset({"core-nodes-in-two-zones"}),
    ),
    Case(
        "node-group-without-accelerator",
        {"kubernetes": {"administrator_arns": [ADMINISTRATOR], "node_groups": [TRN1]}},
        "kubernetes.node_groups",
        "runs prepare data and convert models on nodes without accelerator, and no node group has such nodes",
        {"kubernetes": {"administrator_arns": [ADMINISTRATOR], "node_groups": [CPU]}},
    ),
    Case(
        "node-group-type-known",
        accelerated(instance_type="trn1.64xlarge"),
        "kubernetes.node_groups[0].instance_type",
        "Slipway does not know the instance type 'trn1.64xlarge'",
        accelerated(instance_type="trn1.2xlarge"),
    ),
    Case(
        "node-group-type-offered",
        accelerated(instance_type="trn2.48xlarge"),
        "kubernetes.node_groups[0].instance_type",
        "Regions with it: ap-south-2 and us-east-2.",
        accelerated(instance_type="trn1n.32xlarge"),
    ),
    Case(
        "training-stack-on-node-group",
        cluster(training_stack="native-2.33"),
        "kubernetes.node_groups[0].instance_type",
        "native-2.33 does not support trn1.32xlarge",
        cluster(training_stack="xla-2.28.1"),
        also=frozenset({"training-stack-has-efa"}),
    ),
    Case(
        "training-stack-has-efa",
        {
            **cluster({**TRN1, "instance_type": "trn2.48xlarge"}, training_stack="native-2.33"),
            "region": "us-east-2",
            "network.training_availability_zone_id": "use2-az1",
            "network.other_availability_zone_ids": ["use2-az3"],
            f"{QUEUE}.compute_resources.0.instance_type": "trn2.48xlarge",
        },
        "kubernetes.node_groups[0].instance_type",
        "Slipway has no EFA installer for native-2.33, but trn2.48xlarge has EFA",
        {
            **cluster({**TRN1, "instance_type": "trn2.48xlarge", "efa": False}, training_stack="native-2.33"),
            "region": "us-east-2",
            "network.training_availability_zone_id": "use2-az1",
            "network.other_availability_zone_ids": ["use2-az3"],
            f"{QUEUE}.compute_resources.0.instance_type": "trn2.48xlarge",
        },
    ),
    Case(
        "node-group-efa-available",
        accelerated(instance_type="trn1.2xlarge", efa=True),
        "kubernetes.node_groups[0].efa",
        "trn1.2xlarge has no EFA",
        accelerated(efa=True),
    ),
    Case(
        "node-group-efa-between-nodes",
        accelerated(efa=False, max_count=2),
        "kubernetes.node_groups[0].efa",
        "2 nodes would not use the 8 EFA interfaces of each. Remove this line, or write `max_count: 1`.",
        accelerated(efa=False),
    ),
    Case(
        "node-group-counts-in-order",
        accelerated(min_count=3, max_count=2, capacity_reservation_id=RESERVATION),
        "kubernetes.node_groups[0].min_count",
        "is larger than max_count (got 3, max_count is 2)",
        accelerated(min_count=2, max_count=2, capacity_reservation_id=RESERVATION),
    ),
    Case(
        "node-group-type-sold",
        accelerated(instance_type="trn1.2xlarge", **BLOCK),
        "kubernetes.node_groups[0].instance_type",
        "trn1.2xlarge is not sold as capacity_block",
        accelerated(**BLOCK),
    ),
    Case(
        "node-group-block-has-reservation",
        accelerated(capacity_type="capacity_block"),
        "kubernetes.node_groups[0].capacity_type",
        "capacity_block needs the id of the block",
        accelerated(**BLOCK),
    ),
    Case(
        "node-group-block-starts-empty",
        accelerated(**BLOCK, min_count=1),
        "kubernetes.node_groups[0].min_count",
        "the node group could not be made before the block begins (got 1)",
        accelerated(**BLOCK, min_count=0),
    ),
    Case(
        "node-group-spot-without-reservation",
        accelerated(capacity_type="spot", capacity_reservation_id=RESERVATION),
        "kubernetes.node_groups[0].capacity_reservation_id",
        "Spot capacity cannot come from a reservation",
        accelerated(capacity_reservation_id=RESERVATION),
    ),
    Case(
        "node-group-placement-of-reservation",
        accelerated(placement_group="trn1-reserved"),
        "kubernetes.node_groups[0].placement_group",
        "only nodes from a reservation start in a placement group that is there already",
        accelerated(placement_group="trn1-reserved", capacity_reservation_id=RESERVATION),
    ),
    Case(
        "node-group-placement-of-reservation",
        accelerated(placement_group="trn1-reserved", **BLOCK),
        "kubernetes.node_groups[0].placement_group",
        "a Capacity Block is in no placement group",
        accelerated(placement_group="trn1-reserved", capacity_reservation_id=RESERVATION),
    ),
    Case(
        "node-group-reservation-its-own",
        cluster({**TRN1, **BLOCK}, {**TRN1, "name": "second", **BLOCK}),
        "kubernetes.node_groups[1].capacity_reservation_id",
        f"node group trn1 uses {RESERVATION} already",
        cluster({**TRN1, **BLOCK}, {**TRN1, "name": "second"}),
    ),
    Case(
        "node-group-reservation-its-own",
        {**accelerated(capacity_reservation_id=RESERVATION), f"{QUEUE}.capacity_reservation_id": RESERVATION},
        "kubernetes.node_groups[0].capacity_reservation_id",
        f"queue trn1 uses {RESERVATION} already",
        {
            **accelerated(capacity_reservation_id=OTHER_RESERVATION),
            f"{QUEUE}.capacity_reservation_id": RESERVATION,
        },
    ),
]

KUBERNETES_NOTICES = [
    Case(
        "kubernetes-has-administrator",
        cluster(administrator_arns=[]),
        "kubernetes",
        "no one can submit a job with kubectl, not even the role that deploys",
        cluster(administrator_arns=[ADMINISTRATOR]),
    ),
    Case(
        "node-group-is-for-inference",
        accelerated(instance_type="inf2.xlarge"),
        "kubernetes.node_groups[0].instance_type",
        "no recipe runs on inf2.xlarge, which is for inference",
        accelerated(instance_type="trn1.2xlarge"),
    ),
    Case(
        "static-node-group-without-reservation",
        accelerated(min_count=1),
        "kubernetes.node_groups[0].min_count",
        "the node group comes up only if EC2 has 1 trn1.32xlarge at that moment",
        accelerated(min_count=1, capacity_reservation_id=RESERVATION),
    ),
]
