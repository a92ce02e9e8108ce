"""Tells apart what each changed line of an environment file causes, by synthesizing the base with that change alone.

Nothing is guessed from names: a key may reach any stack (a file system's capacity moves alarms and the dashboard), and
two keys may only matter together. So each key's change is applied to the base's file by itself, that is synthesized
with the work tree's code, and compared with the base the way the whole change is. What the whole change does and no
part does alone is given as `together`; a key that cannot change alone, because the file would be invalid, is in there
too. A part is only said to cause what the whole change does: what another line takes back is not shown.

The other way, the whole change without one key, would say what a key adds to the others, and show nothing for two keys
that cause the same. Deriving it from the code, from which section feeds which stack, would be quick and wrong wherever
a value travels.

It costs a synth for each key when several differ, at most MOST_LINES, side by side; with one key, the whole change is
its change. When other files of the project differ as well, one more synth of the base's file with the work tree's code
tells what those cause.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from slipway.assembly.process_groups import end_all
from slipway.assembly.synthesis import SynthFailedError, synthesize
from slipway.config.document import Document, read_document
from slipway.config.loader import load_environment
from slipway.config.problems import InvalidEnvironment
from slipway.config.unreadable import UnreadableDocument
from slipway.project import PROJECT
from slipway.review import revisions
from slipway.review.base_and_head import BaseAndHead, Question, environment_file, progress
from slipway.review.lines.consequences import Side, consequences, together
from slipway.review.lines.difference import Key, KeyChange, key_changes, with_changes
from slipway.review.plan import ChangedLine, ChangedLines, Comparison, Consequences, Plan

MOST_LINES = 8
"""How many changed keys are told apart. Each takes a synth: 6 seconds of processor time."""

_MOST_AT_ONCE = 4
"""A synth takes a core and 400 MB."""


@dataclass(frozen=True)
class Lines:
    """The changed lines of a file, and the synths of each change alone that are under way."""

    file: str
    keys: tuple[KeyChange, ...]
    compared: BaseAndHead
    directory: Path
    reference: Future[Side] | None
    """The base's file with the work tree's code. None if only the environment file changed."""

    parts: tuple[Future[Side], ...]
    """By key; empty when they are not told apart, or one key is the whole change."""

    def told(self, plan: Plan) -> Plan:
        """Return the plan with what each line causes."""
        whole = plan.comparison
        if whole is None or not self.keys:
            return plan
        if len(self.keys) > MOST_LINES:
            reason = f"{len(self.keys)} keys differ: the plan tells apart what each causes for at most {MOST_LINES}."
            lines = self._lines(tuple((None, None) for _ in self.keys), not_told_apart=reason)
        else:
            lines = self._told_apart(plan, whole)
        return plan.model_copy(update={"comparison": whole.model_copy(update={"lines": lines})})

    def _told_apart(self, plan: Plan, whole: Comparison) -> ChangedLines:
        assert self.compared.base
        assert self.compared.base.assembly
        base = Side.of(self.compared.base.assembly)
        head = Side.of(self.compared.assembly)
        try:
            start = self.reference.result() if self.reference else base
        except (SynthFailedError, InvalidEnvironment) as failure:
            reason = f"With the code of the work tree, the file of the base does not synthesize: {_said(failure)}"
            return self._lines(tuple((None, None) for _ in self.keys), not_told_apart=reason)
        causes = partial(consequences, whole=whole)
        other = causes(base, start, directory=self.directory / "update-other-files") if self.reference else None
        other = None if other and other.is_empty else other
        alone: list[tuple[Consequences | None, str | None]] = []
        for number, key in enumerate(self.keys):
            try:
                part = self.parts[number].result() if self.parts else head
                alone.append((causes(start, part, directory=self.directory / f"update-{number}"), None))
            except (SynthFailedError, InvalidEnvironment) as failure:
                alone.append((None, f"{key.path} cannot change alone: {_said(failure)}"))
        known = [one for one in (other, *(found for found, _ in alone)) if one]
        return self._lines(tuple(alone), other, together(plan, whole, known))

    def _lines(
        self,
        alone: tuple[tuple[Consequences | None, str | None], ...],
        other: Consequences | None = None,
        together: Consequences | None = None,
        *,
        not_told_apart: str | None = None,
    ) -> ChangedLines:
        lines = tuple(
            ChangedLine(path=key.path, line=key.line, before=key.before, after=key.after, causes=causes, not_alone=why)
            for key, (causes, why) in zip(self.keys, alone, strict=True)
        )
        return ChangedLines(
            file=self.file, lines=lines, other_files=other, together=together, not_told_apart=not_told_apart
        )


@contextmanager
def changed_lines(question: Question, compared: BaseAndHead, directory: Path) -> Iterator[Callable[[Plan], Plan]]:
    """Start to synthesize each changed line alone, while the whole plan is made.

    Args:
        question: what the user wants planned.
        compared: both sides, synthesized.
        directory: folder of this plan.

    Yields:
        A function that waits, and returns the plan with its lines; the plan as it is when two assemblies are compared,
        the base does not have the environment, or no key differs.
    """
    found = _both(question, compared)
    if found is None:
        yield lambda plan: plan
        return
    file, commit, base, head = found
    keys = key_changes(base, head)
    is_told_apart = 0 < len(keys) <= MOST_LINES
    # Other packages are another requirements.txt, which is among these.
    others = is_told_apart and any(
        not name.startswith("environments/") for name in revisions.changed_files(PROJECT, commit)
    )
    wanted = [frozenset({key.key}) for key in keys] if is_told_apart and len(keys) > 1 else []
    if wanted:
        progress(f"synthesizing each of {len(keys)} changed lines alone")
    shutil.rmtree(directory / "lines", ignore_errors=True)
    with _workers() as threads:

        def alone(name: str, chosen: frozenset[Key]) -> Future[Side]:
            return threads.submit(_synthesized, directory / "lines", name, with_changes(base.value, head.value, chosen))

        yield Lines(
            file,
            keys,
            compared,
            directory / "lines",
            alone("other-files", frozenset()) if others else None,
            tuple(alone(str(number), chosen) for number, chosen in enumerate(wanted)),
        ).told


@contextmanager
def _workers() -> Iterator[ThreadPoolExecutor]:
    """Give threads that wait for synths; when the command is interrupted, those end that run, and no other begins."""
    threads = ThreadPoolExecutor(max_workers=max(2, min(_MOST_AT_ONCE, os.cpu_count() or 1)))
    try:
        yield threads
    except BaseException:
        threads.shutdown(wait=False, cancel_futures=True)
        end_all()
        raise
    finally:
        threads.shutdown()


def _both(question: Question, compared: BaseAndHead) -> tuple[str, str, Document, Document] | None:
    """Return the file, the base's commit, and the file on both sides. None unless both sides have the file."""
    file = environment_file(str(question.environment)) if question.environment and not question.assembly else None
    if file is None or not question.base or not compared.base or not compared.base.assembly:
        return None
    commit = revisions.commit_of(PROJECT, question.base)
    before = revisions.file_at(PROJECT, commit, file)
    try:
        base = read_document((before or b"").decode("utf-8-sig"))
        head = read_document((PROJECT / file).read_text("utf-8-sig"))
    except (UnicodeDecodeError, UnreadableDocument):
        return None
    return (file, commit, base, head) if isinstance(base.value, dict) and isinstance(head.value, dict) else None


def _synthesized(directory: Path, name: str, values: object) -> Side:
    """Synthesize values of an environment file.

    Raises:
        InvalidEnvironment: they are not a valid environment.
        SynthFailedError: the app ended with an error.
    """
    directory.mkdir(parents=True, exist_ok=True)
    file, assembly = directory / f"{name}.yaml", directory / name
    # JSON is YAML in which every text is quoted.
    file.write_text(json.dumps(values), encoding="utf-8")
    load_environment(file)
    synthesize(str(file), assembly, directory / f"{name}.log", despite_findings=True)
    return Side.of(assembly)


def _said(failure: Exception) -> str:
    """Return what is wrong, in a sentence, without the place in a file that is not the user's."""
    if isinstance(failure, InvalidEnvironment):
        problem = failure.problems[0]
        return f"{problem.path}: {problem.message}." if problem.path else f"{problem.message}."
    return f"{str(failure).strip().rpartition(chr(10))[2].rstrip('.')}."
