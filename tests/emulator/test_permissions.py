"""Who may call what in a started emulator: users, roles of stacks, roles of functions."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from uuid import uuid4

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from slipway_emulator.settings import ACCOUNT
from tests.emulator.running import REGION, RunningEmulator, template
from tests.emulator.test_functions import ECHO, ROLE, stack

Clients = Callable[[str], Any]
Grant = Callable[..., Clients]


def statement(*actions: str, resource: str = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": resource, **more}


def document(*statements: Mapping[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def trust(*services: str) -> str:
    return document({"Effect": "Allow", "Principal": {"Service": list(services)}, "Action": "sts:AssumeRole"})


@pytest.fixture
def grant(emulator: RunningEmulator) -> Grant:
    """Return what makes a user with a policy of some statements; it gives the user's clients."""

    def made(*statements: Mapping[str, Any]) -> Clients:
        iam, name = emulator.client("iam"), f"user-{uuid4().hex[:8]}"
        iam.create_user(UserName=name)
        if statements:
            iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=document(*statements))
        key = iam.create_access_key(UserName=name)["AccessKey"]

        def client(service: str) -> Any:
            return boto3.client(  # type: ignore[call-overload]
                service,
                region_name=REGION,
                endpoint_url=emulator.endpoint,
                aws_access_key_id=key["AccessKeyId"],
                aws_secret_access_key=key["SecretAccessKey"],
                config=Config(retries={"max_attempts": 0}, s3={"addressing_style": "path"}),
            )

        return client

    return made


def checks(emulator: RunningEmulator, kind: str = "check") -> Iterator[dict[str, Any]]:
    lines = (emulator.directory / "permissions.jsonl").read_text(encoding="utf-8").splitlines()
    return (line for line in map(json.loads, lines) if line["kind"] == kind)


class Refused(NamedTuple):
    """A call, the action that it needs, and the code of the service's refusal, which programs look for."""

    service: str
    operation: str
    parameters: Mapping[str, str]
    action: str
    code: str = "AccessDenied"

    def call(self, clients: Clients) -> str:
        """Make the call; answers the code of the error, or nothing."""
        try:
            getattr(clients(self.service), self.operation)(**self.parameters)
        except ClientError as error:
            message = error.response["Error"]["Message"]
            assert (self.action in message) == ("not authorized" in message)
            return error.response["Error"]["Code"]
        return ""


# One of each protocol.
CALLS = [
    Refused("s3", "list_objects_v2", {"Bucket": "nobodys"}, "s3:ListBucket"),
    Refused("ec2", "describe_vpcs", {}, "ec2:DescribeVpcs", "UnauthorizedOperation"),
    Refused("iam", "get_role", {"RoleName": "jobs"}, "iam:GetRole"),
    Refused("cloudformation", "describe_stacks", {"StackName": "a"}, "cloudformation:DescribeStacks"),
    Refused("ssm", "get_parameter", {"Name": "/a"}, "ssm:GetParameter", "AccessDeniedException"),
    Refused("lambda", "get_function", {"FunctionName": "f"}, "lambda:GetFunction", "AccessDeniedException"),
    Refused("eks", "describe_cluster", {"name": "c"}, "eks:DescribeCluster", "AccessDeniedException"),
    Refused("route53", "list_resource_record_sets", {"HostedZoneId": "Z1"}, "route53:ListResourceRecordSets"),
]


@pytest.mark.parametrize("refused", CALLS, ids=lambda refused: refused.action)
def test_a_user_may_do_what_the_policy_says_in_every_protocol(refused: Refused, grant: Grant) -> None:
    assert refused.call(grant(statement("sts:AssumeRole"))) == refused.code
    assert refused.call(grant(statement(refused.action))) != refused.code


def test_a_condition_holds_a_user_to_tags(emulator: RunningEmulator, grant: Grant) -> None:
    tagged = {"StringEquals": {"aws:RequestTag/team": "red"}}
    ec2 = grant(statement("ec2:CreateVolume", "ec2:CreateTags", Condition=tagged))("ec2")

    def volume(team: str) -> Any:
        tags = [{"ResourceType": "volume", "Tags": [{"Key": "team", "Value": team}]}]
        return ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=1, TagSpecifications=tags)

    emulator.client("ec2").delete_volume(VolumeId=volume("red")["VolumeId"])
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        volume("blue")


def test_a_role_is_passed_only_by_who_may(emulator: RunningEmulator, grant: Grant) -> None:
    role = emulator.client("iam").create_role(
        RoleName=f"passed-{uuid4().hex[:8]}", AssumeRolePolicyDocument=trust("cloudformation.amazonaws.com")
    )["Role"]["Arn"]
    text = template({"Topic": {"Type": "AWS::SNS::Topic"}})
    create, passes = (
        statement("cloudformation:CreateStack"),
        {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}},
    )

    for allowed in ([create], [create, statement("iam:PassRole", resource=role, Condition=passes)]):
        with pytest.raises(ClientError, match=f"iam:PassRole on resource: {role}"):
            grant(*allowed)("cloudformation").create_stack(StackName="passed", TemplateBody=text, RoleARN=role)


@pytest.mark.parametrize("actions", [["sns:CreateTopic", "sns:GetTopicAttributes", "sns:DeleteTopic"], []])
def test_a_stack_is_made_with_the_rights_of_its_role(
    actions: list[str], emulator: RunningEmulator, grant: Grant
) -> None:
    name = f"of-role-{len(actions)}"
    iam = emulator.client("iam")
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust("cloudformation.amazonaws.com"))["Role"]["Arn"]
    if actions:
        iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=document(statement("sns:*")))
    user = grant(statement("cloudformation:*"), statement("iam:PassRole", resource=role))

    text = template({"Topic": {"Type": "AWS::SNS::Topic"}})
    user("cloudformation").create_stack(StackName=name, TemplateBody=text, RoleARN=role)

    assert emulator.settled(name) == ("CREATE_COMPLETE" if actions else "ROLLBACK_COMPLETE")
    if not actions:
        assert f"{role} is not authorized to perform: sns:CreateTopic" in emulator.reasons(name)["Topic"]


