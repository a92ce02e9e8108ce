"""An environment on an emulator of its own, for tests of commands that reach AWS."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from slipway.project import PROJECT
from slipway.rehearse import phases
from slipway.rehearse.folder import LockedFolder, RunFolder
from slipway.rehearse.progress import Progress
from slipway.rehearse.run import subject_of
from slipway.rehearse.session import Session
from slipway.rehearse.toolchain import Toolchain

EMPTY_ACCOUNT: tuple[Callable[[Session], object], ...] = (
    *(phases.synthesize, phases.start_emulator, phases.take_first_inventory),
)
DEPLOYED = (*EMPTY_ACCOUNT, phases.bootstrap, phases.deploy)


@contextmanager
def emulated(
    file: Path, directory: Path, until: tuple[Callable[[Session], object], ...] = DEPLOYED
) -> Iterator[Session]:
    """Run the first phases of a rehearsal, and keep the emulator for a test.

    Args:
        file: of an environment that has its name.
        directory: where the run's folder is made.
        until: the phases.
    """
    folder = RunFolder(directory / file.stem)
    with LockedFolder(folder):
        session = Session(
            subject_of(str(file)), Toolchain.of_project(PROJECT), folder, Progress(Console(force_terminal=False))
        )
        try:
            for phase in until:
                phase(session)
            yield session
        finally:
            session.stop_emulator()
