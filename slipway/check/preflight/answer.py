"""What a check of the preflight answers."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Status = Literal["passed", "warning", "failed", "not_checked"]
"""`failed`: the deployment would fail. `warning`: it may fail, or cost more than thought. `not_checked`: AWS refused to
tell, or did not answer; never taken for passed."""


class Answer(BaseModel):
    """What one check found out about one thing."""

    model_config = ConfigDict(frozen=True)

    check: str
    """Id of the check, for example `PF06`."""

    status: Status
    subject: str
    """What was looked at, for example `Running On-Demand Trn instances in us-west-2`."""

    message: str
    """What was found, with the arithmetic where there is one; a sentence."""

    fix: str | None = None
    """What to do; every failed answer has it. Commands to run stand on lines of their own, whole, to be copied."""

    stacks: tuple[str, ...] = ()
    """The stacks that need it; empty when all do."""
