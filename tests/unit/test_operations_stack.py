"""The operations stack: money and trouble reach somebody."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.assembly import PROJECT, Assembly, load, synthesize
from tests.conftest import AssemblyFactory


def node_files() -> Iterator[Path]:
    """The files that nodes run."""
    return (PROJECT / "assets" / "cluster").rglob("*")


def alarms(assembly: Assembly) -> dict[str, Any]:
    """Properties of the alarms by the name that the watched part gives them."""
    found = assembly.resources("operations", "AWS::CloudWatch::Alarm")
    return {re.sub("^Watch|[0-9A-F]{8}$", "", key): resource["Properties"] for key, resource in found.items()}


def dimensions(metric: Any) -> dict[str, Any]:
    """The dimensions of an alarm's metric."""
    return {dimension["Name"]: dimension["Value"] for dimension in metric["Dimensions"]}


def dashboard_parts(assembly: Assembly) -> list[Any]:
    """The pieces of the dashboard: text, and references to what is known only when it is deployed."""
    parts: list[Any] = assembly.resource("operations", "AWS::CloudWatch::Dashboard")["DashboardBody"]["Fn::Join"][1]
    return parts


def dashboard(assembly: Assembly) -> str:
    """The dashboard's text, without the escapes of JSON in JSON."""
    return "".join(part for part in dashboard_parts(assembly) if isinstance(part, str)).replace('\\"', '"')


def test_the_budget_counts_the_environments_tag_and_tells_the_topic(default: Assembly) -> None:
    resource = default.resource("operations", "AWS::Budgets::Budget")
    told = {
        (item["Notification"]["NotificationType"], item["Notification"]["Threshold"])
        for item in resource["NotificationsWithSubscribers"]
    }

    assert resource["Budget"]["BudgetLimit"] == {"Amount": 5000, "Unit": "USD"}
    assert resource["Budget"]["CostFilters"] == {"TagKeyValue": ["user:slipway:environment$default"]}
    assert resource["Budget"]["CostTypes"] == {"IncludeCredit": False, "IncludeRefund": False}
    assert told == {("ACTUAL", 50), ("ACTUAL", 80), ("ACTUAL", 100), ("FORECASTED", 100)}


def test_a_raised_budget_is_another_one_whose_alerts_nobody_has_had(tmp_path: Path) -> None:
    def budget(usd: int) -> set[str]:
        environment = load("small")
        operations = environment.operations.model_copy(update={"monthly_budget_usd": usd})
        assembly = synthesize(environment.model_copy(update={"operations": operations}), tmp_path / str(usd))
        return set(assembly.resources("operations", "AWS::Budgets::Budget"))

    assert not budget(500) & budget(600)


def test_without_a_budget_in_the_file_there_is_none(public: Assembly) -> None:
    assert not public.resources("operations", "AWS::Budgets::Budget")


def test_the_address_of_the_file_is_subscribed(public: Assembly, default: Assembly) -> None:
    subscription = public.resource("operations", "AWS::SNS::Subscription")

    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "platform@example.com")
    assert not default.resources("operations", "AWS::SNS::Subscription")


