"""What an environment costs an hour while it is paused, and when it runs again."""

import re

from slipway.review.cost.model import Cost

# Names of lines in slipway.review.cost: machines, and their volumes. Volumes of stopped hosts of a warm pool stay.
_STOPPED = re.compile(r"(?:volumes of )?(?:queue |inference hosts of |node group (?!core,))")


def paused_usd_per_hour(cost: Cost) -> float:
    """Return what continues to bill by the hour: all but nodes of jobs and hosts of models.

    Args:
        cost: the plan's estimate of the environment.
    """
    return sum(line.idle_usd_per_hour or 0.0 for line in cost.lines if not _STOPPED.match(line.what))


def said_paused(cost: Cost) -> str:
    """Say what a paused environment costs."""
    reserved = any("capacity reservation" in (line.note or "") for line in cost.lines)
    return (
        f"what exists continues to bill about {paused_usd_per_hour(cost):,.2f} USD an hour by list prices{_more(cost)}"
        f"{', and without capacity reservations, which bill on in full' if reserved else ''}"
    )


def said_running(cost: Cost) -> str:
    """Say what a running environment costs."""
    return (
        f"it costs about {cost.idle_usd_per_hour:,.2f} USD an hour by list prices while no job runs, and "
        f"{cost.peak_usd_per_hour:,.2f} at its peak{_more(cost)}"
    )


def _more(cost: Cost) -> str:
    return ", beside what has no known price (`slipway plan` names it)" if cost.unknown else ""
