"""The two assemblies of a plan: what is planned, and what it is compared with."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from slipway.assembly.synthesis import OWN_PROGRAMS, Synthesis, SynthFailedError, start_synthesis
from slipway.bundle import BUNDLE
from slipway.errors import FailedError
from slipway.project import PROJECT
from slipway.review import revisions
from slipway.review.base_packages import programs_of
from slipway.review.errors import NotPlannedError

_REQUIREMENTS = "requirements.txt"


@dataclass(frozen=True)
class Question:
    """What the user wants planned."""

    environment: str | None = None
    """A name in environments/, or a file that ends in .yaml; an assembly may be planned without."""

    assembly: Path | None = None
    """Cloud assembly of the environment that is there already; it is synthesized otherwise."""

    base: str | None = None
    """Git revision to compare with."""

    against: Path | None = None
    """Cloud assembly to compare with, instead of a revision."""

    drift: bool = False
    """Whether CloudFormation is asked what was changed outside of it."""


@dataclass(frozen=True)
class Base:
    """What is compared with."""

    title: str
    """The revision or the folder."""

    assembly: Path | None
    """None when the base does not have the environment: everything is new."""

    notes: tuple[str, ...] = ()
    """What to know about it, a sentence each."""


@dataclass(frozen=True)
class BaseAndHead:
    """What is planned, and what it is compared with."""

    title: str
    """The revision or the folder that is planned."""

    assembly: Path
    """Its cloud assembly."""

    base: Base | None
    """None when there is nothing to compare with."""

    not_compared: str | None = None
    """Why there is no base though one was asked for, a sentence."""


def progress(text: str) -> None:
    """Say what goes on, beside what the command prints."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def synthesized(question: Question, directory: Path) -> Iterator[Callable[[], BaseAndHead]]:
    """Start to synthesize what is not there yet, both sides side by side; whatever still runs in the end is stopped.

    Args:
        question: what the user wants planned.
        directory: folder of this plan; what is written there again is removed first.

    Yields:
        A function that waits for the assemblies and returns them. It raises NotPlannedError when what is planned does
        not synthesize, with what both sides say. A base that does not is none: a change that fixes it can be planned.

    Raises:
        NotPlannedError: Git does not know the base.
    """
    commit = revisions.commit_of(PROJECT, question.base) if question.base else ""
    directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as ends:
        synths: dict[str, Synthesis] = {}

        def start(side: str, environment: str, project: Path, folder: Path, programs: Path = OWN_PROGRAMS) -> Path:
            shutil.rmtree(directory / side, ignore_errors=True)
            synths[side] = start_synthesis(environment, folder, directory / f"{side}.log", project, programs)
            ends.callback(synths[side].stop)
            return directory / side

        if question.assembly:
            title, assembly = str(question.assembly), question.assembly
        else:
            title = revisions.work_tree_name(PROJECT)
            assembly = start("head", str(question.environment), PROJECT, directory / "head")
        base = Base(str(question.against), question.against) if question.against else None
        if question.base:
            base = _base(question, commit, start, lambda: ends.enter_context(revisions.files_of(PROJECT, commit)))
        if synths:
            progress(f"synthesizing {' and '.join(_what(side, question) for side in synths)}")
        yield lambda: _waited(synths, BaseAndHead(title, assembly, base))


def _what(side: str, question: Question) -> str:
    return str(question.environment) if side == "head" else f"the same at {question.base}"


def _base(
    question: Question, commit: str, start: Callable[[str, str, Path, Path, Path], Path], lay_out: Callable[[], Path]
) -> Base:
    title = f"{question.base} ({commit})"
    file = environment_file(str(question.environment))
    if file is None or any(revisions.file_at(PROJECT, commit, name) is None for name in (file, "cdk.json")):
        return Base(title, None, (f"{question.base} has no {file or question.environment}: everything is new.",))
    copy = lay_out()
    programs, notes = _programs_and_notes(commit, title)
    assembly = start("base", str(copy / file), copy, copy.parent / "assembly", programs)
    return Base(title, assembly, notes)


def environment_file(environment: str) -> str | None:
    """Return where an environment's file is in the project; none for a file that is elsewhere."""
    if not environment.endswith(".yaml"):
        return f"environments/{environment}.yaml"
    file, project = Path(environment).resolve(), PROJECT.resolve()
    return file.relative_to(project).as_posix() if file.is_relative_to(project) else None


def _programs_and_notes(commit: str, title: str) -> tuple[Path, tuple[str, ...]]:
    """Return where the Python of the base is, and what to know about it."""
    here = PROJECT / _REQUIREMENTS
    there = revisions.file_at(PROJECT, commit, _REQUIREMENTS) or b""
    # By line: Git may check files out with other line ends than it keeps.
    if not here.is_file() or there.splitlines() == here.read_bytes().splitlines():
        return OWN_PROGRAMS, ()
    failed = ""
    # Slipway's own checkout has its code in the revision. Another repository names it among the packages.
    if PROJECT != BUNDLE:
        progress(f"installing the packages of {title}")
        try:
            return programs_of(there), ()
        except FailedError as error:
            failed = f" {error}"
    return OWN_PROGRAMS, (
        f"{title} has another {_REQUIREMENTS}: it was synthesized with the packages that are installed now, so "
        f"what other versions of them change is not in the comparison.{failed}",
    )


def _waited(synths: dict[str, Synthesis], sides: BaseAndHead) -> BaseAndHead:
    problems = {}
    for side, synthesis in synths.items():
        try:
            # Findings are part of the plan.
            synthesis.wait(despite_findings=True)
            if side == "base" and sides.base and sides.base.assembly:
                # Its own code wrote it elsewhere, and has ended.
                shutil.move(synthesis.directory, sides.base.assembly)
        except SynthFailedError as failure:
            title = sides.base.title if side == "base" and sides.base else sides.title
            problems[side] = f"{title} does not synthesize: {failure}"
    if "head" in problems:
        raise NotPlannedError("\n".join(problems.values()))
    if problems and sides.base:
        progress(problems["base"])
        reason = f"{sides.base.title} does not synthesize, so nobody knows what this changes: it is planned alone."
        return replace(sides, base=None, not_compared=" ".join((reason, *sides.base.notes)))
    return sides
