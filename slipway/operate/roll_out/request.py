"""What the command line asks for, and the steps that it takes."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from slipway.errors import RefusedError
from slipway.operate.roll_out import state as states
from slipway.operate.roll_out.service import InferenceStack
from slipway.operate.roll_out.state import Pin, State, Step


@dataclass(frozen=True)
class Request:
    """What the command line asks for.

    Attributes:
        target: `MODEL/VERSION`, or `MODEL` where no version is needed.
        back: serve the version that was served before.
        canary: how many of a hundred requests go to a candidate.
        promote: serve the candidate's version, and end the candidate.
        abort: end the candidate.
    """

    target: str | None = None
    back: bool = False
    canary: int | None = None
    promote: bool = False
    abort: bool = False

    def __post_init__(self) -> None:
        """Refuse what contradicts itself.

        Raises:
            RefusedError: more than one thing is asked for, or a version that is not needed.
        """
        asked = [f"--{name}" for name in ("back", "promote", "abort") if getattr(self, name)]
        asked += ["--canary"] if self.canary is not None else []
        if len(asked) > 1:
            raise RefusedError(f"say one of {', '.join(asked)}. Nothing was changed")
        target = (self.target or "").strip("/")
        if target.count("/") > 1:
            raise RefusedError(f"{self.target!r} is not a version: write MODEL/VERSION, for example tanuki-8b/v1")
        if "/" in target and asked and self.canary is None:
            raise RefusedError(f"say either a version or {asked[0]}; the model's name may stand with it")

    @property
    def model(self) -> str | None:
        """The model's name, where it is said."""
        return (self.target or "").strip("/").partition("/")[0] or None

    @property
    def prefix(self) -> str | None:
        """The version with its model, where it is said."""
        target = (self.target or "").strip("/")
        return target if "/" in target else None

    @property
    def changes_nothing(self) -> bool:
        """Whether it only asks what is served."""
        return not (self.prefix or self.back or self.promote or self.abort or self.canary is not None)

    def steps(self, state: State, pin: Pin) -> list[Step]:
        """Return the steps from what is served to what is asked for.

        Raises:
            RefusedError: it makes no sense now.
        """
        if self.back:
            return states.back(state, pin)
        if self.promote:
            return states.promote(state)
        if self.abort:
            return states.abort(state)
        if self.canary is not None:
            return states.canary(state, self.prefix and pin(self.prefix), self.canary)
        return states.serve(state, pin(str(self.prefix)))


def chosen_model(request: Request, stack: InferenceStack, fixed: Container[str | None]) -> str:
    """Return the model that is meant.

    Args:
        request: what is asked for.
        stack: the deployed stack.
        fixed: names of models that serve a prefix of the environment file.

    Raises:
        RefusedError: there is no such model, there are several, or it has no canary.
    """
    known = ", ".join(sorted(stack.services))
    if request.model in fixed:
        raise RefusedError(
            f"{request.model} serves the fixed prefix of the environment file: take `prefix` out there, deploy, and "
            f"then roll versions out. Models that are rolled out: {known}"
        )
    if request.model is not None and request.model not in stack.services:
        raise RefusedError(f"{stack.name} serves no model {request.model!r} that is rolled out; it has {known}")
    if request.model is None and len(stack.services) > 1:
        raise RefusedError(f"say which model: {known}")
    model = request.model or known
    if (request.canary is not None or request.promote or request.abort) and not stack.services[model].has_canary:
        raise RefusedError(
            f"{model} has no canary: write `canary: true` for it in the environment file, and deploy. Nothing was "
            "changed"
        )
    return model
