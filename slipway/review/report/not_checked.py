"""What a plan does not know."""

from slipway.review.plan import Plan
from slipway.review.report.wording import count


def not_checked(plan: Plan) -> tuple[str, ...]:
    """Return what nobody looked at, and what the figures leave out, a sentence each."""
    sentences = list(plan.security.not_checked)
    if plan.comparison:
        sentences += plan.comparison.security.not_checked
        update = plan.comparison.cluster_update
        if update and update.verdict == "not_known":
            sentences += update.lines or ("Nobody could ask ParallelCluster whether it can update the cluster.",)
    if plan.cost.unknown:
        kinds = ", ".join(dict.fromkeys(line.what for line in plan.cost.unknown))
        sentences.append(
            f"The cost is without {count(len(plan.cost.unknown), 'line')} whose price is not known: {kinds}."
        )
    by_use = sum(line.billing == "by_use" for line in plan.cost.lines)
    if by_use:
        verb = "bills" if by_use == 1 else "bill"
        sentences.append(f"{count(by_use, 'line')} {verb} by requests, bytes or seconds that nobody knows beforehand.")
    return tuple(dict.fromkeys(sentences))
