"""What no node of a cluster may do, whatever ParallelCluster allows it.

ParallelCluster's policies reach further than its cluster: the head node may tag, attach and detach every instance and
volume of the account (pcluster/templates/cdk_builder_utils.py, 3.16.1), and a tag is what its right to terminate hangs
on. Whoever is root on a node has its role. An explicit deny wins over every allow, a node cannot detach it, and it goes
together with a permissions boundary that the account's owner asks for.
"""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from neuron_constructs.bucket_access import PARALLELCLUSTER_PATH
from neuron_constructs.log_groups import log_group_arns

CLUSTER_TAG = "parallelcluster:cluster-name"
"""The tag that ParallelCluster gives to all that it makes."""

LAUNCHES = ("RunInstances", "CreateFleet")
"""Calls that tag what they create: the launch templates of ParallelCluster have tags."""

PAUSED_TAG = "slipway:paused"
"""Tag of a role whose cluster may launch nothing, because the environment is stopped."""

_CONFIGURATION_ITEMS = "CLUSTER_CONFIG.*"
"""What a node writes about itself: aws-parallelcluster-cookbook, aws-parallelcluster-slurm/libraries/dynamo.rb."""


def node_bounds(
    scope: Construct,
    id: str,  # noqa: A002
    *,
    cluster_name: str,
    owner: tuple[str, str],
    session_logs: str | None = None,
) -> iam.ManagedPolicy:
    """Return the policy for all nodes: instances, volumes and logs of other clusters are out of their reach.

    Args:
        scope: parent construct.
        id: construct id.
        cluster_name: name of the cluster.
        owner: key and value of the tag that says whom a machine belongs to.
        session_logs: log group of the users' sessions.
    """
    return iam.ManagedPolicy(
        scope,
        id,
        path=PARALLELCLUSTER_PATH,
        description="Slipway: what no node of the cluster may do",
        statements=[
            _deny(["ec2:CreateTags"], {"StringNotEquals": {"ec2:CreateAction": list(LAUNCHES)}}),
            *(
                _deny(["ec2:CreateTags"], {"StringNotEquals": {key: value}, "Null": {key: "false"}})
                for key, value in {
                    f"aws:RequestTag/{CLUSTER_TAG}": cluster_name,
                    f"aws:RequestTag/{owner[0]}": owner[1],
                }.items()
            ),
            _deny(
                ["ec2:AttachVolume", "ec2:DetachVolume", "ec2:TerminateInstances"],
                {"StringNotEquals": {f"aws:ResourceTag/{CLUSTER_TAG}": cluster_name}},
            ),
            # What the budget's function writes on the head node's role: assets/operations/slipway_pause/launches.py.
            _deny(["ec2:RunInstances", "ec2:CreateFleet"], {"Null": {f"aws:PrincipalTag/{PAUSED_TAG}": "false"}}),
            *_logs(cdk.Stack.of(scope), cluster_name, session_logs),
        ],
    )


def fleet_bounds(scope: Construct, id: str, *, cluster_name: str) -> iam.ManagedPolicy:  # noqa: A002
    """Return the policy for nodes that jobs and users reach: of the cluster's table they write what concerns a node.

    The fleet's status is in the same table. Who writes it starts a fleet that the budget has stopped.

    Args:
        scope: parent construct.
        id: construct id.
        cluster_name: name of the cluster.
    """
    table = cdk.Stack.of(scope).format_arn(
        service="dynamodb", resource="table", resource_name=f"parallelcluster-{cluster_name}"
    )
    return iam.ManagedPolicy(
        scope,
        id,
        path=PARALLELCLUSTER_PATH,
        description="Slipway: what no login or compute node of the cluster may do",
        statements=[
            _deny(
                ["dynamodb:PutItem", "dynamodb:UpdateItem"],
                {"ForAnyValue:StringNotLike": {"dynamodb:LeadingKeys": [_CONFIGURATION_ITEMS]}},
                table,
            )
        ],
    )


def session_log_bounds(scope: Construct, id: str, *, log_group_name: str) -> iam.ManagedPolicy:  # noqa: A002
    """Return the policy for nodes on which jobs run: what users typed elsewhere is not theirs to write."""
    return iam.ManagedPolicy(
        scope,
        id,
        path=PARALLELCLUSTER_PATH,
        description="Slipway: compute nodes write no logs of sessions",
        statements=[
            iam.PolicyStatement(
                effect=iam.Effect.DENY,
                actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                resources=log_group_arns(cdk.Stack.of(scope), log_group_name),
            )
        ],
    )


def _logs(stack: cdk.Stack, cluster_name: str, session_logs: str | None) -> list[iam.PolicyStatement]:
    """The CloudWatch agent's policy is for every log group of the account; groups end in the minute they were made."""
    own = [f"/aws/parallelcluster/{cluster_name}-20??????????", *([session_logs] if session_logs else [])]
    return [
        iam.PolicyStatement(
            effect=iam.Effect.DENY,
            actions=["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"],
            not_resources=[arn for name in own for arn in log_group_arns(stack, name)],
        ),
        # Retention is the stack's: a shorter one deletes what has been logged.
        _deny(["logs:PutRetentionPolicy"]),
    ]


def _deny(
    actions: list[str], conditions: dict[str, dict[str, str | list[str]]] | None = None, resource: str = "*"
) -> iam.PolicyStatement:
    return iam.PolicyStatement(effect=iam.Effect.DENY, actions=actions, resources=[resource], conditions=conditions)
