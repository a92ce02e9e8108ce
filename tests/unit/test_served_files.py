"""Who changes a file that is served is noticed: the rule, its log, its alarm."""

import json
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.events.models import EventPattern

from slipway_stacks.served_model import NO_MODEL_CHOSEN
from tests.assembly import Assembly
from tests.conftest import AssemblyFactory
from tests.endpoint.stack_values import StackValues
from tests.unit.test_operations_stack import alarms, dimensions

BUCKET = "models"
VERSIONS = {"Tanuki8bServed": "tanuki-8b/v1", "Tanuki8bCandidate": "tanuki-8b/v3"}
BELOW = ("tanuki-8b/v1/model.safetensors", "tanuki-8b/v1/deep/er/file", "tanuki-8b/v3/config.json")
ELSEWHERE = (
    "tanuki-8b/v10/model.safetensors",
    "tanuki-8b/v2/model.safetensors",
    "tanuki-8b/v1",
    "tanuki-8b2/v1/config.json",
    "other/tanuki-8b/v1/config.json",
    "no-model-chosen/x",
)
CHANGES: dict[str, dict[str, Any]] = {
    "Object Created": {"object": {"size": 5, "etag": "b1946ac92492d2347c6235b4d2611184"}, "reason": "PutObject"},
    "Object Deleted": {"reason": "DeleteObject", "deletion-type": "Delete Marker Created"},
    "Object Tags Added": {},
    "Object Tags Deleted": {},
    "Object ACL Updated": {},
}
READS_AND_MOVES = ("Object Restore Initiated", "Object Restore Completed", "Object Storage Class Changed")


def s3_event(kind: str, key: str, bucket: str = BUCKET) -> Any:
    """An event as Amazon S3 sends it (Amazon S3 user guide, "EventBridge event message structure")."""
    more = CHANGES.get(kind, {})
    return {
        "version": "0",
        "id": "17793124-05d4-b198-2fde-7ededc63b103",
        "detail-type": kind,
        "source": "aws.s3",
        "account": "111122223333",
        "time": "2021-11-12T00:00:00Z",
        "region": "us-west-2",
        "resources": [f"arn:aws:s3:::{bucket}"],
        "detail": {
            "version": "0",
            "bucket": {"name": bucket},
            "request-id": "N4N7GDK58NMKJ12R",
            "requester": "111122223333",
            "source-ip-address": "1.2.3.4",
            **more,
            "object": {"key": key, "version-id": "IYV3p45BT0ac8hjHg1houSdS1a.Mro8e", **more.get("object", {})},
        },
    }


@pytest.fixture
def rolledout(assemblies: AssemblyFactory) -> Assembly:
    """The variant whose model is rolled out, with a canary."""
    return assemblies("rolledout")


def rule(assembly: Assembly, versions: dict[str, str]) -> dict[str, Any]:
    """The properties of the one rule of changes, with the model bucket's name."""
    values = StackValues(assembly.template("inference"), versions)
    ((_, found),) = values.resources("AWS::Events::Rule")
    found["EventPattern"]["detail"]["bucket"]["name"] = [BUCKET]
    return found


def is_noticed(properties: dict[str, Any], event: Any) -> bool:
    """Whether the rule matches, as moto reads its pattern."""
    pattern = properties["EventPattern"]
    return EventPattern(json.dumps(pattern), pattern).matches_event(event)


@pytest.mark.parametrize("kind", CHANGES)
def test_each_change_below_what_is_served_is_noticed(rolledout: Assembly, kind: str) -> None:
    properties = rule(rolledout, VERSIONS)

    assert [key for key in (*BELOW, *ELSEWHERE) if is_noticed(properties, s3_event(kind, key))] == list(BELOW)


def test_nothing_is_noticed_of_another_bucket_and_of_what_leaves_the_content(rolledout: Assembly) -> None:
    properties = rule(rolledout, VERSIONS)

    assert not is_noticed(properties, s3_event("Object Created", BELOW[0], "another"))
    assert not any(is_noticed(properties, s3_event(kind, BELOW[0])) for kind in READS_AND_MOVES)


