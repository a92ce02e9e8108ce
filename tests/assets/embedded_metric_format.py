"""What CloudWatch makes of a log line, by the specification of the embedded metric format.

Amazon CloudWatch User Guide, "Specification: Embedded metric format": the root has a metadata object `_aws` with
`Timestamp` and `CloudWatchMetrics`; dimensions are members of the root that are strings, metrics are members that are
numbers or arrays of 100 numbers at most.
"""

import json
from dataclasses import dataclass

UNITS = {"Seconds", "Count", "Percent"}
"""Of CloudWatch's units, those that are used."""


@dataclass(frozen=True)
class Datum:
    """Values of one metric."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...]
    unit: str
    values: tuple[float, ...]


def extracted(line: str) -> list[Datum]:
    """Return the metrics of a log line. A line without a JSON object and metadata has no metrics."""
    try:
        root = json.loads(line)
    except ValueError:
        return []
    if not isinstance(root, dict) or "_aws" not in root:
        return []
    metadata = root["_aws"]
    assert isinstance(metadata["Timestamp"], int)
    data = []
    for directive in metadata["CloudWatchMetrics"]:
        assert 1 <= len(directive["Metrics"]) <= 100
        for names in directive["Dimensions"]:
            assert all(isinstance(root[name], str) and 1 <= len(root[name]) <= 1024 for name in names)
            dimensions = tuple((name, root[name]) for name in names)
            for metric in directive["Metrics"]:
                values = root[metric["Name"]]
                values = values if isinstance(values, list) else [values]
                assert 1 <= len(values) <= 100
                assert all(isinstance(value, int | float) for value in values)
                assert metric["Unit"] in UNITS
                data.append(Datum(directive["Namespace"], metric["Name"], dimensions, metric["Unit"], tuple(values)))
    return data
