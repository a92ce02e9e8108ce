"""Lines put together: a reader wants one line for 37 alarms."""

from itertools import groupby

from slipway.review.cost.model import CostLine


def merged(lines: tuple[CostLine, ...]) -> tuple[CostLine, ...]:
    """Return one line for all that is the same thing at the same price, the dearest while idle first.

    A merged line has the sum of quantities and amounts; stack and resource are those of its first part.

    Args:
        lines: of one or more stacks.
    """
    parts = [list(group) for _, group in groupby(sorted(lines, key=_key), key=_key)]
    return tuple(sorted((_together(group) for group in parts), key=_dearest_first))


def _key(line: CostLine) -> tuple[str, ...]:
    return (line.billing, line.what, line.item or "", line.note or "")


def _together(lines: list[CostLine]) -> CostLine:
    first = lines[0]
    if len(lines) == 1:
        return first
    has_price = first.billing == "priced"
    return first.model_copy(
        update={
            "idle_quantity": sum(line.idle_quantity for line in lines),
            "peak_quantity": sum(line.peak_quantity for line in lines),
            "idle_usd_per_hour": sum(line.idle_usd_per_hour or 0.0 for line in lines) if has_price else None,
            "peak_usd_per_hour": sum(line.peak_usd_per_hour or 0.0 for line in lines) if has_price else None,
        }
    )


def _dearest_first(line: CostLine) -> tuple[float, float, str]:
    return (-(line.idle_usd_per_hour or 0.0), -(line.peak_usd_per_hour or 0.0), line.what)
