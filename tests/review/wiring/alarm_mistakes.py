"""Mistakes in an alarm, made by one small change each, for every alarm that has what is changed."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

Alarm = dict[str, Any]
Change = Callable[[Alarm], bool]
"""Changes an alarm's properties in place; False when it has nothing of the kind."""

_OPPOSITE = {
    "GreaterThanThreshold": "LessThanThreshold",
    "LessThanThreshold": "GreaterThanThreshold",
}


def _metrics(alarm: Alarm) -> list[tuple[Alarm, Alarm]]:
    """The metrics with what holds their statistic and period."""
    if "MetricName" in alarm:
        return [(alarm, alarm)]
    return [(item["MetricStat"]["Metric"], item["MetricStat"]) for item in alarm["Metrics"] if "MetricStat" in item]


def _first(alarm: Alarm) -> tuple[Alarm, Alarm] | None:
    return next(iter(_metrics(alarm)), None)


def misspelled_metric(alarm: Alarm) -> bool:
    if not (found := _first(alarm)) or not isinstance(found[0]["MetricName"], str):
        return False
    found[0]["MetricName"] += "s"
    return True


def another_namespace(alarm: Alarm) -> bool:
    if not (found := _first(alarm)):
        return False
    found[0]["Namespace"] = "AWS/Usage"
    return True


def dimension_left_out(alarm: Alarm) -> bool:
    found = _first(alarm)
    return bool(found and found[0].get("Dimensions") and found[0]["Dimensions"].pop())


def dimension_too_many(alarm: Alarm) -> bool:
    if not (found := _first(alarm)):
        return False
    found[0].setdefault("Dimensions", []).append({"Name": "AvailabilityZoneId", "Value": "usw2-az1"})
    return True


def misspelled_dimension(alarm: Alarm) -> bool:
    found = _first(alarm)
    if not found or not found[0].get("Dimensions"):
        return False
    found[0]["Dimensions"][0]["Name"] = found[0]["Dimensions"][0]["Name"].lower()
    return True


def another_resource(alarm: Alarm) -> bool:
    found = _first(alarm)
    if not found or not found[0].get("Dimensions"):
        return False
    found[0]["Dimensions"][0]["Value"] = alarm["AlarmActions"][0]
    return True


def unknown_name(alarm: Alarm) -> bool:
    found = _first(alarm)
    if not found or not found[0].get("Dimensions"):
        return False
    found[0]["Dimensions"][0]["Value"] = "another-cluster"
    return True


def senseless_statistic(alarm: Alarm) -> bool:
    if not (found := _first(alarm)):
        return False
    key = "Stat" if "Stat" in found[1] else "Statistic"
    found[1].pop("ExtendedStatistic", None)
    found[1][key] = "Average" if found[1].get(key) == "Sum" else "Sum"
    # The average of a level of parts is a level.
    return found[0]["MetricName"] not in ("FreeDataStorageCapacity", "scheduler_pending_pods_UNSCHEDULABLE")


def short_period(alarm: Alarm) -> bool:
    if not (found := _first(alarm)):
        return False
    found[1]["Period"] = 30
    return True


def another_unit(alarm: Alarm) -> bool:
    if not (found := _first(alarm)):
        return False
    found[1]["Unit"] = "Megabytes/Second"
    return True


def opposite_comparison(alarm: Alarm) -> bool:
    alarm["ComparisonOperator"] = _OPPOSITE[alarm["ComparisonOperator"]]
    return True


def threshold_below_all(alarm: Alarm) -> bool:
    alarm["Threshold"] = -1
    return True


def threshold_in_gibibytes(alarm: Alarm) -> bool:
    if alarm["Threshold"] < 1024**3 or "Metrics" in alarm:
        return False
    alarm["Threshold"] /= 1024**3
    return True


def percent_above_all(alarm: Alarm) -> bool:
    if not (50 < alarm["Threshold"] <= 100):
        return False
    alarm["Threshold"] *= 10
    return True


def no_action(alarm: Alarm) -> bool:
    del alarm["AlarmActions"]
    return True


def actions_switched_off(alarm: Alarm) -> bool:
    alarm["ActionsEnabled"] = False
    return True


def action_without_topic(alarm: Alarm) -> bool:
    alarm["AlarmActions"] = [{"Ref": "WatchDashboard77C0F6EE"}]
    return True


def silence_is_trouble(alarm: Alarm) -> bool:
    if alarm["ComparisonOperator"] != "GreaterThanThreshold":
        return False
    alarm["TreatMissingData"] = "breaching"
    return True


def silence_is_fine(alarm: Alarm) -> bool:
    if alarm["TreatMissingData"] == "notBreaching":
        return False
    alarm["TreatMissingData"] = "notBreaching"
    return True


def too_many_points(alarm: Alarm) -> bool:
    alarm["DatapointsToAlarm"] = alarm["EvaluationPeriods"] + 1
    return True


def fires_days_later(alarm: Alarm) -> bool:
    alarm["EvaluationPeriods"] *= 500
    alarm.pop("DatapointsToAlarm", None)
    return True


def expression_with_a_hole(alarm: Alarm) -> bool:
    found = [item for item in alarm.get("Metrics", ()) if "Expression" in item and "SELECT" not in item["Expression"]]
    for item in found:
        item["Expression"] = item["Expression"].replace(alarm["Metrics"][1]["Id"], "gone")
    return bool(found)


def query_of_another_metric(alarm: Alarm) -> bool:
    found = [item for item in alarm.get("Metrics", ()) if "SELECT" in item.get("Expression", "")]
    for item in found:
        item["Expression"] = item["Expression"].replace("Heartbeat", "HeartBeat")
    return bool(found)


def two_values(alarm: Alarm) -> bool:
    if len(alarm.get("Metrics", ())) < 2:
        return False
    alarm["Metrics"][1]["ReturnData"] = True
    return True


CHANGES: tuple[Change, ...] = (
    *(misspelled_metric, another_namespace, dimension_left_out, dimension_too_many, misspelled_dimension),
    *(
        another_resource,
        unknown_name,
        senseless_statistic,
        short_period,
        another_unit,
        opposite_comparison,
    ),
    *(threshold_below_all, threshold_in_gibibytes, percent_above_all, no_action, actions_switched_off),
    *(action_without_topic, silence_is_trouble, silence_is_fine, too_many_points, fires_days_later),
    *(expression_with_a_hole, query_of_another_metric, two_values),
)


def changed(alarm: Alarm, change: Change) -> Alarm | None:
    """Return what a change makes of an alarm's properties; None when the alarm has nothing of the kind."""
    spoiled = deepcopy(alarm)
    return spoiled if change(spoiled) else None
