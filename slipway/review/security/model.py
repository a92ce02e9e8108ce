"""What scanners say of an environment."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class SecurityFinding(BaseModel):
    """A rule that a resource breaks."""

    model_config = ConfigDict(frozen=True)

    tool: str
    """Who says so, for example `cdk-nag AwsSolutions` or `cluster rules`."""

    rule: str
    severity: Literal["error", "warning"]
    stack: str
    resource: str
    """Logical id."""

    message: str


class Acknowledgement(BaseModel):
    """A finding that the environment accepts, with the reason that is written on the resource."""

    model_config = ConfigDict(frozen=True)

    rule: str
    stack: str
    resource: str
    reason: str


class Security(BaseModel):
    """Everything that the scanners say, and what they could not look at."""

    model_config = ConfigDict(frozen=True)

    findings: tuple[SecurityFinding, ...] = ()
    acknowledgements: tuple[Acknowledgement, ...] = ()
    not_checked: tuple[str, ...] = ()
    """What nobody looked at and why, a sentence each."""

    not_run: tuple[str, ...] = ()
    """Scanners that the synth of this assembly did not run: no findings of theirs mean nothing."""


class SecurityDelta(BaseModel):
    """What another version of an environment has more and less of."""

    model_config = ConfigDict(frozen=True)

    new: tuple[SecurityFinding, ...] = ()
    gone: tuple[SecurityFinding, ...] = ()
    new_acknowledgements: tuple[Acknowledgement, ...] = ()
    gone_acknowledgements: tuple[Acknowledgement, ...] = ()
    not_checked: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()
    """Scanners that did not run on both sides: what differs for them is not known."""
