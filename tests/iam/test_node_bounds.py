"""Whoever is root on a cluster's node has its role: what it may do to its own cluster, and not to others.

`attacks` are allowed by what aws-parallelcluster gives the role; `own` is what its programs call
(aws-parallelcluster-node: slurm_plugin/fleet_manager.py, instance_manager.py, clustermgtd.py;
aws-parallelcluster-cookbook: manageVolume.py, fleet_status.rb, dynamo.rb, clusterstatusmgtd.py).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest

from tests.conftest import AssemblyFactory
from tests.iam.cluster_roles import CLUSTER, ClusterNode
from tests.iam.simulator import ACCOUNT, decide

EC2 = f"arn:aws:ec2:us-west-2:{ACCOUNT}"
INSTANCE, VOLUME, TEMPLATE = f"{EC2}:instance/i-0abc", f"{EC2}:volume/vol-0abc", f"{EC2}:launch-template/lt-0abc"
TABLE = f"arn:aws:dynamodb:us-west-2:{ACCOUNT}:table/parallelcluster-{CLUSTER}"
LOGS = f"arn:aws:logs:us-west-2:{ACCOUNT}:log-group:/aws/parallelcluster"
OWN_STREAM = f"{LOGS}/{CLUSTER}-202611222359:log-stream:ip-10-0-0-1.slurmctld"
OTHER_STREAM = f"{LOGS}/{CLUSTER}-a-202611222359:log-stream:ip-10-0-0-1.slurmctld"

OWN_TAG = {"aws:ResourceTag/parallelcluster:cluster-name": CLUSTER}
OTHER_TAG = {"aws:ResourceTag/parallelcluster:cluster-name": "other"}
OWN_LAUNCH = {
    "aws:RequestTag/parallelcluster:cluster-name": CLUSTER,
    "aws:RequestTag/slipway:environment": "team",
    "aws:TagKeys": ["parallelcluster:cluster-name", "slipway:environment"],
}


class Call(NamedTuple):
    """A call of AWS with what AWS says about it."""

    action: str
    resource: str
    context: Mapping[str, str | Sequence[str]]


def call(action: str, resource: str, context: Mapping[str, str | Sequence[str]] | None = None) -> Call:
    """Shorten the tables."""
    return Call(action, resource, context or {})


def key(item: str) -> dict[str, str | Sequence[str]]:
    """What DynamoDB says of a request for one item."""
    return {"dynamodb:LeadingKeys": [item]}


EC2_RESOURCE_TAG = "ec2:ResourceTag/parallelcluster:cluster-name"
OWN = {
    "head": [
        call("ec2:RunInstances", INSTANCE, OWN_LAUNCH),
        call("ec2:RunInstances", TEMPLATE),
        call("ec2:CreateFleet", f"{EC2}:fleet/fleet-1"),
        *(
            call("ec2:CreateTags", resource, {**OWN_LAUNCH, "ec2:CreateAction": launch})
            for resource in (INSTANCE, VOLUME)
            for launch in ("RunInstances", "CreateFleet")
        ),
        call("ec2:TerminateInstances", INSTANCE, {**OWN_TAG, EC2_RESOURCE_TAG: CLUSTER}),
        call("ec2:AttachVolume", VOLUME, OWN_TAG),
        call("ec2:AttachVolume", INSTANCE, OWN_TAG),
        call("ec2:DetachVolume", VOLUME, OWN_TAG),
        call("ec2:DescribeInstances", "*"),
        call("iam:PassRole", f"arn:aws:iam::{ACCOUNT}:role/parallelcluster/{CLUSTER}/{CLUSTER}-Role-1"),
        call("dynamodb:UpdateItem", TABLE, key("COMPUTE_FLEET")),
        call("dynamodb:PutItem", TABLE, key("COMPUTE_FLEET")),
        call("dynamodb:PutItem", TABLE, key("CLUSTER_CONFIG.i-0abc")),
        call("logs:PutLogEvents", OWN_STREAM),
    ],
    "login": [
        call("dynamodb:PutItem", TABLE, key("CLUSTER_CONFIG.i-0abc")),
        call("dynamodb:GetItem", TABLE, key("CLUSTER_CONFIG.i-0abc")),
        call("logs:PutLogEvents", OWN_STREAM),
    ],
    "compute": [
        call("dynamodb:PutItem", TABLE, key("CLUSTER_CONFIG.i-0abc")),
        call("dynamodb:Query", f"{TABLE.replace('parallelcluster-', 'parallelcluster-slurm-')}"),
        call("logs:CreateLogStream", f"{LOGS}/{CLUSTER}-202611222359:*"),
        call("logs:PutLogEvents", OWN_STREAM),
    ],
}

LOG_ATTACKS = [
    call("logs:PutLogEvents", OTHER_STREAM),
    call("logs:PutRetentionPolicy", f"{LOGS}/other-202611222359:*"),
    call("logs:PutRetentionPolicy", f"{LOGS}/{CLUSTER}-202611222359:*"),
]
FLEET_ATTACKS = [call(f"dynamodb:{verb}Item", TABLE, key("COMPUTE_FLEET")) for verb in ("Update", "Put")]
ATTACKS = {
    "head": [
        # Take over another cluster's instance: give it one's own tag, then end it.
        call("ec2:CreateTags", INSTANCE, {**OTHER_TAG, **OWN_LAUNCH}),
        call("ec2:CreateTags", VOLUME, {**OTHER_TAG, **OWN_LAUNCH}),
        # Read another cluster's disk.
        call("ec2:DetachVolume", VOLUME, OTHER_TAG),
        call("ec2:AttachVolume", VOLUME, OTHER_TAG),
        call("ec2:AttachVolume", INSTANCE, OTHER_TAG),
        call("ec2:AttachVolume", VOLUME),
        # Launch at another environment's expense, or as a node of another cluster.
        call(
            "ec2:CreateTags",
            INSTANCE,
            {**OWN_LAUNCH, "aws:RequestTag/slipway:environment": "other", "ec2:CreateAction": "RunInstances"},
        ),
        call(
            "ec2:CreateTags",
            INSTANCE,
            {
                **OWN_LAUNCH,
                "aws:RequestTag/parallelcluster:cluster-name": "other",
                "ec2:CreateAction": "RunInstances",
            },
        ),
        *LOG_ATTACKS,
    ],
    "login": [*FLEET_ATTACKS, *LOG_ATTACKS],
    "compute": [*FLEET_ATTACKS, *LOG_ATTACKS],
}
KINDS = list(OWN)


@pytest.mark.parametrize("kind", KINDS)
def test_parallelclusters_own_programs_go_on_working(assemblies: AssemblyFactory, kind: str) -> None:
    node = ClusterNode(assemblies("team"), kind)

    decisions = decide([node.request(*own) for own in OWN[kind]])

    assert [own for own, decision in zip(OWN[kind], decisions, strict=True) if decision != "Allowed"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_attacks_that_parallelcluster_allows_are_denied(assemblies: AssemblyFactory, kind: str) -> None:
    node = ClusterNode(assemblies("team"), kind)
    attacks = ATTACKS[kind]

    before = decide([node.request(*each, only_provided=True) for each in attacks])
    after = decide([node.request(*each) for each in attacks])

    assert [each for each, decision in zip(attacks, before, strict=True) if decision != "Allowed"] == []
    assert [each for each, decision in zip(attacks, after, strict=True) if decision != "ExplicitlyDenied"] == []


@pytest.mark.parametrize("kind", KINDS)
def test_other_clusters_tables_instances_and_roles_were_never_in_reach(assemblies: AssemblyFactory, kind: str) -> None:
    node = ClusterNode(assemblies("team"), kind)

    decisions = decide(
        [
            node.request("dynamodb:UpdateItem", TABLE.replace(CLUSTER, "other"), key("COMPUTE_FLEET")),
            node.request("ec2:TerminateInstances", INSTANCE, OTHER_TAG),
            node.request("iam:PassRole", f"arn:aws:iam::{ACCOUNT}:role/parallelcluster/other/Role-1"),
            node.request("iam:DetachRolePolicy", node.arn),
        ]
    )

    assert "Allowed" not in decisions


LAUNCH = [Call("ec2:RunInstances", INSTANCE, OWN_LAUNCH), Call("ec2:CreateFleet", f"{EC2}:fleet/fleet-1", {})]
PAUSED = {"aws:PrincipalTag/slipway:paused": "launches"}


def test_a_head_node_launches_nothing_while_its_role_is_tagged_as_paused(assemblies: AssemblyFactory) -> None:
    node = ClusterNode(assemblies("team"), "head")
    paused = [Call(action, resource, {**context, **PAUSED}) for action, resource, context in LAUNCH]

    assert decide([node.request(*each) for each in LAUNCH]) == ["Allowed"] * 2
    assert decide([node.request(*each, only_provided=True) for each in paused]) == ["Allowed"] * 2
    assert decide([node.request(*each) for each in paused]) == ["ExplicitlyDenied"] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_no_node_takes_the_tag_off_its_role(assemblies: AssemblyFactory, kind: str) -> None:
    node = ClusterNode(assemblies("team"), kind)
    actions = ("iam:UntagRole", "iam:TagRole", "iam:DetachRolePolicy", "iam:DeleteRolePolicy", "iam:PutRolePolicy")

    assert "Allowed" not in decide([node.request(action, node.arn) for action in actions])
