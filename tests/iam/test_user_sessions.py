"""Users of a cluster log in as themselves, and as nobody else: the policies of docs/onboarding.md and of the nodes."""

import json

import pytest

from slipway_emulator.template.intrinsics import Resolver
from tests.assembly import PROJECT, Assembly
from tests.conftest import AssemblyFactory
from tests.iam.account import Account
from tests.iam.simulator import ACCOUNT, Document, Request, decide
from tests.iam.test_session_manager import cluster_nodes

INSTANCE = f"arn:aws:ec2:us-west-2:{ACCOUNT}:instance/i-0abc"
STACK = "slipway-team-training"


@pytest.fixture(scope="module")
def team(assemblies: AssemblyFactory) -> Assembly:
    """The environment with users of its own."""
    return assemblies("team")


@pytest.fixture(scope="module")
def account(team: Assembly) -> Account:
    """The account after its deployment."""
    return Account([team])


def document_of(account: Account) -> str:
    """ARN of the document for users."""
    (document,) = account.resources("AWS::SSM::Document")
    return document.arn


def member_policy(account: Account) -> Document:
    """The policy of docs/onboarding.md for users, as the reader fills it in from the output."""
    resolver: Resolver = account.stacks[STACK].resolver
    command = str(resolver.resolve(account.stacks[STACK].template["Outputs"]["UserSession"]["Value"]))
    text = (PROJECT / "docs" / "onboarding.md").read_text("utf-8").partition("## The policy of a user")[2]
    policy = text.partition("```json")[2].partition("```")[0]
    words = {
        "ACCOUNT": ACCOUNT,
        "REGION": "us-west-2",
        "CLUSTER": "trainium-team",
        "DOCUMENT": command.rsplit(maxsplit=1)[-1],
    }
    for placeholder, value in words.items():
        policy = policy.replace(placeholder, value)
    return json.loads(policy)  # type: ignore[no-any-return]


def asked(
    account: Account,
    action: str,
    resource: str,
    *,
    user: str | None = "alice",
    cluster: str = "trainium-team",
    node: str = "LoginNode",
) -> Request:
    """A request of a member whose role has the tag of this user."""
    context = {"aws:PrincipalTag/SSMSessionRunAs": user} if user else {}
    if resource == INSTANCE:
        context |= {
            "ssm:resourceTag/parallelcluster:cluster-name": cluster,
            "ssm:resourceTag/parallelcluster:node-type": node,
        }
    if action == "ssm:StartSession":
        context["ssm:SessionDocumentAccessCheck"] = "true"
    return Request(f"arn:aws:iam::{ACCOUNT}:role/alice", action, resource, [member_policy(account)], context)


def test_a_member_opens_a_session_as_themselves_on_a_login_node(account: Account) -> None:
    start = "ssm:StartSession"

    assert decide([asked(account, start, INSTANCE), asked(account, start, document_of(account))]) == ["Allowed"] * 2


@pytest.mark.parametrize(
    "name",
    [
        "AWS-StartInteractiveCommand",
        "AWS-StartNonInteractiveCommand",
        "AWS-StartPortForwardingSession",
        "AWS-StartPortForwardingSessionToRemoteHost",
        "AWS-StartSSHSession",
        "SSM-SessionManagerRunShell",
    ],
)
def test_a_member_opens_no_other_document(account: Account, name: str) -> None:
    # The last one is what a session without a document opens, which the condition in the policy makes AWS check.
    document = f"arn:aws:ssm:us-west-2:{ACCOUNT}:document/{name}"

    assert decide([asked(account, "ssm:StartSession", document)]) == ["ImplicitlyDenied"]


def test_every_statement_that_starts_sessions_has_the_document_checked(account: Account) -> None:
    statements = [item for item in member_policy(account)["Statement"] if item["Action"] == "ssm:StartSession"]

    assert len(statements) == 2
    for statement in statements:
        assert statement["Condition"]["BoolIfExists"] == {"ssm:SessionDocumentAccessCheck": "true"}


def test_a_member_reaches_neither_the_head_node_nor_other_clusters(account: Account) -> None:
    start = "ssm:StartSession"
    requests = [
        asked(account, start, INSTANCE, node="HeadNode"),
        asked(account, start, INSTANCE, node="Compute"),
        asked(account, start, INSTANCE, cluster="trainium"),
        asked(account, start, INSTANCE, cluster="trainium-team-b"),
    ]

    assert decide(requests) == ["ImplicitlyDenied"] * len(requests)


@pytest.mark.parametrize("user", [None, "ubuntu", "ec2-user", "root", "ssm-user", "carol"])
def test_only_users_of_the_file_get_a_session(account: Account, user: str | None) -> None:
    assert decide([asked(account, "ssm:StartSession", INSTANCE, user=user)]) == ["ImplicitlyDenied"]


def test_a_member_sends_no_command_and_changes_neither_document_nor_tag(account: Account) -> None:
    role = f"arn:aws:iam::{ACCOUNT}:role/alice"
    requests = [
        asked(account, "ssm:SendCommand", INSTANCE),
        asked(account, "ssm:UpdateDocument", document_of(account)),
        asked(account, "ssm:UpdateDocumentDefaultVersion", document_of(account)),
        asked(account, "iam:TagRole", role),
        asked(account, "sts:TagSession", role),
    ]

    assert decide(requests) == ["ImplicitlyDenied"] * len(requests)


def test_login_and_head_nodes_write_session_logs_and_compute_nodes_none(team: Assembly, account: Account) -> None:
    (group,) = (made for made in account.resources("AWS::Logs::LogGroup") if made.logical_id.startswith("UserSessions"))
    stream = group.arn.removesuffix("*") + "log-stream:alice-0123"
    # ParallelCluster attaches CloudWatchAgentServerPolicy to all nodes.
    agent = account.managed_policy("arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy")
    for node, policies in cluster_nodes(team).items():
        request = Request(f"arn:aws:iam::{ACCOUNT}:role/node", "logs:PutLogEvents", stream, [*policies, agent])
        assert decide([request]) == ["ExplicitlyDenied" if node.startswith("queue") else "Allowed"], node


def test_nodes_shorten_and_delete_no_session_log(team: Assembly, account: Account) -> None:
    (group,) = (made for made in account.resources("AWS::Logs::LogGroup") if made.logical_id.startswith("UserSessions"))
    agent = account.managed_policy("arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy")
    for node, policies in cluster_nodes(team).items():
        for action in ("logs:PutRetentionPolicy", "logs:DeleteLogGroup"):
            arn = group.arn.removesuffix(":*")
            request = Request(f"arn:aws:iam::{ACCOUNT}:role/node", action, arn, [*policies, agent])
            assert decide([request]) != ["Allowed"], (node, action)
