"""Rules about what the environment may cost."""

from collections.abc import Iterator

from slipway.config.environment import Environment
from slipway.config.problems import Finding
from slipway.config.rules.registry import environment_notice, environment_rule


@environment_rule
def budget_to_stop_at(environment: Environment) -> Iterator[Finding]:
    """An environment that stops when its budget is spent has a budget."""
    operations = environment.operations
    if operations.at_budget == "stop" and operations.monthly_budget_usd is None:
        message = "`stop` needs a budget"
        yield Finding(("operations", "at_budget"), message, "Add `monthly_budget_usd`, or write notify.")


@environment_rule
def acknowledged_above_maximum(environment: Environment) -> Iterator[Finding]:
    """An acknowledged cost an hour is above `max_usd_per_hour`."""
    operations = environment.operations
    maximum, acknowledged = operations.max_usd_per_hour, operations.acknowledged_usd_per_hour
    if acknowledged is None:
        return
    path = ("operations", "acknowledged_usd_per_hour")
    if maximum is None:
        yield Finding(path, "there is no `max_usd_per_hour` for it to raise", "Add `max_usd_per_hour`, or remove this.")
    elif acknowledged <= maximum:
        message = f"{acknowledged:g} is not above the maximum, which is {maximum:g}"
        yield Finding(path, message, "Remove it, or lower `max_usd_per_hour`.")


@environment_notice
def stop_heard_of(environment: Environment) -> Iterator[Finding]:
    """An environment stops when its budget is spent, and no address learns of it."""
    operations = environment.operations
    if operations.at_budget == "stop" and operations.alarm_email is None:
        message = "no one learns that jobs ended and models stopped, unless they subscribe to the topic by hand"
        yield Finding(("operations", "at_budget"), message, "Add `alarm_email`.")
