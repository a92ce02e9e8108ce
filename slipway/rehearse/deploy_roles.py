"""The roles of a deployment in the emulated account: exactly those that `slipway deploy-role` writes.

An administrator makes them, as docs/deploy-role.md says: managed policies for CloudFormation's role, which the
bootstrap takes, and the policy of a user who deploys.
"""

import json
from collections.abc import Mapping
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from slipway.check.deploy_role.needs import Needs, UnknownTypeError, read_needs
from slipway.check.deploy_role.policies import (
    bootstrap_role,
    deploy_role_limits,
    deployer_policy,
    execution_policies,
    policy_name,
)
from slipway.rehearse.assembly import Assembly
from slipway.rehearse.errors import RehearsalError


class DeployRolesError(RehearsalError):
    """The roles of a deployment cannot be made; the message says why."""


class DeployRoles:
    """The policies of one environment in the emulated account."""

    def __init__(self, assembly: Assembly, client: Any = None) -> None:
        """Read what an assembly needs.

        Raises:
            DeployRolesError: it has a resource type without permissions in the catalogue.
        """
        self._needs, self._account = _needs(assembly), assembly.account
        self._iam = client or boto3.client("iam")

    def make_execution_policies(self) -> list[str]:
        """Make the policies of CloudFormation's role, or bring them up to date; return their ARNs."""
        return [
            self._put(policy_name(self._needs.environment, f"execution-{number}"), document)
            for number, document in enumerate(execution_policies(self._needs), start=1)
        ]

    def attach_execution_policies(self, arns: list[str]) -> None:
        """Give CloudFormation's role the policies that it lacks: a changed environment may need more of them."""
        role = bootstrap_role(self._needs, "cfn-exec", self._account)
        for arn in arns:
            self._iam.attach_role_policy(RoleName=role, PolicyArn=arn)

    def limit_deploy_role(self) -> None:
        """Keep the bootstrap's role for deployments to the environment's stacks, if the bootstrap is its own."""
        if self._needs.has_own_bootstrap:
            self._iam.put_role_policy(
                RoleName=bootstrap_role(self._needs, "deploy", self._account),
                PolicyName=f"slipway-{self._needs.environment}",
                PolicyDocument=json.dumps(deploy_role_limits(self._needs)),
            )

    def make_deployer(self) -> dict[str, str]:
        """Make the user who deploys; return the variables that make an SDK sign with its key."""
        name = policy_name(self._needs.environment, "deployer")
        self._iam.create_user(UserName=name)
        document = deployer_policy(self._needs, self._account)
        self._iam.put_user_policy(UserName=name, PolicyName="deployer", PolicyDocument=json.dumps(document))
        key = self._iam.create_access_key(UserName=name)["AccessKey"]
        return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}

    def _put(self, name: str, document: Mapping[str, Any]) -> str:
        text, arn = json.dumps(document), f"arn:aws:iam::{self._account}:policy/{name}"
        try:
            self._iam.create_policy(PolicyName=name, PolicyDocument=text)
        except self._iam.exceptions.EntityAlreadyExistsException:
            self._iam.create_policy_version(PolicyArn=arn, PolicyDocument=text, SetAsDefault=True)
        except (BotoCoreError, ClientError) as error:
            raise DeployRolesError(f"the policy {name} cannot be made: {error}") from error
        return arn


def _needs(assembly: Assembly) -> Needs:
    try:
        return read_needs(assembly.folder)
    except UnknownTypeError as error:
        raise DeployRolesError(str(error)) from error
