"""What every command line of Slipway does in the same way: end with one sentence, not with a traceback.

A closed pipe, a full disk, a folder that cannot be written and a signal are not faults of a command, so no command
handles them.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from types import FrameType
from typing import IO, Annotated, Any, NoReturn, ParamSpec

import typer

from slipway.errors import RefusedError, SlipwayError

FAILED = 2
"""Exit code when the system refuses what a command needs."""

INTERRUPTED = 130
"""Exit code of Ctrl-C."""

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document for scripts, and nothing else on standard output.")
]
"""`--json`, the same flag of every command that has a document."""

_WIDTH_OF_BOXES = 80
"""On a narrower terminal Typer's boxes cut the names of options: Click's plain help stands there instead."""

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


_P = ParamSpec("_P")


class Program(typer.Typer):
    """A command line. Calling it runs it and ends the process, also where the system refuses something."""

    def __call__(self, *arguments: Any, **keywords: Any) -> NoReturn:
        """Run the command line; see `typer.Typer`.

        Raises:
            SystemExit: always. The code is 2, after one sentence, when the system refuses something; a pipe whose
                reader has ended needs no sentence. It is 130 on Ctrl-C.
        """
        if shutil.get_terminal_size().columns < _WIDTH_OF_BOXES:
            self.rich_markup_mode = None
        try:
            with _stopped_by_signals():
                self._run(*arguments, **keywords)
        except BrokenPipeError:
            _discard_output()
        except OSError as error:
            _discard_output()
            with suppress(OSError):
                print(f"slipway: {_sentence(error)}", file=sys.stderr, flush=True)
        except KeyboardInterrupt:  # before a command has begun, or of one that has nothing to say
            sys.exit(INTERRUPTED)
        sys.exit(FAILED)

    def _run(self, *arguments: Any, **keywords: Any) -> NoReturn:
        plain, in_github = (bool(os.environ.get(name)) for name in ("NO_COLOR", "GITHUB_ACTIONS"))
        if plain or in_github:
            from typer import rich_utils  # noqa: PLC0415

            # Typer (0.29, rich_utils.py) takes any output of GitHub Actions for a terminal, a pipe and a file included.
            # Rich, when it decides, does so with FORCE_COLOR alone.
            rich_utils.FORCE_TERMINAL = None
            if plain:
                # Rich takes the colours away and leaves bold letters, which are control characters, too.
                rich_utils.COLOR_SYSTEM = None
        try:
            sys.exit(super().__call__(*arguments, **keywords))
        except SystemExit as end:
            # Rich and Typer end with 1, which means "found something", when the reader of a pipe has ended.
            if isinstance(end.__context__, BrokenPipeError):
                raise end.__context__ from None
            raise
        finally:
            # Now: when the interpreter ends, an error can no longer be handled.
            if sys.stdout is not None:
                sys.stdout.flush()


def run(function: Callable[..., None]) -> NoReturn:
    """Run a function as a command line with one command."""
    program = Program(add_completion=False, pretty_exceptions_enable=False)
    program.command()(function)
    program()


def reports_errors(interrupted: str = "") -> Callable[[Callable[_P, None]], Callable[_P, None]]:
    """Have a command end with the message and the exit code of its error, and with 130 on Ctrl-C.

    Args:
        interrupted: what to say on Ctrl-C: what goes on, and how to continue. A `KeyboardInterrupt` that has a text of
            its own says that.
    """

    def decorate(command: Callable[_P, None]) -> Callable[_P, None]:
        @wraps(command)
        def reported(*arguments: _P.args, **options: _P.kwargs) -> None:
            try:
                command(*arguments, **options)
            except SlipwayError as error:
                typer.echo(str(error), err=True)
                raise typer.Exit(error.exit_code) from error
            except KeyboardInterrupt as interrupt:
                if said := str(interrupt) or interrupted:
                    typer.echo(f"\n{said}", err=True)
                raise typer.Exit(INTERRUPTED) from interrupt

        return reported

    return decorate


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something is changed.

    Args:
        question: what to ask.
        yes: whether `--yes` answers.

    Raises:
        RefusedError: the answer is no, or missing.
    """
    try:
        agreed = yes or typer.confirm(question)
    except typer.Abort as error:
        raise RefusedError("no answer; --yes asks nothing. Nothing was changed") from error
    if not agreed:
        raise RefusedError("not confirmed. Nothing was changed")


def _sentence(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _discard_output() -> None:
    """Drop what is still in the buffers: the interpreter would complain about it at its end."""
    with suppress(OSError, ValueError):
        _to_nowhere(sys.stdout)
    with suppress(OSError, ValueError):
        sys.stderr.flush()
        return
    with suppress(OSError, ValueError):
        _to_nowhere(sys.stderr)


def _to_nowhere(stream: IO[str]) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Have a cancelled pipeline and a closed terminal clean up as Ctrl-C does; a signal that is ignored stays so."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in _STOP_SIGNALS}
    changed = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)
