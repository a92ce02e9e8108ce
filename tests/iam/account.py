"""An AWS account after the deployment of assemblies: its roles and resources, with names as CloudFormation makes them.

The functions of the templates are resolved by the rehearsal's resolver; physical names and ARNs have AWS's form.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from moto.iam.aws_managed_policies import aws_managed_policies_data

from slipway_emulator.template.document import Template
from slipway_emulator.template.intrinsics import Resolver, StackIdentity
from tests.assembly import Assembly
from tests.check.deploy_role.made_resources import UUID, made_up
from tests.iam.simulator import ACCOUNT, Document, Request

_ARN_FORMS = {
    "AWS::AutoScaling::AutoScalingGroup": (
        "autoscaling:{region}:{account}:autoScalingGroup:0:autoScalingGroupName/{name}"
    ),
    "AWS::CodeBuild::Project": "codebuild:{region}:{account}:project/{name}",
    "AWS::DynamoDB::Table": "dynamodb:{region}:{account}:table/{name}",
    "AWS::ECR::Repository": "ecr:{region}:{account}:repository/{name}",
    "AWS::ECS::Cluster": "ecs:{region}:{account}:cluster/{name}",
    "AWS::ECS::Service": "ecs:{region}:{account}:service/{name}",
    "AWS::EKS::Cluster": "eks:{region}:{account}:cluster/{name}",
    "AWS::Events::Rule": "events:{region}:{account}:rule/{name}",
    "AWS::FSx::FileSystem": "fsx:{region}:{account}:file-system/{name}",
    "AWS::IAM::InstanceProfile": "iam::{account}:instance-profile/{name}",
    "AWS::IAM::ManagedPolicy": "iam::{account}:policy{path}{name}",
    "AWS::IAM::Role": "iam::{account}:role{path}{name}",
    "AWS::KMS::Key": "kms:{region}:{account}:key/{name}",
    "AWS::Lambda::Function": "lambda:{region}:{account}:function:{name}",
    "AWS::Logs::LogGroup": "logs:{region}:{account}:log-group:{name}:*",
    "AWS::RDS::DBInstance": "rds:{region}:{account}:db:{name}",
    "AWS::S3::Bucket": "s3:::{name}",
    "AWS::SNS::Topic": "sns:{region}:{account}:{name}",
    "AWS::SQS::Queue": "sqs:{region}:{account}:{name}",
    "AWS::SSM::Document": "ssm:{region}:{account}:document/{name}",
    "AWS::SSM::Parameter": "ssm:{region}:{account}:parameter/{name}",
    "AWS::SecretsManager::Secret": "secretsmanager:{region}:{account}:secret:{name}",
    "AWS::StepFunctions::StateMachine": "states:{region}:{account}:stateMachine:{name}",
}
"""What follows `arn:aws:` (Service Authorization Reference, "Resource types defined by ...", 2026-11-22)."""

_REF_IS_ARN = {
    "AWS::IAM::ManagedPolicy",
    "AWS::SNS::Topic",
    "AWS::SecretsManager::Secret",
    "AWS::StepFunctions::StateMachine",
}
_NAME_PROPERTIES = (
    "RoleName",
    "BucketName",
    "Name",
    "TableName",
    "LogGroupName",
    "FunctionName",
    "ManagedPolicyName",
    "ClusterName",
    "ServiceName",
)
_NAME_CHARACTERS = {"AWS::S3::Bucket": 63, "AWS::IAM::Role": 64, "AWS::Lambda::Function": 64}


@dataclass(frozen=True)
class _Identity(StackIdentity):
    """A stack in the account that the simulator's requests come from."""

    def pseudo_parameters(self) -> dict[str, Any]:
        return {**super().pseudo_parameters(), "AWS::AccountId": ACCOUNT}


@dataclass
class MadeResource:
    """A resource as CloudFormation would have made it."""

    stack: "MadeStack"
    logical_id: str
    definition: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """Its CloudFormation type."""
        return str(self.definition["Type"])

    @property
    def properties(self) -> Mapping[str, Any]:
        """As the template has them, functions unresolved."""
        return self.definition.get("Properties", {})  # type: ignore[no-any-return]

    @cached_property
    def resolved(self) -> Mapping[str, Any]:
        """As AWS gets them."""
        return self.stack.resolver.resolve(dict(self.properties))  # type: ignore[no-any-return]

    @cached_property
    def name(self) -> str:
        """Its own name, or one that CloudFormation makes up."""
        given = next((self.properties[key] for key in _NAME_PROPERTIES if self.properties.get(key)), None)
        if given is not None:
            return str(self.stack.resolver.resolve(given))
        name = made_up(self.stack.name, self.logical_id, _NAME_CHARACTERS.get(self.kind, 255))
        return name.lower() if self.kind == "AWS::S3::Bucket" else name

    @cached_property
    def arn(self) -> str:
        """Its ARN; of a type without a row one that no policy names."""
        form = _ARN_FORMS.get(self.kind, self.kind.replace("::", "-").lower() + ":{region}:{account}:{name}")
        path = str(self.stack.resolver.resolve(self.properties.get("Path", "/")))
        filled = form.format(region=self.stack.region, account=ACCOUNT, name=self.name, path=path)
        return f"arn:aws:{filled}"

    @property
    def physical_id(self) -> str:
        """The value of Ref."""
        return self.arn if self.kind in _REF_IS_ARN else self.name

    def attribute(self, name: str) -> Any:
        """The value of Fn::GetAtt."""
        if name == "Name":
            return self.name
        return self.arn if name.endswith("Arn") else f"{self.name}.{name}"


