"""What is served of a model, and the updates of the stack that lead from there to something else.

A state is only in the stack's parameters, and the steps follow from the state: whoever was interrupted asks for the
same again, and what was done already is not a step any more. The order keeps one promise: requests go to a candidate
only while its service has its version running.

A version is `PREFIX@sha256:DIGEST`, with the SHA-256 of its manifest, which names every file with its own. Hosts and
later roll-outs take no other manifest. Versions of earlier roll-outs are a prefix alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from slipway.errors import RefusedError

WHOLE = 100
"""Weight of a service that has all requests."""

_PIN = "@sha256:"

Pin = Callable[[str], str]
"""Adds to a version the SHA-256 of the manifest that it has now, where it has none."""


def pinned(prefix: str, digest: str) -> str:
    """Return a version with the SHA-256 of its manifest, in hexadecimal digits."""
    return f"{prefix}{_PIN}{digest}"


def prefix_of(version: str | None) -> str | None:
    """Return a version's folder of the bucket."""
    return version and version.partition(_PIN)[0]


def digest_of(version: str | None) -> str | None:
    """Return the SHA-256 of a version's manifest; none where no roll-out has pinned it."""
    return (version or "").partition(_PIN)[2] or None


@dataclass(frozen=True)
class State:
    """What is served of one model.

    Attributes:
        served: version that is served; none before the first roll-out.
        previous: version that was served before.
        candidate: version that is served beside it; none without a canary.
        percent: how many of a hundred requests go to the candidate.
    """

    served: str | None
    previous: str | None
    candidate: str | None = None
    percent: int = 0

    def __str__(self) -> str:
        """Say it in a line."""
        served, candidate = prefix_of(self.served) or "nothing", prefix_of(self.candidate)
        if self.candidate is None and not self.percent:
            return f"{served} is served"
        return f"{served} is served with {WHOLE - self.percent} % of the requests, {candidate} with {self.percent} %"


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


def serve(state: State, version: str) -> list[Step]:
    """Return the steps that serve a version; a candidate goes on beside it.

    Raises:
        RefusedError: it is the candidate's, or it is not what it was.
    """
    if version == state.served:
        return []
    _require_unchanged(state, version)
    prefix = prefix_of(version)
    if prefix == prefix_of(state.served):
        doing = f"pin the manifest of {prefix}: hosts and tasks are replaced"
        return [Step(state, replace(state, served=version), doing)]
    if prefix == prefix_of(state.candidate):
        raise RefusedError(
            f"{prefix} is the candidate: --promote serves it and ends the candidate, --abort ends it. "
            "Nothing was changed"
        )
    doing = f"serve {prefix} instead of {prefix_of(state.served) or 'nothing'}: hosts and tasks are replaced"
    return [Step(state, replace(state, served=version, previous=state.served), doing)]


def _require_unchanged(state: State, version: str) -> None:
    for seen in (state.served, state.previous, state.candidate):
        if prefix_of(seen) == prefix_of(version) and digest_of(seen) not in {None, digest_of(version)}:
            raise RefusedError(
                f"the manifest of {prefix_of(version)} has SHA-256 {digest_of(version)}, and {digest_of(seen)} was "
                "rolled out: it was replaced since. Find out by whom, and publish another version. Nothing was changed"
            )


def back(state: State, pin: Pin) -> list[Step]:
    """Return the steps that serve what was served before.

    Raises:
        RefusedError: there is nothing to go back to, or it is the candidate's.
    """
    if state.previous is None:
        raise RefusedError("no version was served before this one: there is nothing to go back to")
    return serve(state, pin(state.previous))


def canary(state: State, version: str | None, percent: int) -> list[Step]:
    """Return the steps that send a part of the requests to a candidate.

    Args:
        state: what is served.
        version: the candidate's; none for the one that it has.
        percent: how many of a hundred requests.

    Raises:
        RefusedError: nothing is served that it could stand beside, or it is not said which version.
    """
    wanted = version or state.candidate
    if wanted is None:
        raise RefusedError("there is no candidate: say which version, MODEL/VERSION. Nothing was changed")
    if state.served is None:
        raise RefusedError(f"nothing is served yet: roll {prefix_of(wanted)} out without --canary. Nothing was changed")
    _require_unchanged(state, wanted)
    prefix = prefix_of(wanted)
    if prefix == prefix_of(state.served):
        left = prefix == prefix_of(state.candidate)
        rest = ", and --promote ends the one that is left of its promotion" if left else ""
        raise RefusedError(f"{prefix} is served already: a candidate is another version{rest}. Nothing was changed")
    steps: list[Step] = []
    if wanted != state.candidate:
        if state.percent:
            steps.append(_weigh(state, 0))
            state = steps[-1].after
        instead = f" instead of {prefix_of(state.candidate)}" if state.candidate else ""
        doing = f"start {prefix} as the candidate{instead}, on a host of its own and without requests"
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
        new, old = prefix_of(state.candidate), prefix_of(state.served)
        doing = f"serve {new} instead of {old}, while the candidate goes on"
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
    doing = f"end the candidate {prefix_of(rest.candidate)} and its host"
    return [*steps, Step(rest, replace(rest, candidate=None), doing)]


def _weigh(state: State, percent: int) -> Step:
    doing = f"send {percent} % of the requests to the candidate {prefix_of(state.candidate)}"
    return Step(state, replace(state, percent=percent), doing)
