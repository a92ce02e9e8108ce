"""What the pods of a team on the Kubernetes cluster may do in the account, and what they try against another team."""

import pytest

from tests.conftest import AssemblyFactory
from tests.iam.account import Account, Role
from tests.iam.simulator import Decision, Request, decide

STACK = "slipway-teams-kubernetes"
RESEARCH, SPEECH, NO_TEAM = "JobsRoleresearch", "JobsRolespeech", "JobsRole"
SECRETS = {
    RESEARCH: "arn:aws:secretsmanager:us-west-2:111122223333:secret:research-AbCdEf",
    SPEECH: "arn:aws:secretsmanager:us-west-2:111122223333:secret:speech-AbCdEf",
    NO_TEAM: "arn:aws:secretsmanager:us-west-2:111122223333:secret:hugging-face-AbCdEf",
}
KEYS = {RESEARCH: "_teams/research/run/1", SPEECH: "_teams/speech/run/1", NO_TEAM: "run/1"}


@pytest.fixture(scope="module")
def account(assemblies: AssemblyFactory) -> Account:
    """The account with two teams, and people without one."""
    return Account([assemblies("teams")])


def role(account: Account, name: str) -> Role:
    """Return the role of the jobs of a team, or of people without one."""
    if name != NO_TEAM:
        return account.role(STACK, name)
    (found,) = (
        each
        for each in account.roles()
        if each.resource.logical_id.startswith(NO_TEAM) and not each.resource.logical_id.startswith((RESEARCH, SPEECH))
    )
    return found


def bucket(account: Account, begins: str) -> str:
    """Return the ARN of a bucket."""
    (found,) = (made.arn for made in account.resources("AWS::S3::Bucket") if made.logical_id.startswith(begins))
    return found


@pytest.mark.parametrize("action", ["GetObject", "PutObject", "DeleteObject", "AbortMultipartUpload"])
def test_checkpoints_are_within_reach_of_their_own_team_alone(account: Account, action: str) -> None:
    checkpoints = bucket(account, "Checkpoints")
    decisions = {
        who: dict(
            zip(
                KEYS,
                decide([role(account, who).request(f"s3:{action}", f"{checkpoints}/{key}") for key in KEYS.values()]),
                strict=True,
            )
        )
        for who in KEYS
    }

    assert {who: [owner for owner, said in each.items() if said == "Allowed"] for who, each in decisions.items()} == {
        who: [who] for who in KEYS
    }


def test_a_team_lists_its_own_checkpoints(account: Account) -> None:
    checkpoints = bucket(account, "Checkpoints")
    prefixes = ("_teams/research/", "_teams/research/run/", "_teams/speech/", "_teams/", "")
    research = role(account, RESEARCH)

    decisions = decide([research.request("s3:ListBucket", checkpoints, **{"s3:prefix": each}) for each in prefixes])

    assert decisions == ["Allowed", "Allowed", *["ImplicitlyDenied"] * 3]


def test_each_namespace_reads_its_own_token(account: Account) -> None:
    def said(who: str, owner: str) -> Decision:
        return decide([role(account, who).request("secretsmanager:GetSecretValue", SECRETS[owner])])[0]

    assert {(who, owner): said(who, owner) for who in SECRETS for owner in SECRETS} == {
        (who, owner): "Allowed" if who == owner else "ImplicitlyDenied" for who in SECRETS for owner in SECRETS
    }


def test_all_read_the_data_and_the_models(account: Account) -> None:
    requests = [
        role(account, who).request("s3:GetObject", f"{bucket(account, name)}/any")
        for who in KEYS
        for name in ("Data", "Models")
    ]

    assert set(decide(requests)) == {"Allowed"}


def test_only_the_teams_own_pods_take_its_role_on(account: Account) -> None:
    research = role(account, RESEARCH)
    cluster = next(account.resources("AWS::EKS::Cluster")).arn

    def taken_on(namespace: str, service_account: str) -> Decision:
        context = {
            "aws:RequestTag/eks-cluster-arn": cluster,
            "aws:RequestTag/kubernetes-namespace": namespace,
            "aws:RequestTag/kubernetes-service-account": service_account,
        }
        principal = "pods.eks.amazonaws.com"
        request = Request(principal, "sts:AssumeRole", research.arn, [], context, resource_policy=research.trust)
        return decide([request])[0]

    assert taken_on("slipway-research", "jobs") == "Allowed"
    assert taken_on("slipway-speech", "jobs") != "Allowed"
    assert taken_on("slipway-research", "default") != "Allowed"
