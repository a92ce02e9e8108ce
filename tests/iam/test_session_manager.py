"""InstanceGroup that Session Manager reaches read no parameter of the account with it."""

import json
from typing import Any

import pytest

from tests.assembly import PROJECT, Assembly
from tests.conftest import AssemblyFactory
from tests.iam.account import Account, Role
from tests.iam.simulator import ACCOUNT, Document, Request, decide

SESSIONS = (
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
)
COMMANDS = ("ec2messages:GetMessages", "ec2messages:SendReply")
PARAMETERS = ("ssm:GetParameter", "ssm:GetParameters")


def node_policies(account: Account, iam: dict[str, Any]) -> list[Document]:
    """What a section `Iam` of the cluster's configuration attaches to its nodes."""
    return [account.managed_policy(item["Policy"]) for item in iam["AdditionalIamPolicies"]]


def cluster_nodes(assembly: Assembly) -> dict[str, list[Document]]:
    """Policies by kind of node."""
    account = Account([assembly])
    (cluster,) = account.resources("Custom::PclusterCluster")
    configuration = cluster.resolved["ClusterConfiguration"]
    nodes = {"head": node_policies(account, configuration["HeadNode"]["Iam"])}
    for queue in configuration["Scheduling"]["SlurmQueues"]:
        nodes[f"queue {queue['Name']}"] = node_policies(account, queue["Iam"])
    for pool in configuration.get("LoginNodes", {}).get("Pools", []):
        nodes[f"login {pool['Name']}"] = node_policies(account, pool["Iam"])
    return nodes


def request(policies: list[Document], action: str) -> Request:
    """A request of a node with these policies."""
    return Request(f"arn:aws:iam::{ACCOUNT}:role/node", action, resource_of(action), policies)


def resource_of(action: str) -> str:
    """A parameter that no tool of Slipway's wrote; an instance; nothing."""
    if action in PARAMETERS:
        return f"arn:aws:ssm:us-west-2:{ACCOUNT}:parameter/prod/database/password"
    return f"arn:aws:ec2:us-west-2:{ACCOUNT}:instance/i-0abc" if action.startswith("ssm:") else "*"


@pytest.mark.parametrize("name", ["default", "team"])
def test_no_cluster_node_reads_a_parameter(assemblies: AssemblyFactory, name: str) -> None:
    for node, policies in cluster_nodes(assemblies(name)).items():
        assert decide([request(policies, action) for action in PARAMETERS]) == ["ImplicitlyDenied"] * 2, node


@pytest.mark.parametrize("name", ["default", "team"])
def test_sessions_and_commands_reach_nodes_where_people_work_and_no_compute_node(
    assemblies: AssemblyFactory, name: str
) -> None:
    for node, policies in cluster_nodes(assemblies(name)).items():
        expected = "ImplicitlyDenied" if node.startswith("queue") else "Allowed"
        requests = [request(policies, action) for action in (*SESSIONS, *COMMANDS)]
        assert decide(requests) == [expected] * len(requests), node


def machine_role(assemblies: AssemblyFactory, kind: str) -> Role:
    """The role of inference hosts or of Kubernetes nodes."""
    stack, logical_id = {
        "inference": ("slipway-default-inference", "ModelsTanuki8bServiceHosts"),
        "kubernetes": ("slipway-kubernetes-kubernetes", "ClusterNodeRole"),
    }[kind]
    return Account([assemblies("default" if kind == "inference" else "kubernetes")]).role(stack, logical_id)


@pytest.mark.parametrize("kind", ["inference", "kubernetes"])
def test_other_machines_have_sessions_but_neither_parameters_nor_commands(
    assemblies: AssemblyFactory, kind: str
) -> None:
    role = machine_role(assemblies, kind)

    assert decide([role.request(action, resource_of(action)) for action in SESSIONS]) == ["Allowed"] * len(SESSIONS)
    denied = [role.request(action, resource_of(action)) for action in (*PARAMETERS, *COMMANDS)]
    assert decide(denied) == ["ImplicitlyDenied"] * len(denied)


def documented_policy() -> Document:
    """The policy of docs/onboarding.md for the administrators of the cluster `trainium`."""
    text = (PROJECT / "docs" / "onboarding.md").read_text("utf-8").partition("## Administrators")[2]
    policy = text.partition("```json")[2].partition("```")[0]
    for placeholder, value in {"ACCOUNT": ACCOUNT, "REGION": "us-west-2", "CLUSTER": "trainium"}.items():
        policy = policy.replace(placeholder, value)
    return json.loads(policy)  # type: ignore[no-any-return]


def test_the_documented_policy_opens_sessions_on_the_clusters_nodes_and_no_others() -> None:
    instance = f"arn:aws:ec2:us-west-2:{ACCOUNT}:instance/i-0abc"

    def asked(action: str, resource: str, cluster: str | None = None) -> Request:
        tags = {"ssm:resourceTag/parallelcluster:cluster-name": cluster} if cluster else {}
        return Request(f"arn:aws:iam::{ACCOUNT}:role/admin", action, resource, [documented_policy()], tags)

    # The simulator takes no ARN without an account, as AWS's own documents have it.
    allowed = [asked("ssm:StartSession", instance, "trainium")]
    denied = [
        asked("ssm:StartSession", instance, "trainium-a"),
        asked("ssm:StartSession", instance),
        asked("ssm:SendCommand", instance, "trainium"),
    ]

    assert decide(allowed) == ["Allowed"]
    assert decide(denied) == ["ImplicitlyDenied"] * 3
