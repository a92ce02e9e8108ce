"""The verdict: what of a change will fail or lose data, and what to do instead."""

from dataclasses import dataclass

from slipway.review.plan import Plan
from slipway.review.plan import Verdict as ClusterVerdict
from slipway.review.report.causes import causes, own_path
from slipway.review.report.wording import EFFECT_WORDS, count

TITLE = "This will fail or lose data"
"""Heading of the verdict."""

_FEW = 8
"""How many losses are named one by one."""


@dataclass(frozen=True)
class Harm:
    """Something that fails or is lost.

    Attributes:
        what: what happens, a sentence without its full stop.
        instead: what to do instead, in whole sentences.
        section: id of the page's section that says more.
    """

    what: str
    instead: str
    section: str


_FAILURES: dict[ClusterVerdict, Harm] = {
    "cannot_update": Harm(
        "The deployment fails: ParallelCluster refuses the update of the cluster",
        "Revert the change, rebuild the cluster, or build another environment beside this one.",
        "cluster",
    ),
    "nodes_must_stop": Harm(
        "The deployment fails while nodes of the cluster run",
        "Stop them first, which ends their jobs; then deploy.",
        "cluster",
    ),
}
"""By ParallelCluster's verdict; the others let the deployment through."""


def is_refused(plan: Plan) -> bool:
    """Return whether the deployment cannot succeed, whatever is done before: it has no duration then."""
    update = plan.comparison.cluster_update if plan.comparison else None
    return update is not None and update.verdict == "cannot_update"


def harms(plan: Plan) -> tuple[Harm, ...]:
    """Return what fails, then what loses data; nothing without a comparison."""
    if plan.comparison is None:
        return ()
    update = plan.comparison.cluster_update
    failure = _FAILURES.get(update.verdict) if update else None
    lost = [cause for cause in causes(plan.comparison.changes) if cause.loses_data]
    more = len(lost) - _FEW
    return (
        *((failure,) if failure else ()),
        *(
            Harm(
                f"{own_path(cause.change)} is {EFFECT_WORDS[cause.change.effect]} and loses data"
                + (f"; {cause.following}" if cause.follow else ""),
                "Back up its data first, or revert the change.",
                f"stack-{cause.change.stack}",
            )
            for cause in lost[:_FEW]
        ),
        *(
            (
                Harm(
                    f"{count(more, 'more resource')} {'loses' if more == 1 else 'lose'} data",
                    "See the list.",
                    "stacks",
                ),
            )
            if more > 0
            else ()
        ),
    )
