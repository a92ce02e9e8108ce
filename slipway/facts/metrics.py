"""What services and our own scripts send to CloudWatch: names, dimensions, units, and what a dimension's value is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from slipway.facts.rows import FrozenList, FrozenMapping, Row, Text, raw_rows, read_file

MetricKind = Literal["counter", "gauge", "parts", "duration"]
"""`counter`: what was added since the last sample. `gauge`: a value of the whole thing at a time. `parts`: a value at a
time of each of its parts, which add up within one sample's time only. `duration`: a distribution."""


class MetricSetting(BaseModel):
    """What must be in the template before a metric has samples.

    Attributes:
        type: Resource type of which one must have the setting.
        property: Dotted path in its properties, with indexes of lists.
        value: What must stand there; None when anything will do.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    type: Text
    property: Text
    value: str | bool | None


class MetricBound(BaseModel):
    """A bound of a metric that a resource sets.

    Attributes:
        dimension: The dimension that names the resource.
        attribute: Property of that resource with the bound, or key of one of its `LoadBalancerAttributes`.
        factor: What the property's value is multiplied by to get the metric's unit.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    dimension: Text
    attribute: Text
    factor: int


class Metric(Row):
    """Metrics of one namespace that have everything but their names in common.

    Attributes:
        namespace: CloudWatch namespace.
        names: Their names.
        dimensions: Every set of dimensions under which they are published; one dimension more is another metric.
        kind: What a sample is.
        unit: CloudWatch unit; None when it is published without one, or is not known.
        trouble: The side on which a value means trouble; None when neither does.
        heartbeat: Whether it is sent for as long as the thing lives: silence is trouble then.
        every_seconds: Seconds between two samples.
        most: Largest value of a sample, where there is one.
        least_of: The resource's property that is the smallest value.
        most_of: The resource's property that is the largest value.
        needs: What must be switched on in the template.
        alarmed: Dimensions that name resources which should not be without an alarm on it.
        alarmed_where: Dotted paths of such a resource's properties and what must stand there.
    """

    namespace: Text
    names: FrozenList[Text]
    dimensions: FrozenList[FrozenList[Text]]
    kind: MetricKind
    unit: str | None
    trouble: Literal["above", "below"] | None = None
    heartbeat: bool = False
    every_seconds: int = 60
    most: float | None = None
    least_of: MetricBound | None = None
    most_of: MetricBound | None = None
    needs: MetricSetting | None = None
    alarmed: FrozenList[Text] = ()
    alarmed_where: FrozenMapping[str] = Field(default_factory=lambda: MappingProxyType({}))

    @property
    def greatest(self) -> float | None:
        """Largest value of a sample that needs no look at a resource; None when there is none."""
        return 100.0 if self.unit == "Percent" else self.most


class MetricDimension(Row):
    """What the value of a dimension is.

    Attributes:
        namespace: CloudWatch namespace.
        dimension: Name of the dimension.
        type: Resource type that it names.
        attribute: What of the resource: an attribute of `Fn::GetAtt`; empty for what `Ref` returns.
        property: Dotted path of the property that holds the same text, where the template writes a name.
        values: All values, where it names no resource.
    """

    namespace: Text
    dimension: Text
    type: Text | None = None
    attribute: str = ""
    property: Text | None = None
    values: FrozenList[Text] = ()


@cache
def metrics() -> Mapping[tuple[str, str], Metric]:
    """Return all metrics by namespace and name."""
    rows = [Metric.model_validate(row) for row in raw_rows(read_file("metrics.yaml"))]
    return MappingProxyType({(row.namespace, name): row for row in rows for name in row.names})


@cache
def metric_dimensions() -> Mapping[tuple[str, str], MetricDimension]:
    """Return what dimensions are, by namespace and dimension."""
    rows = [MetricDimension.model_validate(row) for row in raw_rows(read_file("metric_dimensions.yaml"))]
    return MappingProxyType({(row.namespace, row.dimension): row for row in rows})