def test_only_alarms_and_budgets_of_this_account_may_publish_and_only_over_tls(each_assembly: Assembly) -> None:
    for resource in each_assembly.resources("operations", "AWS::SNS::TopicPolicy").values():
        policy = resource["Properties"]["PolicyDocument"]
        allowed = [statement for statement in policy["Statement"] if statement["Effect"] == "Allow"]
        denied = [statement for statement in policy["Statement"] if statement["Effect"] == "Deny"]

        assert [statement["Condition"] for statement in allowed] == [
            {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
        ]
        assert {"Bool": {"aws:SecureTransport": "false"}} in [statement["Condition"] for statement in denied]


def test_every_alarm_tells_the_topic_and_says_what_to_do(each_assembly: Assembly) -> None:
    topic = each_assembly.template("operations")["Outputs"]["NotificationTopic"]["Value"]

    for alarm in alarms(each_assembly).values():
        assert alarm["AlarmActions"] == [topic]
        assert len(alarm["AlarmDescription"].split()) >= 8


def test_every_alarm_is_on_the_dashboard(each_assembly: Assembly) -> None:
    parts = dashboard_parts(each_assembly)

    for alarm in each_assembly.resources("operations", "AWS::CloudWatch::Alarm"):
        assert {"Fn::GetAtt": [alarm, "Arn"]} in parts


def test_only_a_head_node_that_says_nothing_is_in_trouble_for_that(each_assembly: Assembly) -> None:
    silent = {key for key, alarm in alarms(each_assembly).items() if alarm["TreatMissingData"] == "breaching"}

    assert silent == ({"HeadNodeSilent"} if each_assembly.environment.training else set())


def test_the_heartbeat_is_the_one_that_this_cluster_logs(each_slurm_assembly: Assembly) -> None:
    alarm = alarms(each_slurm_assembly)["HeadNodeSilent"]
    (query,) = alarm["Metrics"]
    cluster = each_slurm_assembly.training.cluster_name

    assert query["Expression"] == (
        'SELECT SUM(ClustermgtdHeartbeat) FROM SCHEMA("ParallelCluster", ClusterName, InstanceId) '
        f"WHERE ClusterName = '{cluster}'"
    )
    assert (query["Period"], alarm["EvaluationPeriods"], alarm["Threshold"]) == (60, 10, 1)
    assert alarm["ComparisonOperator"] == "LessThanThreshold"


def test_no_alarm_of_the_cluster_is_held_by_one_of_ours(each_slurm_assembly: Assembly) -> None:
    # CloudWatch deletes no alarm that a composite alarm names: the cluster's own stack could not be deleted.
    assert not each_slurm_assembly.resources("operations", "AWS::CloudWatch::CompositeAlarm")


def test_a_full_file_system_is_told_at_a_tenth(default: Assembly) -> None:
    alarm = alarms(default)["FileSystemNearlyFull"]

    assert alarm["Threshold"] == 480 * 1024**3
    # One sample a minute for each disk: over a longer period the sum would count the same bytes again.
    assert (alarm["MetricName"], alarm["Statistic"], alarm["Period"]) == ("FreeDataStorageCapacity", "Sum", 60)
    assert alarm["ComparisonOperator"] == "LessThanThreshold"


def test_each_nat_gateway_is_watched(public: Assembly) -> None:
    watched = [item for item in alarms(public).values() if item.get("MetricName") == "ErrorPortAllocation"]

    assert len(watched) == len(public.resources("network", "AWS::EC2::NatGateway")) == 3


def test_the_endpoint_is_watched_where_there_is_one(default: Assembly, ultracluster: Assembly) -> None:
    of_endpoint = {"EndpointUnreachable", "EndpointNodeProblems", "Tanuki8bErrors", "Tanuki8bDown"}

    assert of_endpoint <= set(alarms(default))
    assert not of_endpoint & set(alarms(ultracluster))


def test_home_and_database_are_watched_where_they_are(team: Assembly, default: Assembly) -> None:
    of_storage = {"HomeNearlyFull", "AccountingDatabaseNearlyFull", "AccountingDatabaseNotConnected"}
    database = team.environment.storage.accounting_database

    assert of_storage <= set(alarms(team))
    assert not of_storage & set(alarms(default))
    assert database is not None
    assert alarms(team)["AccountingDatabaseNearlyFull"]["Threshold"] == database.storage_gib * 1024**3 / 10


@pytest.mark.parametrize(
    ("alarm", "namespace", "further"),
    [
        ("HeadNodeFailed", "AWS/EC2", {}),
        ("HeadNodeDiskNearlyFull", "CWAgent", {"path": "/"}),
        ("HeadNodeMemoryNearlyFull", "CWAgent", {}),
    ],
)
def test_the_head_node_is_watched_by_its_instance_id(
    default: Assembly, alarm: str, namespace: str, further: dict[str, str]
) -> None:
    watched = alarms(default)[alarm]
    instance_id = dimensions(watched).pop("InstanceId")

    assert watched["Namespace"] == namespace
    assert instance_id["Fn::GetStackOutput"]["StackName"] == "slipway-default-training"
    assert dimensions(watched) == {"InstanceId": instance_id, **further}


def test_errors_of_the_fleet_are_those_of_this_cluster_and_told_once_an_hour(each_slurm_assembly: Assembly) -> None:
    fleet = [
        alarm
        for alarm in alarms(each_slurm_assembly).values()
        if alarm.get("Namespace") in ("ParallelCluster", "Slipway/Neuron") and alarm["Statistic"] == "Sum"
    ]

    assert len(fleet) == 15
    for alarm in fleet:
        assert dimensions(alarm) == {"ClusterName": each_slurm_assembly.training.cluster_name}
        assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"] * alarm["Period"]) == (1, 3600)


def test_a_node_may_stand_idle_as_long_as_the_file_says_and_half_an_hour(small: Assembly) -> None:
    alarm = alarms(small)["NodeIdleTooLong"]

    assert (alarm["MetricName"], alarm["Statistic"]) == ("MaxDynamicNodeIdleTime", "Maximum")
    assert alarm["Threshold"] == (small.training.scaledown_idletime_minutes + 30) * 60


def test_a_saturated_file_system_moves_nine_tenths_of_what_it_can(small: Assembly) -> None:
    alarm = alarms(small)["FileSystemSaturated"]
    metrics = {metric["Id"]: metric for metric in alarm["Metrics"]}
    lustre = small.environment.storage.lustre

    assert next(metric["Expression"] for metric in metrics.values() if "Expression" in metric) == (
        "(read + written) / PERIOD(read)"
    )
    assert metrics["read"]["MetricStat"]["Stat"] == "Sum"
    assert alarm["Threshold"] == pytest.approx(
        0.9e6 * lustre.throughput_mb_s_per_tib * lustre.capacity_gib / 1024, rel=1e-9
    )


def test_checkpoints_that_are_not_copied_to_their_bucket_are_told(each_assembly: Assembly) -> None:
    alarm = alarms(each_assembly)["CheckpointsNotExported"]

    assert (alarm["MetricName"], dimensions(alarm)["Publisher"]) == ("AgeOfOldestQueuedMessage", "AutoExport")


def test_the_dashboard_shows_nodes_neuron_devices_slurm_and_file_system(each_slurm_assembly: Assembly) -> None:
    shown = dashboard(each_slurm_assembly)

    for heading in ("Head node", "Compute nodes", "Neuron devices", "/fsx: FSx for Lustre", "Network"):
        assert f"## {heading}" in shown
    cluster = each_slurm_assembly.training.cluster_name
    for metric, statistic in (
        ("NeuronDevices", "SampleCount"),
        ("NeuronCoreUtilization", "Average"),
        ("DeviceMemoryUtilization", "Maximum"),
    ):
        wanted = f'{{Slipway/Neuron,ClusterName,Queue}} MetricName="{metric}" ClusterName="{cluster}"'
        assert f"SEARCH('{wanted}', '{statistic}')" in shown


def test_nodes_send_every_neuron_metric_that_is_watched(default: Assembly) -> None:
    watched = {alarm["MetricName"] for alarm in alarms(default).values() if alarm.get("Namespace") == "Slipway/Neuron"}
    watched |= set(re.findall(r'"Slipway/Neuron","(\w+)"', dashboard(default)))
    watched |= set(re.findall(r'MetricName="(\w+)"', dashboard(default)))
    sent = "".join(path.read_text(encoding="utf-8") for path in node_files() if path.suffix in (".py", ".sh"))

    assert len(watched) == 9
    assert "Slipway/Neuron" in sent
    assert {metric for metric in watched if not re.search(rf"\b{metric}\b", sent)} == set()


def test_it_waits_for_the_clusters_whose_silence_it_tells(each_assembly: Assembly) -> None:
    environment = each_assembly.environment
    manifest = json.loads((each_assembly.directory / "manifest.json").read_text())
    clusters = {"training": environment.training, "kubernetes": environment.kubernetes}

    dependencies = manifest["artifacts"][f"slipway-{environment.name}-operations"]["dependencies"]

    assert {f"slipway-{environment.name}-{role}" for role, there in clusters.items() if there} <= set(dependencies)


def test_the_address_of_the_dashboard_is_an_output(each_assembly: Assembly) -> None:
    region = each_assembly.environment.region
    address, dashboard = each_assembly.template("operations")["Outputs"]["Dashboard"]["Value"]["Fn::Join"][1]

    assert address == (f"https://{region}.console.aws.amazon.com/cloudwatch/home?region={region}#dashboards/dashboard/")
    assert [dashboard["Ref"]] == list(each_assembly.resources("operations", "AWS::CloudWatch::Dashboard"))


@pytest.mark.parametrize(("name", "ports"), [("default", (80, 8000)), ("team", None), ("public", None)])
def test_an_internal_endpoint_is_reached_through_the_head_node(
    name: str, ports: tuple[int, int] | None, assemblies: AssemblyFactory
) -> None:
    output = assemblies(name).template("operations")["Outputs"].get("EndpointTunnel")

    assert (output is None) is (ports is None)
    if output:
        start, head_node, document, load_balancer, numbers = output["Value"]["Fn::Join"][1]
        assert start.endswith("--target ")
        assert "headnode" in json.dumps(head_node).lower()
        assert "LoadBalancer" in json.dumps(load_balancer)
        assert document.endswith(" --document-name AWS-StartPortForwardingSessionToRemoteHost --parameters host=")
        assert numbers == ",portNumber={},localPortNumber={}".format(*ports or ())
