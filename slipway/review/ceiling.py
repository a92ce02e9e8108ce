"""Whether an environment may cost what it costs at its peak: the plan's own estimate against its file's ceiling."""

import math

from slipway.config.operations import Operations
from slipway.config.problems import Finding
from slipway.review.cost.merged import merged
from slipway.review.cost.model import Cost, CostLine

RULE = "cost-ceiling"
"""Name of the rule in messages."""

_NAMED = 3
"""How many of the dearest things a message names."""


def above_ceiling(cost: Cost, operations: Operations) -> Finding | None:
    """Return what is wrong with an environment's peak cost.

    Args:
        cost: `slipway plan`'s estimate of the environment.
        operations: the `operations` section of its file.

    Returns:
        A finding when the peak is above `max_usd_per_hour`, or when it cannot be shown to be below, and nobody has
        acknowledged it; None when the file has no maximum.
    """
    maximum, acknowledged = operations.max_usd_per_hour, operations.acknowledged_usd_per_hour
    # In cents, as the plan prints it.
    peak = round(cost.peak_usd_per_hour, 2)
    if maximum is None or (acknowledged is not None and peak <= acknowledged):
        return None
    if peak <= maximum and not cost.unknown:
        return None
    said = [f"at its peak the environment costs {peak:,.2f} USD an hour by list prices"]
    if peak > maximum:
        said.append(f"the maximum is {maximum:,.2f}")
    if acknowledged is not None:
        said.append(f"somebody has accepted {acknowledged:,.2f}")
    message = f"{', '.join(said)}{_dearest(cost)}{_unknown(cost)}"
    return Finding(("operations", "max_usd_per_hour"), message, _fix(peak, maximum), RULE)


def _fix(peak: float, maximum: float) -> str:
    accepted = f"`acknowledged_usd_per_hour: {max(math.ceil(peak), math.floor(maximum) + 1)}`"
    if peak > maximum:
        return f"Lower the max_count of nodes or tasks, raise `max_usd_per_hour`, or accept it: {accepted}."
    # No maximum is high enough for a price that nobody knows.
    return f"Do without what has no known price, or find the price out and accept it: {accepted}, or more."


def dearest_lines(cost: Cost) -> tuple[CostLine, ...]:
    """Return the few things that cost the most at the peak, the dearest first."""
    priced = [line for line in merged(cost.lines) if line.peak_usd_per_hour]
    return tuple(sorted(priced, key=lambda line: -(line.peak_usd_per_hour or 0.0))[:_NAMED])


def _dearest(cost: Cost) -> str:
    named = [f"{line.what} {line.peak_usd_per_hour:,.2f}" for line in dearest_lines(cost)]
    return f"; most of it: {'; '.join(named)}" if named else ""


def _unknown(cost: Cost) -> str:
    named = [line.what for line in merged(cost.unknown)]
    if not named:
        return ""
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return f"; no price is known of what comes on top: {'; '.join(named[:_NAMED])}{more}"
