"""Stack operations through boto3, against a started emulator."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from slipway_emulator.faults import Fault
from tests.emulator.running import RunningEmulator, template

VPC = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}
TOPIC = {"Type": "AWS::SNS::Topic"}


def subnet(cidr: str, **properties: Any) -> dict[str, Any]:
    vpc = {"Ref": "Vpc"}
    return {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": vpc, "CidrBlock": cidr, **properties}}


def parameter(value: Any, **attributes: Any) -> dict[str, Any]:
    return {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": value}, **attributes}


def test_creates_in_order_and_deletes_backwards(emulator: RunningEmulator) -> None:
    zone = subnet("10.0.1.0/24", AvailabilityZoneId="usw2-az4")
    outputs = {"Zone": {"Value": {"Fn::GetAtt": ["Net", "AvailabilityZone"]}}}
    assert emulator.create("order", {"Net": zone, "Vpc": VPC}, Outputs=outputs) == "CREATE_COMPLETE"
    subnets = emulator.client("ec2").describe_subnets(SubnetIds=[emulator.physical_id("order", "Net")])["Subnets"]
    assert subnets[0]["AvailabilityZoneId"] == "usw2-az4"
    assert emulator.outputs("order")["Zone"] == subnets[0]["AvailabilityZone"]
    assert emulator.delete("order") == "DELETE_COMPLETE"
    deleted = [entry["logical_id"] for entry in emulator.ledger(stack="order", action="delete")]
    assert deleted == ["Net", "Vpc"]


def test_failed_creation_rolls_back_and_says_why(emulator: RunningEmulator) -> None:
    outside = {"Vpc": VPC, "Topic": TOPIC, "Net": {**subnet("192.168.0.0/24"), "DependsOn": "Topic"}}
    before = len(emulator.client("ec2").describe_vpcs()["Vpcs"])
    assert emulator.create("outside", outside) == "ROLLBACK_COMPLETE"
    assert "192.168.0.0/24" in emulator.reasons("outside")["Net"]
    assert emulator.stack("outside")["StackStatusReason"] == "The following resource(s) failed to create: [Net]."
    assert len(emulator.client("ec2").describe_vpcs()["Vpcs"]) == before
    undone = {entry["logical_id"] for entry in emulator.ledger(stack="outside", action="rollback")}
    assert undone == {"Vpc", "Topic"}
    assert [entry["during"] for entry in emulator.ledger(stack="outside", action="failed")] == ["create"]


def test_failed_update_goes_back_to_what_was(emulator: RunningEmulator) -> None:
    before = {"Vpc": VPC, "Value": parameter("old")}
    assert emulator.create("back", before) == "CREATE_COMPLETE"
    broken = {"Vpc": VPC, "Value": parameter("new"), "Net": {**subnet("192.168.0.0/24"), "DependsOn": "Value"}}
    assert emulator.update("back", broken) == "UPDATE_ROLLBACK_COMPLETE"
    name = emulator.physical_id("back", "Value")
    assert emulator.client("ssm").get_parameter(Name=name)["Parameter"]["Value"] == "old"
    assert emulator.cloudformation.get_template(StackName="back")["TemplateBody"]["Resources"].keys() == before.keys()


def test_what_a_failed_update_without_rollback_created_goes_with_the_stack(emulator: RunningEmulator) -> None:
    assert emulator.create("kept-failure", {"Vpc": VPC}) == "CREATE_COMPLETE"
    broken = {"Vpc": VPC, "New": parameter("new"), "Net": {**subnet("192.168.0.0/24"), "DependsOn": "New"}}
    body = template(broken)
    emulator.cloudformation.update_stack(StackName="kept-failure", TemplateBody=body, DisableRollback=True)
    assert emulator.settled("kept-failure") == "UPDATE_FAILED"
    name = emulator.physical_id("kept-failure", "New")
    emulator.cloudformation.create_change_set(
        StackName="kept-failure", ChangeSetName="again", TemplateBody=template({**broken, "Net": subnet("10.0.1.0/24")})
    )
    again = emulator.cloudformation.describe_change_set(StackName="kept-failure", ChangeSetName="again")
    changes = [change["ResourceChange"] for change in again["Changes"]]
    assert [(change["Action"], change["LogicalResourceId"]) for change in changes] == [("Add", "Net")]
    assert emulator.delete("kept-failure") == "DELETE_COMPLETE"
    parameters = emulator.client("ssm").get_parameters(Names=[name])
    assert parameters["InvalidParameters"] == [name]


def test_half_made_resource_is_deleted_by_the_rollback(emulator: RunningEmulator) -> None:
    role = {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "RoleName": "half-made",
            "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": []},
            "ManagedPolicyArns": ["arn:aws:iam::aws:policy/NoSuchPolicy"],
        },
    }
    assert emulator.create("half", {"Role": role}) == "ROLLBACK_COMPLETE"
    assert "NoSuchPolicy" in emulator.reasons("half")["Role"]
    roles = emulator.client("iam").list_roles()["Roles"]
    assert "half-made" not in [found["RoleName"] for found in roles]


def test_a_failure_that_is_asked_for_happens_once(emulator: RunningEmulator) -> None:
    resources = {"A": parameter("once-a"), "B": parameter("once-b", DependsOn="A")}
    emulator.faults.ask_for(Fault("once", "B", "after create"))

    assert emulator.create("once", resources) == "ROLLBACK_COMPLETE"
    assert "asked for" in emulator.reasons("once")["B"]
    assert emulator.faults.to_come() == []
    assert emulator.delete("once") == "DELETE_COMPLETE"
    assert emulator.create("once", resources) == "CREATE_COMPLETE"


def test_what_a_rollback_cannot_delete_keeps_what_it_needs(emulator: RunningEmulator) -> None:
    b, c = parameter("needing-b", DependsOn="A"), parameter("needing-c", DependsOn="B")
    emulator.faults.ask_for(Fault("needing", "C", "before create"), Fault("needing", "B", "before delete"))

    status = emulator.create("needing", {"A": parameter("needing-a"), "B": b, "C": c})

    assert status == "ROLLBACK_FAILED"
    assert emulator.ledger(stack="needing", action="rollback") == []
    assert emulator.delete("needing") == "DELETE_COMPLETE"
    assert [entry["logical_id"] for entry in emulator.ledger(stack="needing", action="delete")] == ["B", "A"]


def test_a_rollback_that_failed_can_be_continued(emulator: RunningEmulator) -> None:
    emulator.create("continued", {"B": parameter("continued-b")})
    changed = parameter("continued-b", DependsOn="A")
    changed["Properties"]["Value"] = "other"
    emulator.faults.ask_for(Fault("continued", "B", "after update"), Fault("continued", "A", "before delete"))

    assert emulator.update("continued", {"A": parameter("continued-a"), "B": changed}) == "UPDATE_ROLLBACK_FAILED"
    with pytest.raises(ClientError, match="can not be updated"):
        emulator.update("continued", {})
    emulator.cloudformation.continue_update_rollback(StackName="continued")
    assert emulator.settled("continued") == "UPDATE_ROLLBACK_COMPLETE"
    assert {entry["logical_id"] for entry in emulator.ledger(action="rollback", stack="continued")} == {"A", "B"}
    with pytest.raises(ClientError, match="can not continue rollback"):
        emulator.cloudformation.continue_update_rollback(StackName="continued")


def test_update_in_place_and_by_replacement(emulator: RunningEmulator) -> None:
    first = {"Vpc": VPC, "Net": subnet("10.0.1.0/24", MapPublicIpOnLaunch=False)}
    emulator.create("change", first)
    original = emulator.physical_id("change", "Net")
    in_place = {"Vpc": VPC, "Net": subnet("10.0.1.0/24", MapPublicIpOnLaunch=True)}
    assert emulator.update("change", in_place) == "UPDATE_COMPLETE"
    assert emulator.physical_id("change", "Net") == original
    assert emulator.update("change", {"Vpc": VPC, "Net": subnet("10.0.2.0/24")}) == "UPDATE_COMPLETE"
    assert emulator.physical_id("change", "Net") != original
    entries = emulator.ledger(stack="change", logical_id="Net")
    assert [entry["action"] for entry in entries] == ["create", "update", "replace", "delete"]
    assert entries[1]["changed"] == ["MapPublicIpOnLaunch"]
    assert "CidrBlock" in entries[2]["reason"]


def test_inline_policy_changes_on_every_role(emulator: RunningEmulator) -> None:
    role = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": []}}}

    def resources(name: str, action: str, roles: list[str]) -> dict[str, Any]:
        document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": action, "Resource": "*"}]}
        properties = {"PolicyName": name, "PolicyDocument": document, "Roles": [{"Ref": one} for one in roles]}
        return {"A": role, "B": role, "Policy": {"Type": "AWS::IAM::Policy", "Properties": properties}}

    def policies(logical_id: str) -> dict[str, str]:
        iam, name = emulator.client("iam"), emulator.physical_id("inline", logical_id)
        found = iam.list_role_policies(RoleName=name)["PolicyNames"]
        documents = {one: iam.get_role_policy(RoleName=name, PolicyName=one)["PolicyDocument"] for one in found}
        return {one: document["Statement"][0]["Action"] for one, document in documents.items()}

    emulator.create("inline", resources("p", "s3:GetObject", ["A"]))
    assert emulator.update("inline", resources("p", "s3:PutObject", ["A", "B"])) == "UPDATE_COMPLETE"
    assert (policies("A"), policies("B")) == ({"p": "s3:PutObject"}, {"p": "s3:PutObject"})
    assert emulator.update("inline", resources("q", "s3:PutObject", ["B"])) == "UPDATE_COMPLETE"
    assert (policies("A"), policies("B")) == ({}, {"q": "s3:PutObject"})
    assert emulator.delete("inline") == "DELETE_COMPLETE"


def test_security_group_rules_change_one_by_one(emulator: RunningEmulator) -> None:
    def resources(ports: list[int]) -> dict[str, Any]:
        rules = [{"IpProtocol": "tcp", "FromPort": port, "ToPort": port, "CidrIp": "10.0.0.0/16"} for port in ports]
        properties = {"GroupDescription": "g", "VpcId": {"Ref": "Vpc"}, "SecurityGroupIngress": rules}
        return {"Vpc": VPC, "Group": {"Type": "AWS::EC2::SecurityGroup", "Properties": properties}}

    emulator.create("rules", resources([988, 22]))
    assert emulator.update("rules", resources([988, 1018])) == "UPDATE_COMPLETE"
    group = emulator.client("ec2").describe_security_groups(GroupIds=[emulator.physical_id("rules", "Group")])
    assert {rule["FromPort"] for rule in group["SecurityGroups"][0]["IpPermissions"]} == {988, 1018}


def test_policies_decide_what_is_kept(emulator: RunningEmulator) -> None:
    kept = parameter("a", DeletionPolicy="Retain", UpdateReplacePolicy="Retain")
    emulator.create("kept", {"Value": {**kept, "Properties": {**kept["Properties"], "Name": "first"}}, "Topic": TOPIC})
    renamed = {**kept, "Properties": {**kept["Properties"], "Name": "second"}}
    assert emulator.update("kept", {"Value": renamed, "Topic": TOPIC}) == "UPDATE_COMPLETE"
    assert emulator.delete("kept") == "DELETE_COMPLETE"
    answer = emulator.client("ssm").get_parameters(Names=["first", "second"])
    assert {found["Name"] for found in answer["Parameters"]} == {"first", "second"}
    assert len(emulator.ledger(stack="kept", action="retain")) == 2


def test_failed_deletion_is_reported_and_can_be_repeated(emulator: RunningEmulator) -> None:
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "not-empty"}}
    emulator.create("full", {"Bucket": bucket, "Topic": TOPIC})
    s3 = emulator.client("s3")
    s3.put_object(Bucket="not-empty", Key="data", Body=b"x")
    assert emulator.delete("full") == "DELETE_FAILED"
    assert "BucketNotEmpty" in emulator.reasons("full")["Bucket"]
    assert list(emulator.ledger(stack="full", action="delete")[0].values()).count("Topic") == 1
    s3.delete_object(Bucket="not-empty", Key="data")
    assert emulator.delete("full") == "DELETE_COMPLETE"


def test_termination_protection(emulator: RunningEmulator) -> None:
    emulator.create("protected", {"Topic": TOPIC})
    emulator.cloudformation.update_termination_protection(StackName="protected", EnableTerminationProtection=True)
    with pytest.raises(ClientError, match="TerminationProtection"):
        emulator.cloudformation.delete_stack(StackName="protected")
    emulator.cloudformation.update_termination_protection(StackName="protected", EnableTerminationProtection=False)
    assert emulator.delete("protected") == "DELETE_COMPLETE"


def test_unknown_types_are_refused_up_front_by_name(emulator: RunningEmulator) -> None:
    resources = {"Topic": TOPIC, "A": {"Type": "AWS::Neptune::DBCluster"}, "B": {"Type": "AWS::Made::Up"}}
    with pytest.raises(ClientError, match=r"Unrecognized resource types: \[AWS::Made::Up, AWS::Neptune::DBCluster\]"):
        emulator.create("unknown", resources)
    assert emulator.ledger(stack="unknown") == []


def test_property_without_a_home_is_written_down(emulator: RunningEmulator) -> None:
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {"AccessControl": "Private"}}
    assert emulator.create("homeless", {"Bucket": bucket}) == "CREATE_COMPLETE"
    assert emulator.ledger(stack="homeless")[0]["unmapped"] == ["AccessControl"]


def test_record_is_written_down_as_one(emulator: RunningEmulator) -> None:
    emulator.create("record", {"Group": {"Type": "AWS::EC2::PlacementGroup"}})
    entry = emulator.ledger(stack="record")[0]
    assert (entry["action"], entry["backing"]) == ("create", "record")


def test_weak_reference_follows_the_other_stack_and_does_not_lock_it(emulator: RunningEmulator) -> None:
    emulator.create("producer", {"Topic": TOPIC}, Outputs={"Arn": {"Value": {"Ref": "Topic"}}})
    reference = {"Fn::GetStackOutput": {"StackName": "producer", "Region": "us-west-2", "OutputName": "Arn"}}
    assert emulator.create("consumer", {"Value": parameter(reference)}) == "CREATE_COMPLETE"
    name = emulator.physical_id("consumer", "Value")
    value = emulator.client("ssm").get_parameter(Name=name)["Parameter"]["Value"]
    assert value == emulator.physical_id("producer", "Topic")
    assert emulator.delete("producer") == "DELETE_COMPLETE"


def test_weak_reference_to_nothing_names_the_stack(emulator: RunningEmulator) -> None:
    reference = {"Fn::GetStackOutput": {"StackName": "never-made", "OutputName": "Arn"}}
    assert emulator.create("dangling", {"Value": parameter(reference)}) == "ROLLBACK_COMPLETE"
    assert "never-made" in emulator.stack("dangling")["StackStatusReason"]


def test_export_in_use_locks_its_stack(emulator: RunningEmulator) -> None:
    output = {"Arn": {"Value": {"Ref": "Topic"}, "Export": {"Name": "topic-arn"}}}
    emulator.create("exporter", {"Topic": TOPIC}, Outputs=output)
    emulator.create("importer", {"Value": parameter({"Fn::ImportValue": "topic-arn"})})
    assert emulator.delete("exporter") == "DELETE_FAILED"
    assert "importer" in emulator.stack("exporter")["StackStatusReason"]
    assert emulator.delete("importer") == "DELETE_COMPLETE"
    assert emulator.delete("exporter") == "DELETE_COMPLETE"


def test_secret_reaches_the_resource_but_neither_ledger_nor_answers(emulator: RunningEmulator) -> None:
    secret = "correct-horse-battery"
    emulator.client("secretsmanager").create_secret(Name="token", SecretString=f'{{"key": "{secret}"}}')
    reference = "{{resolve:secretsmanager:token:SecretString:key}}"
    assert emulator.create("secretive", {"Value": parameter(reference)}) == "CREATE_COMPLETE"
    name = emulator.physical_id("secretive", "Value")
    assert emulator.client("ssm").get_parameter(Name=name)["Parameter"]["Value"] == secret
    assert secret not in (emulator.directory / "ledger.jsonl").read_text(encoding="utf-8")
    assert secret not in str(emulator.events("secretive"))


def test_secret_in_an_error_message_is_blanked(emulator: RunningEmulator) -> None:
    secret = "not-a-cidr-block"
    emulator.client("secretsmanager").create_secret(Name="network", SecretString=secret)
    resources = {"Vpc": VPC, "Net": subnet("{{resolve:secretsmanager:network}}")}
    assert emulator.create("leaky", resources) == "ROLLBACK_COMPLETE"
    assert "****" in emulator.reasons("leaky")["Net"]
    assert secret not in emulator.reasons("leaky")["Net"]
    assert secret not in (emulator.directory / "ledger.jsonl").read_text(encoding="utf-8")


def test_a_long_history_comes_in_pages_newest_first(emulator: RunningEmulator) -> None:
    emulator.create("long", {f"P{number}": parameter(str(number)) for number in range(60)})
    first = emulator.cloudformation.describe_stack_events(StackName="long")
    assert len(first["StackEvents"]) == 100
    events = emulator.events("long")
    assert events[:100] == first["StackEvents"]
    assert len({event["EventId"] for event in events}) == len(events) == 122
    assert [event["Timestamp"] for event in events] == sorted((event["Timestamp"] for event in events), reverse=True)


def test_change_set_shows_and_makes_the_change(emulator: RunningEmulator) -> None:
    cloudformation = emulator.cloudformation
    wanted = {"StackName": "reviewed", "ChangeSetName": "first"}
    cloudformation.create_change_set(
        **wanted, ChangeSetType="CREATE", TemplateBody=template({"Topic": TOPIC}), Tags=[{"Key": "a", "Value": "b"}]
    )
    changes = cloudformation.describe_change_set(**wanted)["Changes"]
    assert [change["ResourceChange"]["Action"] for change in changes] == ["Add"]
    cloudformation.execute_change_set(**wanted)
    assert emulator.settled("reviewed") == "CREATE_COMPLETE"
    assert emulator.stack("reviewed")["Tags"] == [{"Key": "a", "Value": "b"}]
    assert emulator.update("reviewed", {"Topic": TOPIC, "Other": TOPIC}) == "UPDATE_COMPLETE"
    assert emulator.stack("reviewed")["Tags"] == [{"Key": "a", "Value": "b"}], "an update without tags keeps them"
    cloudformation.update_stack(StackName="reviewed", TemplateBody=template({"Topic": TOPIC}), Tags=[])
    assert emulator.settled("reviewed") == "UPDATE_COMPLETE"


def test_change_set_without_changes_fails_as_the_cdk_expects(emulator: RunningEmulator) -> None:
    emulator.create("same", {"Topic": TOPIC})
    wanted = {"StackName": "same", "ChangeSetName": "nothing"}
    emulator.cloudformation.create_change_set(**wanted, ChangeSetType="UPDATE", TemplateBody=template({"Topic": TOPIC}))
    found = emulator.cloudformation.describe_change_set(**wanted)
    assert found["Status"] == "FAILED"
    assert "didn't contain changes" in found["StatusReason"]


def test_nested_stack_from_a_template_in_s3(emulator: RunningEmulator) -> None:
    s3 = emulator.client("s3")
    s3.create_bucket(Bucket="templates", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    inner = template(
        {"Topic": TOPIC},
        Parameters={"Name": {"Type": "String"}},
        Outputs={"Said": {"Value": {"Fn::Sub": "hello ${Name}"}}},
    )
    s3.put_object(Bucket="templates", Key="inner.json", Body=inner)
    url = "https://templates.s3.us-west-2.amazonaws.com/inner.json"
    nested = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": url, "Parameters": {"Name": "you"}}}
    outputs = {"Said": {"Value": {"Fn::GetAtt": ["Inner", "Outputs.Said"]}}}
    assert emulator.create("outer", {"Inner": nested}, Outputs=outputs) == "CREATE_COMPLETE"
    assert emulator.outputs("outer")["Said"] == "hello you"
    assert emulator.delete("outer") == "DELETE_COMPLETE"
    assert emulator.ledger(stack="outer", action="delete")[0]["backing"] == "nested"


def test_missing_action_is_an_aws_error(emulator: RunningEmulator) -> None:
    with pytest.raises(ClientError, match="InvalidAction"):
        emulator.cloudformation.list_stack_sets()
