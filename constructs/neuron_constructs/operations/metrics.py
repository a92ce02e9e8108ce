"""CloudWatch metrics of one thing, found by its dimensions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

Statistic = Literal["Sum", "Average", "Maximum", "Minimum", "SampleCount", "p50", "p90"]

FIVE_MINUTES = cdk.Duration.minutes(5)
ONE_MINUTE = cdk.Duration.minutes(1)


@dataclass(frozen=True)
class Source:
    """Where metrics come from.

    Attributes:
        namespace: CloudWatch namespace.
        dimensions: all dimensions of the metrics; one more or less is another metric.
    """

    namespace: str
    dimensions: Mapping[str, str]

    def metric(
        self, name: str, statistic: Statistic, *, period: cdk.Duration = FIVE_MINUTES, **more: str
    ) -> cloudwatch.Metric:
        """Return one metric.

        Args:
            name: its name in the namespace.
            statistic: what is shown of the samples of a period.
            period: the period.
            more: further dimensions of this metric.
        """
        return cloudwatch.Metric(
            namespace=self.namespace,
            metric_name=name,
            dimensions_map={**self.dimensions, **more},
            statistic=statistic,
            period=period,
        )
