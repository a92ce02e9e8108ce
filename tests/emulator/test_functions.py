"""Lambda code of a stack, run for custom resources by a started emulator."""

import io
import json
import textwrap
import zipfile
from typing import Any

import pytest

from tests.emulator.running import RunningEmulator

ROLE: dict[str, Any] = {
    "Type": "AWS::IAM::Role",
    "Properties": {
        "AssumeRolePolicyDocument": {
            "Version": "2012-10-17",
            "Statement": [
                {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
            ],
        },
        "ManagedPolicyArns": ["arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"],
    },
}
ECHO = """
    import cfnresponse

    def handler(event, context):
        properties = event["ResourceProperties"]
        print(event["RequestType"], properties)
        if properties.get("Refuse") == event["RequestType"]:
            cfnresponse.send(event, context, cfnresponse.FAILED, {}, "echo-1", reason="as you wished")
        else:
            data = {"Said": properties.get("Say"), "Type": type(properties.get("Say")).__name__}
            cfnresponse.send(event, context, cfnresponse.SUCCESS, data, "echo-1")
"""
NODE = """
    const https = require('https');
    exports.handler = async (event) => {
      const url = new URL(event.ResponseURL);
      const answer = { Status: 'SUCCESS', PhysicalResourceId: 'node-1', Data: { Said: 'node' } };
      const body = JSON.stringify({ ...event, ...answer });
      await new Promise((resolve) => {
        const request = https.request({ hostname: url.hostname, path: url.pathname, method: 'PUT' }, resolve);
        request.end(body);
      });
    };
"""


def stack(code: str, runtime: str = "python3.12", **properties: Any) -> dict[str, Any]:
    function = {
        "Runtime": runtime,
        "Handler": "index.handler",
        "Role": {"Fn::GetAtt": ["Role", "Arn"]},
        "Code": {"ZipFile": textwrap.dedent(code)},
    }
    custom = {"ServiceToken": {"Fn::GetAtt": ["Function", "Arn"]}, **properties}
    return {
        "Role": ROLE,
        "Function": {"Type": "AWS::Lambda::Function", "Properties": function},
        "Echo": {"Type": "Custom::Echo", "Properties": custom},
    }


def test_python_code_runs_and_gets_text(emulator: RunningEmulator) -> None:
    outputs = {name: {"Value": {"Fn::GetAtt": ["Echo", name]}} for name in ("Said", "Type")}
    assert emulator.create("echo", stack(ECHO, Say=7), Outputs=outputs) == "CREATE_COMPLETE"
    assert emulator.outputs("echo") == {"Said": "7", "Type": "str"}
    assert emulator.physical_id("echo", "Echo") == "echo-1"
    assert emulator.update("echo", stack(ECHO, Say=True), Outputs=outputs) == "UPDATE_COMPLETE"
    assert emulator.outputs("echo")["Said"] == "true"
    assert emulator.delete("echo") == "DELETE_COMPLETE"
    backings = {entry["action"]: entry["backing"] for entry in emulator.ledger(stack="echo", logical_id="Echo")}
    assert backings == {"create": "lambda", "update": "lambda", "delete": "lambda"}
    log = next(emulator.directory.glob("lambda/echo-Function-*.log")).read_text(encoding="utf-8")
    assert [line.split()[0] for line in log.splitlines() if line.startswith(("Create", "Update", "Delete"))] == [
        "Create",
        "Update",
        "Delete",
    ]


def test_run_function_leaves_a_log_group_as_on_aws(emulator: RunningEmulator) -> None:
    emulator.create("logged", stack(ECHO))
    name = emulator.physical_id("logged", "Function")
    emulator.delete("logged")
    groups = emulator.client("logs").describe_log_groups(logGroupNamePrefix=f"/aws/lambda/{name}")["logGroups"]
    assert len(groups) == 1


def test_node_code_runs(emulator: RunningEmulator) -> None:
    outputs = {"Said": {"Value": {"Fn::GetAtt": ["Echo", "Said"]}}}
    assert emulator.create("node", stack(NODE, "nodejs22.x"), Outputs=outputs) == "CREATE_COMPLETE"
    assert emulator.outputs("node") == {"Said": "node"}


def test_refusal_rolls_back_and_asks_for_deletion(emulator: RunningEmulator) -> None:
    assert emulator.create("refused", stack(ECHO, Refuse="Create")) == "ROLLBACK_COMPLETE"
    assert emulator.reasons("refused")["Echo"].endswith("Message returned: as you wished")
    log = next(emulator.directory.glob("lambda/refused-Function-*.log")).read_text(encoding="utf-8")
    assert "Delete {" in log


def test_refused_update_restores_the_old_properties(emulator: RunningEmulator) -> None:
    emulator.create("restored", stack(ECHO, Say="first"))
    assert emulator.update("restored", stack(ECHO, Say="second", Refuse="Update")) == "UPDATE_ROLLBACK_COMPLETE"
    log = next(emulator.directory.glob("lambda/restored-Function-*.log")).read_text(encoding="utf-8")
    updates = [line for line in log.splitlines() if line.startswith("Update")]
    assert "second" in updates[0]
    assert "first" in updates[-1]


def test_code_that_does_not_answer_is_reported_at_once(emulator: RunningEmulator) -> None:
    silent = "def handler(event, context):\n    raise RuntimeError('broken on purpose')\n"
    assert emulator.create("silent", stack(silent)) == "ROLLBACK_FAILED"
    reason = emulator.reasons("silent")["Echo"]
    assert "without answering" in reason
    assert "broken on purpose" in reason


@pytest.mark.parametrize(
    ("name", "end", "said"),
    [
        ("leaves", "os._exit(3)", "so far"),
        ("killed", "os.kill(os.getpid(), 9)", "so far"),
        ("exits", "sys.exit('enough')", "enough"),
    ],
)
def test_code_that_ends_its_process_is_reported_at_once(
    name: str, end: str, said: str, emulator: RunningEmulator
) -> None:
    ending = f"import os, sys\n\ndef handler(event, context):\n    print('so far', flush=True)\n    {end}\n"
    assert emulator.create(name, stack(ending)) == "ROLLBACK_FAILED"
    assert said in emulator.reasons(name)["Echo"]


def test_what_code_changes_is_gone_at_its_next_run(emulator: RunningEmulator) -> None:
    """Each run is a process of its own, though what they import is shared."""
    counting = """
        import boto3, cfnresponse, os

        boto3.runs = getattr(boto3, "runs", 0) + 1
        os.environ["RUNS"] = os.environ.get("RUNS", "") + "1"

        def handler(event, context):
            runs = f"{boto3.runs} {os.environ['RUNS']}"
            cfnresponse.send(event, context, cfnresponse.SUCCESS, {"Said": runs}, "echo")
    """
    outputs = {"Said": {"Value": {"Fn::GetAtt": ["Echo", "Said"]}}}
    assert emulator.create("counting", stack(counting, Say=1), Outputs=outputs) == "CREATE_COMPLETE"
    assert emulator.update("counting", stack(counting, Say=2), Outputs=outputs) == "UPDATE_COMPLETE"
    assert emulator.outputs("counting")["Said"] == "1 1"


def test_code_that_brings_its_own_boto3_gets_it(emulator: RunningEmulator) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr("boto3/__init__.py", "NAME = 'its own'\n")
        content.writestr("index.py", "import boto3\n\ndef handler(event, context):\n    return boto3.NAME\n")
    emulator.client("s3").create_bucket(
        Bucket="code", CreateBucketConfiguration={"LocationConstraint": emulator.client("s3").meta.region_name}
    )
    emulator.client("s3").put_object(Bucket="code", Key="own.zip", Body=archive.getvalue())
    resources = stack("")
    resources["Function"]["Properties"]["Code"] = {"S3Bucket": "code", "S3Key": "own.zip"}
    del resources["Echo"]
    assert emulator.create("own", resources) == "CREATE_COMPLETE"
    answer = emulator.client("lambda").invoke(FunctionName=emulator.physical_id("own", "Function"), Payload=b"{}")
    assert json.load(answer["Payload"]) == "its own"


def test_code_cannot_leave_this_machine(emulator: RunningEmulator) -> None:
    leaving = """
        import cfnresponse
        import socket

        def handler(event, context):
            try:
                socket.create_connection(("192.0.2.1", 443), timeout=1)
            except OSError as error:
                cfnresponse.send(event, context, cfnresponse.SUCCESS, {"Said": str(error)})
    """
    outputs = {"Said": {"Value": {"Fn::GetAtt": ["Echo", "Said"]}}}
    assert emulator.create("leaving", stack(leaving), Outputs=outputs) == "CREATE_COMPLETE"
    assert emulator.outputs("leaving")["Said"] == "the rehearsal talks to loopback only; refused: 192.0.2.1"


def test_unknown_service_token_is_named(emulator: RunningEmulator) -> None:
    custom = {"Type": "Custom::Echo", "Properties": {"ServiceToken": "arn:aws:lambda:us-west-2:1:function:gone"}}
    emulator.create("tokenless", {"Echo": custom})
    assert "function:gone" in emulator.reasons("tokenless")["Echo"]
