"""The roles of a deployment in an account: moto's IAM has what `slipway deploy-role` writes."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from slipway.check.deploy_role.needs import read_needs
from slipway.check.deploy_role.policies import deployer_policy, execution_policies
from slipway.rehearse.assembly import Assembly
from slipway.rehearse.deploy_roles import DeployRoles
from tests.assembly import Assembly as Synthesized

ACCOUNT = "123456789012"


@pytest.fixture
def iam(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield boto3.client("iam", region_name="us-east-1")


def document(iam: Any, arn: str) -> Any:
    version = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
    return iam.get_policy_version(PolicyArn=arn, VersionId=version)["PolicyVersion"]["Document"]


def test_policies_are_those_of_the_command_and_brought_up_to_date(iam: Any, small: Synthesized) -> None:
    needs = read_needs(small.directory)
    roles = DeployRoles(Assembly.read(small.directory), iam)

    arns = roles.make_execution_policies()

    assert [document(iam, arn) for arn in arns] == list(execution_policies(needs))
    assert roles.make_execution_policies() == arns
    assert len(iam.list_policy_versions(PolicyArn=arns[0])["Versions"]) == 2
    role = f"cdk-{needs.qualifier}-cfn-exec-role-{ACCOUNT}-{needs.region}"
    iam.create_role(RoleName=role, AssumeRolePolicyDocument="{}")
    roles.attach_execution_policies(arns)
    attached = iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    assert {policy["PolicyArn"] for policy in attached} == set(arns)


def test_the_deployer_has_a_key_and_the_policy_of_the_command(iam: Any, small: Synthesized) -> None:
    keys = DeployRoles(Assembly.read(small.directory), iam).make_deployer()

    user = "deploy-slipway-small-deployer"
    assert iam.list_access_keys(UserName=user)["AccessKeyMetadata"][0]["AccessKeyId"] == keys["AWS_ACCESS_KEY_ID"]
    held = iam.get_user_policy(UserName=user, PolicyName="deployer")["PolicyDocument"]
    assert held == deployer_policy(read_needs(small.directory), ACCOUNT)
