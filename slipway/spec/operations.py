"""The `operations` section: who is told, and what it may cost."""

from typing import Annotated, Literal

from pydantic import Field

from slipway.spec.section import Form, Section

LogRetentionDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653]
"""The retention times that both CloudWatch Logs and ParallelCluster accept, in days."""


class Operations(Section):
    """Alarms, budget and logs of the whole environment."""

    alarm_email: (
        Annotated[str, Form(r"[^@\s]+@[^@\s]+\.[^@\s]+", "an e-mail address", "ml-platform@example.com")] | None
    ) = None
    """Address that is told about alarms and the budget. AWS asks it to confirm once."""

    monthly_budget_usd: Annotated[int, Field(ge=1)] | None = None
    """Monthly budget in US dollars for what carries the environment's tag; an alarm at 50, 80 and 100 percent."""

    log_retention_days: LogRetentionDays = 30
    """How long CloudWatch keeps the environment's logs, in days."""
