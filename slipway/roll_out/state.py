"""What is served of a model, and the updates of the stack that lead from there to something else.

A state is only in the stack's parameters, and the steps follow from the state: whoever was interrupted asks for the
same again, and what was done already is no step any more. The order keeps one promise: requests go to a candidate
only while its service has its version running.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from slipway.roll_out.errors import RefusedError

WHOLE = 100
"""Weight of a service that has all requests."""


@dataclass(frozen=True)
class State:
    """What is served of one model.

    Attributes:
        served: prefix that is served; none before the first roll-out.
        previous: prefix that was served before.
        candidate: prefix that is served beside it; none without a canary.
        percent: how many of a hundred requests go to the candidate.
    """

    served: str | None
    previous: str | None
    candidate: str | None = None
    percent: int = 0

    def __str__(self) -> str:
        """Say it in a line."""
        served = self.served or "nothing"
        if self.candidate is None and not self.percent:
            return f"{served} is served"
        return (
            f"{served} is served with {WHOLE - self.percent} % of the requests, {self.candidate} with {self.percent} %"
        )


@dataclass(frozen=True)
class Step:
    """One update of the stack.

    Attributes:
        before: what was served.
        after: what is served when it is done.
        doing: what it does, as a user reads it.
    """

    before: State
    after: State
    doing: str

    @property
    def starts(self) -> str | None:
        """The version whose tasks it starts."""
        if self.after.served != self.before.served:
            return self.after.served
        return self.after.candidate if self.after.candidate != self.before.candidate else None

    @property
    def changes(self) -> Mapping[str, str | int | None]:
        """What changes, by the name of the field."""
        return {name: value for name, value in vars(self.after).items() if getattr(self.before, name) != value}


def serve(state: State, prefix: str) -> list[Step]:
    """Return the steps that serve a prefix; a candidate goes on beside it.

    Raises:
        RefusedError: it is the candidate's.
    """
    if prefix == state.served:
        return []
    if prefix == state.candidate:
        raise RefusedError(
            f"{prefix} is the candidate: --promote serves it and ends the candidate, --abort ends it. "
            "Nothing was changed"
        )
    doing = f"serve {prefix} instead of {state.served or 'nothing'}: hosts and tasks are replaced"
    return [Step(state, replace(state, served=prefix, previous=state.served), doing)]


def back(state: State) -> list[Step]:
    """Return the steps that serve what was served before.

    Raises:
        RefusedError: there is nothing to go back to, or it is the candidate's.
    """
    if state.previous is None:
        raise RefusedError("no version was served before this one: there is nothing to go back to")
    return serve(state, state.previous)


def canary(state: State, prefix: str | None, percent: int) -> list[Step]:
    """Return the steps that send a part of the requests to a candidate.

    Args:
        state: what is served.
        prefix: the candidate's version; none for the one that it has.
        percent: how many of a hundred requests.

    Raises:
        RefusedError: nothing is served that it could stand beside, or it is not said which version.
    """
    wanted = prefix or state.candidate
    if wanted is None:
        raise RefusedError("there is no candidate: say which version, MODEL/VERSION. Nothing was changed")
    if state.served is None:
        raise RefusedError(f"nothing is served yet: roll {wanted} out without --canary. Nothing was changed")
    if wanted == state.served:
        rest = ", and --promote ends the one that is left of its promotion" if wanted == state.candidate else ""
        raise RefusedError(f"{wanted} is served already: a candidate is another version{rest}. Nothing was changed")
    steps: list[Step] = []
    if wanted != state.candidate:
        if state.percent:
            steps.append(_weigh(state, 0))
            state = steps[-1].after
        instead = f" instead of {state.candidate}" if state.candidate else ""
        doing = f"start {wanted} as the candidate{instead}, on a host of its own and without requests"
        steps.append(Step(state, replace(state, candidate=wanted), doing))
        state = steps[-1].after
    return [*steps, _weigh(state, percent)] if percent != state.percent else steps


def promote(state: State) -> list[Step]:
    """Return the steps after which the candidate's version is served, and there is no candidate.

    Raises:
        RefusedError: there is no candidate.
    """
    if state.candidate is None:
        raise RefusedError("there is no candidate to promote: --canary PERCENT starts one. Nothing was changed")
    steps: list[Step] = []
    if state.candidate != state.served:
        doing = f"serve {state.candidate} instead of {state.served}, while the candidate goes on"
        steps.append(Step(state, replace(state, served=state.candidate, previous=state.served), doing))
        state = steps[-1].after
    return [*steps, *_end(state)]


def abort(state: State) -> list[Step]:
    """Return the steps after which there is no candidate.

    Raises:
        RefusedError: there is none.
    """
    if state.candidate is None and not state.percent:
        raise RefusedError("there is no candidate. Nothing was changed")
    return _end(state)


def _end(state: State) -> list[Step]:
    """Take the requests off first: a service without tasks answers none."""
    steps = [_weigh(state, 0)] if state.percent else []
    rest = steps[-1].after if steps else state
    return [*steps, Step(rest, replace(rest, candidate=None), f"end the candidate {rest.candidate} and its host")]


def _weigh(state: State, percent: int) -> Step:
    return Step(
        state, replace(state, percent=percent), f"send {percent} % of the requests to the candidate {state.candidate}"
    )
