"""The metrics page of a stand-in engine: the recorded page of the real one, with the stand-in's own counts."""

import re
from collections.abc import Mapping
from functools import cache

from slipway import facts
from tests.assembly import PROJECT

_SAMPLE_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


def metrics_text(engine: facts.InferenceEngine, counts: Mapping[str, int]) -> str:
    """Return the page in Prometheus' text format.

    Args:
        engine: whose page.
        counts: values by the neutral names of the engine's row; where several samples have a name, the first one has
            the value and the others are 0.
    """
    values = {engine.metrics[neutral]: value for neutral, value in counts.items()}
    lines = list[str]()
    for line in _recorded(engine.name):
        name = _SAMPLE_NAME.match(line)
        if name and name[0] in values:
            lines.append(f"{line.rpartition(' ')[0]} {values[name[0]]}")
            values[name[0]] = 0
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


@cache
def _recorded(engine: str) -> tuple[str, ...]:
    return tuple((PROJECT / "tests" / "assets" / "engine_metrics" / f"{engine}.txt").read_text().splitlines())
