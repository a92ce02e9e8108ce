"""What is watched: a metric, when it alarms, and where it stands on the dashboard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from neuron_constructs.operations.metrics import Source

Silence = Literal["fine", "trouble", "ends"]

_MISSING_DATA = {
    "fine": cloudwatch.TreatMissingData.NOT_BREACHING,
    "trouble": cloudwatch.TreatMissingData.BREACHING,
    # The state becomes INSUFFICIENT_DATA, in which every alarm begins: an action follows the change, not the state.
    "ends": cloudwatch.TreatMissingData.MISSING,
}

_COMPARISONS = {
    "above": cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
    "below": cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
}


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """When a metric means trouble."""

    name: str
    """Construct id, in PascalCase."""

    metric: cloudwatch.IMetric
    """The metric."""

    fires: Literal["above", "below"]
    """On which side of the threshold it alarms."""

    threshold: float
    """The threshold, in the metric's unit."""

    periods: int
    """How many of the metric's periods must be on that side."""

    among: int | None = None
    """Among how many of the last periods; all in a row when left out. Trouble that comes and goes is told once then."""

    means: str
    """What it means and what to do, for whoever gets the message."""

    silence: Silence = "fine"
    """What it means when nothing is measured.

    `fine`: nothing is there, no tasks or no traffic. `trouble`: the alarm fires, also when it is new. `ends`: the alarm
    tells when measuring ends. A new alarm waits for its first measurement.
    """


@dataclass(frozen=True, kw_only=True)
class Graph:
    """A graph on the dashboard."""

    title: str
    """Its title."""

    metrics: Sequence[cloudwatch.IMetric]
    """What it shows."""


@dataclass(frozen=True, kw_only=True)
class WatchedPart:
    """What is watched of one part of an environment."""

    title: str
    """Its heading on the dashboard."""

    alarms: Sequence[Alarm] = ()
    """What alarms."""

    graphs: Sequence[Graph] = ()
    """What the dashboard shows below the heading, two in a row."""


_FIVE_MINUTE_PERIODS_OF_AN_HOUR = 12


def error_alarms(source: Source, meanings: Mapping[str, tuple[str, str]]) -> list[Alarm]:
    """Return an alarm for each metric that counts errors; errors that come back are told once in an hour.

    Args:
        source: where the metrics come from.
        meanings: metric -> name of the alarm, what it means.
    """
    return [
        Alarm(
            name=name,
            metric=source.metric(metric, "Sum"),
            fires="above",
            threshold=0,
            periods=1,
            among=_FIVE_MINUTE_PERIODS_OF_AN_HOUR,
            means=means,
        )
        for metric, (name, means) in meanings.items()
    ]


class Watch(Construct):
    """Alarms that tell a topic, and a dashboard that shows them and the graphs."""

    dashboard_name: str

    def __init__(
        self,
        scope: Construct,
        id: str,  # noqa: A002
        *,
        parts: Sequence[WatchedPart],
        topic: sns.ITopic,
    ) -> None:
        """Create alarms and dashboard.

        Args:
            scope: parent construct.
            id: construct id.
            parts: what is watched, in the order of the dashboard.
            topic: who is told.
        """
        super().__init__(scope, id)
        action = actions.SnsAction(topic)
        watched: list[cloudwatch.IAlarm] = [_alarm(self, alarm, action) for part in parts for alarm in part.alarms]
        dashboard = cloudwatch.Dashboard(self, "Dashboard", default_interval=cdk.Duration.days(1))
        self.dashboard_name = dashboard.dashboard_name
        dashboard.add_widgets(cloudwatch.AlarmStatusWidget(title="Alarms", alarms=watched, width=24))
        for part in parts:
            dashboard.add_widgets(cloudwatch.TextWidget(markdown=f"## {part.title}", width=24, height=1))
            graphs = [
                cloudwatch.GraphWidget(title=graph.title, left=list(graph.metrics), width=12) for graph in part.graphs
            ]
            dashboard.add_widgets(*graphs)


def _alarm(scope: Construct, alarm: Alarm, action: actions.SnsAction) -> cloudwatch.Alarm:
    created = cloudwatch.Alarm(
        scope,
        alarm.name,
        metric=alarm.metric,
        comparison_operator=_COMPARISONS[alarm.fires],
        threshold=alarm.threshold,
        evaluation_periods=alarm.among or alarm.periods,
        datapoints_to_alarm=alarm.periods if alarm.among else None,
        alarm_description=alarm.means,
        treat_missing_data=_MISSING_DATA[alarm.silence],
    )
    created.add_alarm_action(action)
    if alarm.silence == "ends":
        created.add_insufficient_data_action(action)
    return created
