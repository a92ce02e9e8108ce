"""What people are told after the budget has stopped their environment, or has only tried the topic."""

from collections.abc import Iterator, Sequence

from slipway_pause.part import Outcome

_LONGEST_SUBJECT = 100
# What goes on billing, in the words of docs/budget.md.
_STANDS = (
    "file systems, head and login nodes, the database, NAT gateways, load balancers, Kubernetes' core nodes, capacity "
    "reservations"
)


def subject(environment: str, outcomes: Sequence[Outcome]) -> str:
    """Return the message's subject, short enough for Amazon SNS."""
    state = "NOT all of it is stopped" if any(outcome.failed for outcome in outcomes) else "stopped"
    return f"Slipway {environment}: budget spent, {state}"[:_LONGEST_SUBJECT]


def text(environment: str, outcomes: Sequence[Outcome], budget_said: str) -> str:
    """Return the message: what was stopped, what was not, what goes on billing, how to start again.

    Args:
        environment: its name.
        outcomes: what became of its parts.
        budget_said: AWS Budgets' own message.
    """
    return "\n".join(_lines(environment, outcomes, budget_said))


def ignored_subject(environment: str) -> str:
    """Return the subject for the message with which AWS Budgets tries the topic."""
    return f"Slipway {environment}: budget connected, nothing stopped"[:_LONGEST_SUBJECT]


def ignored_text(environment: str, budget_said: str) -> str:
    """Return what people are told of the message with which AWS Budgets tries the topic.

    Args:
        environment: its name.
        budget_said: the message.
    """
    return (
        f"The topic that stops environment {environment} got the message with which AWS Budgets tries it when a budget "
        "is deployed. Nothing was stopped. If nothing was deployed, look at the environment's budget in AWS Budgets. "
        f"To stop the environment by hand: slipway pause -e {environment}\n\nThe message:\n{budget_said}"
    )


def _lines(environment: str, outcomes: Sequence[Outcome], budget_said: str) -> Iterator[str]:
    yield f"The monthly budget of environment {environment} is spent."
    failed = [outcome for outcome in outcomes if outcome.failed]
    stopped = [outcome for outcome in outcomes if not outcome.failed]
    if failed:
        yield "\nNOT stopped, and billing in full (it is tried twice more; then stop it: `slipway docs budget`):"
        yield from (f"- {outcome}" for outcome in failed)
    if stopped:
        yield "\nStopped:"
        yield from (f"- {outcome}" for outcome in stopped)
        yield "Jobs that ran end with their nodes; batch jobs wait in the queue and begin anew after `slipway resume`."
    if not outcomes:
        yield "\nNothing ran that could be stopped."
    yield f"\nWhat stands goes on billing: {_STANDS}."
    yield f"How much that is: slipway plan -e {environment} (its idle cost). No more of it: slipway destroy."
    yield f"Start again what was stopped: slipway resume -e {environment}"
    yield "After that nothing stops it again before the next month, unless the budget is raised and deployed."
    if budget_said:
        yield f"\nAWS Budgets said:\n{budget_said}"