def test_before_the_first_roll_out_a_version_is_published_without_notice(rolledout: Assembly) -> None:
    properties = rule(rolledout, {})

    assert not any(is_noticed(properties, s3_event("Object Created", key)) for key in BELOW)


def test_a_fixed_prefix_is_watched_too(public: Assembly) -> None:
    inference = public.environment.inference
    assert inference
    fixed = {model.prefix for model in inference.models if model.prefix}
    values = StackValues(public.template("inference"))
    watched = [
        each["prefix"]
        for _, properties in values.resources("AWS::Events::Rule")
        for each in properties["EventPattern"]["detail"]["object"]["key"]
    ]

    assert fixed
    assert {*watched} == {f"{prefix}/" for prefix in {*fixed, NO_MODEL_CHOSEN}}
    assert len(watched) == len(inference.models)


def test_the_model_bucket_sends_its_events_where_models_are_served(default: Assembly, ultracluster: Assembly) -> None:
    def told(assembly: Assembly) -> list[str]:
        buckets = assembly.resources("storage", "AWS::S3::Bucket")
        return [key[:6] for key, each in buckets.items() if "NotificationConfiguration" in each["Properties"]]

    assert (told(default), told(ultracluster)) == (["Models"], [])


@mock_aws
def test_a_swap_of_weights_is_in_the_log(rolledout: Assembly) -> None:
    """In an account of moto: bucket, group and rule as in the templates, then the swap."""
    wanted = rule(rolledout, VERSIONS)
    (target,) = wanted["Targets"]
    group = target["Arn"].split(":log-group:")[1]
    session = boto3.Session(region_name="us-west-2")
    s3, events, logs = session.client("s3"), session.client("events"), session.client("logs")
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    s3.put_bucket_notification_configuration(Bucket=BUCKET, NotificationConfiguration={"EventBridgeConfiguration": {}})
    logs.create_log_group(logGroupName=group)
    events.put_rule(Name="changes", EventPattern=json.dumps(wanted["EventPattern"]))
    events.put_targets(Rule="changes", Targets=[target])

    for key in (*BELOW, *ELSEWHERE):
        s3.put_object(Bucket=BUCKET, Key=key, Body=b"evil")

    told = [json.loads(event["message"]) for event in logs.filter_log_events(logGroupName=group)["events"]]
    assert {event["detail"]["object"]["key"] for event in told} == {*BELOW}


def test_rules_of_the_account_alone_write_to_the_log(default: Assembly) -> None:
    values = StackValues(default.template("inference"))
    ((group_id, group),) = (
        (key, each) for key, each in values.resources("AWS::Logs::LogGroup") if "ResourcePolicyDocument" in each
    )
    ((_, found),) = values.resources("AWS::Events::Rule")
    create, put = group["ResourcePolicyDocument"]["Statement"]

    assert group["LogGroupName"] == "/aws/events/slipway-default-inference"
    assert [target["Arn"].split(":log-group:")[1] for target in found["Targets"]] == [group_id]
    assert create["Resource"] == put["Resource"]
    assert create["Resource"].endswith(f":log-group:{group['LogGroupName']}:*")
    assert (create["Action"], put["Action"]) == ("logs:CreateLogStream", "logs:PutLogEvents")
    assert put["Condition"] == {"ArnLike": {"aws:SourceArn": "arn:aws:events:us-west-2:123456789012:rule/*"}}


def test_one_change_rings(default: Assembly) -> None:
    alarm = alarms(default)["Tanuki8bFilesChanged"]

    assert (alarm["Namespace"], alarm["MetricName"]) == ("AWS/Events", "Invocations")
    assert set(dimensions(alarm)) == {"RuleName"}
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)
    assert (alarm["DatapointsToAlarm"], alarm["TreatMissingData"]) == (1, "notBreaching")
