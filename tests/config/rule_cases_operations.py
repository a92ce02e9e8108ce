"""The rule cases and notice cases of money."""

from tests.config.rule_cases import Case

MAXIMUM = "operations.max_usd_per_hour"
ACKNOWLEDGED = "operations.acknowledged_usd_per_hour"

OPERATIONS = [
    Case(
        "budget-to-stop-at",
        {"operations.at_budget": "stop"},
        "operations.at_budget",
        "`stop` needs a budget. Add `monthly_budget_usd`, or write notify.",
        {"operations.at_budget": "stop", "operations.monthly_budget_usd": 1},
    ),
    Case(
        "acknowledged-above-maximum",
        {ACKNOWLEDGED: 400},
        ACKNOWLEDGED,
        "there is no `max_usd_per_hour` for it to raise. Add `max_usd_per_hour`, or remove this.",
        {ACKNOWLEDGED: 400, MAXIMUM: 399.99},
    ),
    Case(
        "acknowledged-above-maximum",
        {ACKNOWLEDGED: 99.5, MAXIMUM: 99.5},
        ACKNOWLEDGED,
        "99.5 is not above the maximum, which is 99.5. Remove it, or lower `max_usd_per_hour`.",
        {MAXIMUM: 99.5},
    ),
]

OPERATIONS_NOTICES = [
    Case(
        "stop-heard-of",
        {"operations.monthly_budget_usd": 1, "operations.at_budget": "stop"},
        "operations.at_budget",
        "no one learns that jobs ended and models stopped, unless they subscribe to the topic by hand.",
        {
            "operations.monthly_budget_usd": 1,
            "operations.at_budget": "stop",
            "operations.alarm_email": "ml-platform@example.com",
        },
    ),
]