@dataclass
class MadeStack:
    """A stack as CloudFormation would have made it."""

    account: "Account"
    name: str
    region: str
    template: Mapping[str, Any]

    @cached_property
    def resources(self) -> dict[str, MadeResource]:
        """By logical id; a resource whose condition does not hold is there, too."""
        return {key: MadeResource(self, key, value) for key, value in self.template["Resources"].items()}

    @cached_property
    def resolver(self) -> Resolver:
        """Resolves the functions of the template; a parameter has its default, or its own name."""
        parameters = {
            name: str(declared.get("Default", name)) for name, declared in self.template.get("Parameters", {}).items()
        }
        identity = _Identity(
            self.name, f"arn:aws:cloudformation:{self.region}:{ACCOUNT}:stack/{self.name}/{UUID}", self.region
        )
        return Resolver(identity, Template(json.dumps(self.template)), parameters, self.account, dict(self.resources))


@dataclass
class Role:
    """A role with all its policies."""

    resource: MadeResource
    policies: Sequence[Document]
    boundaries: Sequence[Document]

    @property
    def arn(self) -> str:
        """The role's ARN."""
        return self.resource.arn

    @property
    def trust(self) -> Document:
        """Who may take it on."""
        return self.resource.resolved["AssumeRolePolicyDocument"]  # type: ignore[no-any-return]

    def request(self, action: str, resource: str, **context: str | Sequence[str]) -> Request:
        """Return a request of the role; condition keys with `:` come as `**{"aws:ResourceTag/a": "b"}`."""
        return Request(self.arn, action, resource, self.policies, context, self.boundaries)


@dataclass
class Account:
    """One account with the stacks of one or several assemblies."""

    assemblies: Sequence[Assembly]
    _stacks: dict[str, MadeStack] = field(default_factory=dict)

    @cached_property
    def stacks(self) -> dict[str, MadeStack]:
        """By name."""
        return {
            name: MadeStack(self, name, assembly.environment.region, template)
            for assembly in self.assemblies
            for name, template in assembly.templates().items()
        }

    def resources(self, *kinds: str) -> Iterator[MadeResource]:
        """Yield what has one of these CloudFormation types; everything without a type."""
        for stack in self.stacks.values():
            yield from (made for made in stack.resources.values() if not kinds or made.kind in kinds)

    def role(self, stack: str, logical_id_begins: str) -> Role:
        """Return the only role of a stack whose logical id begins so."""
        (found,) = (
            made
            for made in self.stacks[stack].resources.values()
            if made.kind == "AWS::IAM::Role" and made.logical_id.startswith(logical_id_begins)
        )
        return self._role(found)

    def roles(self) -> list[Role]:
        """Return every role of the templates."""
        return [self._role(made) for made in self.resources("AWS::IAM::Role")]

    def managed_policy(self, arn: str) -> Document:
        """Return a managed policy's document: one of the templates', or one of AWS's as moto has it."""
        if arn.startswith("arn:aws:iam::aws:policy/"):
            return managed_by_aws(arn.rpartition("/")[2])
        (found,) = (made for made in self.resources("AWS::IAM::ManagedPolicy") if made.arn == arn)
        return found.resolved["PolicyDocument"]  # type: ignore[no-any-return]

    def _role(self, made: MadeResource) -> Role:
        resolved = made.resolved
        inline = [policy["PolicyDocument"] for policy in resolved.get("Policies", [])]
        attached = [self.managed_policy(arn) for arn in resolved.get("ManagedPolicyArns", [])]
        beside = [
            policy.resolved["PolicyDocument"]
            for policy in self.resources("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
            if made.name in policy.resolved.get("Roles", [])
        ]
        # A boundary that the environment file names is not ours to know: it counts as one that allows everything.
        boundary = resolved.get("PermissionsBoundary")
        own = [policy.arn for policy in self.resources("AWS::IAM::ManagedPolicy")]
        boundaries = [self.managed_policy(boundary)] if boundary in own else []
        return Role(made, [*inline, *attached, *beside], boundaries)

    # ---- what the templates ask of the Region (emulator.template.surroundings) ----------------

    def stack_output(self, stack_name: str, output_name: str, region: str) -> str:
        """Return another stack's output."""
        stack = self.stacks[stack_name]
        return str(stack.resolver.resolve(stack.template["Outputs"][output_name]["Value"]))

    def exported_value(self, export_name: str) -> str:
        """Return an export's own name: no template of Slipway's imports one."""
        return export_name

    def ssm_parameter(self, name: str) -> str:
        """Return the name in place of the value."""
        return name

    def secret(self, secret_id: str, json_key: str | None, stage: str | None, version: str | None) -> str:
        """Return the id in place of the value."""
        return secret_id

    def availability_zones(self, region: str) -> Sequence[str]:
        """Return three zones."""
        return [f"{region}{letter}" for letter in "abc"]


def managed_by_aws(name: str) -> Document:
    """Return AWS's managed policy of this name, as moto recorded it."""
    return _managed_policies()[name]["Document"]  # type: ignore[no-any-return]


@cache
def _managed_policies() -> dict[str, Any]:
    return json.loads(aws_managed_policies_data)  # type: ignore[no-any-return]