def test_a_resource_is_made_with_the_tags_of_its_stack(emulator: RunningEmulator, grant: Grant) -> None:
    """As the policies of ParallelCluster want it: a tag of the stack must be among those of the resource."""
    iam = emulator.client("iam")
    role = iam.create_role(RoleName="tags", AssumeRolePolicyDocument=trust("cloudformation.amazonaws.com"))["Role"][
        "Arn"
    ]
    tagged = {"Null": {"aws:RequestTag/cluster": "false"}}
    allowed = document(statement("sns:CreateTopic", Condition=tagged), statement("sns:GetTopic*", "sns:DeleteTopic"))
    iam.put_role_policy(RoleName="tags", PolicyName="p", PolicyDocument=allowed)
    client = grant(statement("cloudformation:*"), statement("iam:PassRole", resource=role))("cloudformation")
    text = template({"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"Tags": [{"Key": "own", "Value": "a"}]}}})

    client.create_stack(StackName="with-tag", TemplateBody=text, RoleARN=role, Tags=[{"Key": "cluster", "Value": "c"}])
    client.create_stack(StackName="without-tag", TemplateBody=text, RoleARN=role)

    assert emulator.settled("with-tag") == "CREATE_COMPLETE", emulator.reasons("with-tag")
    assert emulator.settled("without-tag") == "ROLLBACK_COMPLETE"


def test_a_function_has_the_rights_of_its_role(emulator: RunningEmulator) -> None:
    reads = """
        import boto3
        import cfnresponse

        def handler(event, context):
            said = "nothing"
            if event["RequestType"] == "Create":
                try:
                    said = boto3.client("ssm").get_parameter(Name="/of/function")["Parameter"]["Value"]
                except Exception as error:
                    said = str(error)
            cfnresponse.send(event, context, cfnresponse.SUCCESS, {"Said": said}, "r")
    """
    emulator.client("ssm").put_parameter(Name="/of/function", Value="read", Type="String")
    outputs = {"Said": {"Value": {"Fn::GetAtt": ["Echo", "Said"]}}}
    resources = stack(reads)

    assert emulator.create("without-right", resources, Outputs=outputs) == "CREATE_COMPLETE"
    assert "not authorized to perform: ssm:GetParameter" in emulator.outputs("without-right")["Said"]

    allowed = json.loads(document(statement("ssm:GetParameter")))
    properties = {**ROLE["Properties"], "Policies": [{"PolicyName": "p", "PolicyDocument": allowed}]}
    resources["Role"] = {"Type": "AWS::IAM::Role", "Properties": properties}
    assert emulator.create("with-right", resources, Outputs=outputs) == "CREATE_COMPLETE"
    assert emulator.outputs("with-right")["Said"] == "read"


def test_a_role_that_does_not_let_lambda_in_runs_no_function(emulator: RunningEmulator) -> None:
    resources = stack(ECHO, Say="a")
    properties = {**ROLE["Properties"], "AssumeRolePolicyDocument": json.loads(trust("ec2.amazonaws.com"))}
    resources["Role"] = {"Type": "AWS::IAM::Role", "Properties": properties}

    emulator.create("closed", resources)

    assert "cannot be assumed by lambda.amazonaws.com" in emulator.reasons("closed")["Echo"]


def test_every_decision_is_written_down_with_its_policies(emulator: RunningEmulator, grant: Grant) -> None:
    ssm = grant(statement("ssm:GetParametersByPath"))("ssm")
    ssm.get_parameters_by_path(Path="/written")

    documents = {line["number"]: line["text"] for line in checks(emulator, "document")}
    last = [line for line in checks(emulator) if line["action"] == "ssm:GetParametersByPath"][-1]
    assert last["allowed"]
    assert last["operation"] == "ssm:GetParametersByPath"
    assert last["principal"].startswith(f"arn:aws:iam::{ACCOUNT}:user/user-")
    assert documents[last["identity"][0]]["Statement"][0]["Action"] == ["ssm:GetParametersByPath"]


def test_a_call_that_no_table_knows_is_written_down(emulator: RunningEmulator, grant: Grant) -> None:
    """An operation that passes a role to a service that needs.yaml does not name."""
    firehose = grant(statement("firehose:*"))("firehose")
    role = f"arn:aws:iam::{ACCOUNT}:role/firehose"
    firehose.create_delivery_stream(
        DeliveryStreamName="unknown", S3DestinationConfiguration={"RoleARN": role, "BucketARN": "arn:aws:s3:::a"}
    )

    messages = [line["message"] for line in checks(emulator, "unknown")]
    assert any(message.startswith("firehose:CreateDeliveryStream names a role") for message in messages)


def test_nobody_takes_on_a_role_that_is_not_there(emulator: RunningEmulator) -> None:
    """So that the CDK CLI goes on with its own credentials in an account that is not bootstrapped, as on AWS."""
    role = f"arn:aws:iam::{ACCOUNT}:role/cdk-absent-deploy-role"

    with pytest.raises(ClientError) as refused:
        emulator.client("sts").assume_role(RoleArn=role, RoleSessionName="tests")

    assert refused.value.response["Error"]["Code"] == "AccessDenied"
    assert f"sts:AssumeRole on resource: {role}" in str(refused.value)
