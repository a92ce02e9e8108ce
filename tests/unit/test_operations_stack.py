"""The operations stack: money and trouble reach somebody."""

import json
from typing import Any

from tests.assembly import Assembly


def alarms(assembly: Assembly) -> dict[str, Any]:
    """Properties of the alarms by logical id."""
    found = assembly.resources("operations", "AWS::CloudWatch::Alarm")
    return {logical_id: resource["Properties"] for logical_id, resource in found.items()}


def test_the_budget_counts_the_environments_tag_and_tells_the_topic(default: Assembly) -> None:
    resource = default.resource("operations", "AWS::Budgets::Budget")
    told = {
        (item["Notification"]["NotificationType"], item["Notification"]["Threshold"])
        for item in resource["NotificationsWithSubscribers"]
    }

    assert resource["Budget"]["BudgetLimit"] == {"Amount": 5000, "Unit": "USD"}
    assert resource["Budget"]["CostFilters"] == {"TagKeyValue": ["user:slipway:environment$default"]}
    assert told == {("ACTUAL", 50), ("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100)}


def test_without_a_budget_in_the_file_there_is_none(public: Assembly) -> None:
    assert not public.resources("operations", "AWS::Budgets::Budget")


def test_the_address_of_the_file_is_subscribed(public: Assembly, default: Assembly) -> None:
    subscription = public.resource("operations", "AWS::SNS::Subscription")

    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "platform@example.com")
    assert not default.resources("operations", "AWS::SNS::Subscription")


def test_only_alarms_and_budgets_of_this_account_may_publish_and_only_over_tls(each_assembly: Assembly) -> None:
    policy = each_assembly.resource("operations", "AWS::SNS::TopicPolicy")["PolicyDocument"]
    allowed = [statement for statement in policy["Statement"] if statement["Effect"] == "Allow"]
    denied = [statement for statement in policy["Statement"] if statement["Effect"] == "Deny"]

    assert [statement["Condition"] for statement in allowed] == [
        {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    ]
    assert {"Bool": {"aws:SecureTransport": "false"}} in [statement["Condition"] for statement in denied]


def test_every_alarm_tells_the_topic_and_says_what_to_do(each_assembly: Assembly) -> None:
    (topic,) = each_assembly.resources("operations", "AWS::SNS::Topic")

    for alarm in alarms(each_assembly).values():
        assert alarm["AlarmActions"] == [{"Ref": topic}]
        assert len(alarm["AlarmDescription"].split()) >= 8


def test_only_a_head_node_that_says_nothing_is_in_trouble_for_that(each_assembly: Assembly) -> None:
    silence = {key: alarm["TreatMissingData"] for key, alarm in alarms(each_assembly).items()}
    (head_node,) = [key for key in silence if "HeadNode" in key]

    assert silence.pop(head_node) == "breaching"
    assert set(silence.values()) == {"notBreaching"}


def test_the_heartbeat_is_the_one_that_this_cluster_logs(each_assembly: Assembly) -> None:
    (alarm,) = [item for key, item in alarms(each_assembly).items() if "HeadNode" in key]
    (query,) = alarm["Metrics"]
    cluster = each_assembly.environment.training.cluster_name

    assert query["Expression"] == (
        'SELECT SUM(ClustermgtdHeartbeat) FROM SCHEMA("ParallelCluster", ClusterName, InstanceId) '
        f"WHERE ClusterName = '{cluster}'"
    )
    assert (query["Period"], alarm["EvaluationPeriods"], alarm["Threshold"]) == (60, 10, 1)
    assert alarm["ComparisonOperator"] == "LessThanThreshold"


def test_no_alarm_of_the_cluster_is_held_by_one_of_ours(each_assembly: Assembly) -> None:
    # CloudWatch deletes no alarm that a composite alarm names: the cluster's own stack could not be deleted.
    assert not each_assembly.resources("operations", "AWS::CloudWatch::CompositeAlarm")


def test_a_full_file_system_is_told_at_a_tenth(default: Assembly) -> None:
    (alarm,) = [item for key, item in alarms(default).items() if "FileSystem" in key]

    assert alarm["Threshold"] == 480 * 1024**3
    # One sample a minute for each disk: over a longer period the sum would count the same bytes again.
    assert (alarm["MetricName"], alarm["Statistic"], alarm["Period"]) == ("FreeDataStorageCapacity", "Sum", 60)
    assert alarm["ComparisonOperator"] == "LessThanThreshold"


def test_each_nat_gateway_is_watched(public: Assembly) -> None:
    watched = [item for item in alarms(public).values() if item.get("MetricName") == "ErrorPortAllocation"]

    assert len(watched) == len(public.resources("network", "AWS::EC2::NatGateway")) == 3


def test_the_endpoint_is_watched_where_there_is_one(default: Assembly, ultracluster: Assembly) -> None:
    assert len(alarms(default)) == 3 + 5
    assert len(alarms(ultracluster)) == 2 + 2


def test_it_waits_for_the_cluster_whose_silence_it_tells(each_assembly: Assembly) -> None:
    name = each_assembly.environment.name
    manifest = json.loads((each_assembly.directory / "manifest.json").read_text())

    assert f"slipway-{name}-training" in manifest["artifacts"][f"slipway-{name}-operations"]["dependencies"]
