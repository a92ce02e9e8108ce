"""The `operations` section: who is notified, and what it may cost."""

from typing import Annotated, Literal

from pydantic import Field

from slipway.config.section import Form, Section

LogRetentionDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653]
"""The retention times that both CloudWatch Logs and ParallelCluster accept, in days."""

# What a browser's <input type=email> takes (WHATWG HTML, valid e-mail address), with a dot in the domain.
_EMAIL_PATTERN = (
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@"
    r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+"
)


class Operations(Section):
    """Alarms, budget and logs of the whole environment."""

    alarm_email: (
        Annotated[str, Form(_EMAIL_PATTERN, "an e-mail address", "ml-platform@example.com", longest=254)] | None
    ) = None
    """Address that gets the alarms and the budget's warnings. AWS asks it to confirm once."""

    monthly_budget_usd: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    """Monthly budget in US dollars for what carries the environment's tag; an alarm at 50, 80 and 100 percent."""

    at_budget: Literal["notify", "stop"] = "notify"
    """What happens when the whole budget is spent. `stop`: training and inference are stopped, too, and `slipway
    resume` starts them again; what exists continues to bill."""

    max_usd_per_hour: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """Most that the environment may cost in US dollars an hour, by list prices, when everything runs that may.
    Synthesis refuses more."""

    acknowledged_usd_per_hour: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    """A higher cost an hour that somebody has accepted, unknown prices among it. Synthesis refuses what grows beyond
    it, too."""

    log_retention_days: LogRetentionDays = 30
    """How long CloudWatch keeps the environment's logs, in days."""
