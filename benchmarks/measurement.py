"""Runs of `cdk synth` and other programs in turn: a machine that gets slower in between slows both sides."""

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).parent.parent
CDK = PROJECT / "node_modules" / ".bin" / "cdk"


@dataclass(frozen=True)
class Run:
    """One whole run, child processes included."""

    user_cpu_seconds: float
    wall_seconds: float
    peak_memory_mib: float


@dataclass(frozen=True)
class Subject:
    """What is synthesized."""

    title: str
    """Its row in the table."""

    arguments: tuple[str, ...]
    """The CLI's arguments that choose app and environment."""


def measure(subject: Subject, output: Path) -> Run:
    """Synthesize once.

    Args:
        subject: what to synthesize.
        output: folder of the cloud assembly.

    Raises:
        SystemExit: the synth failed; the message is what it said.
    """
    command = [str(CDK), "synth", "--quiet", *subject.arguments, "--output", str(output)]
    return measured(command)


def measured(command: Sequence[str]) -> Run:
    """Run a program in the project and read the operating system's own accounting of it and its finished processes.

    Raises:
        SystemExit: the program failed; the message is what it said.
    """
    script = (
        "import resource, subprocess, sys, time\n"
        "start = time.perf_counter()\n"
        "status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(status, used.ru_utime, time.perf_counter() - start, used.ru_maxrss)\n"
    )
    environment = {**os.environ, "PATH": f"{PROJECT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "-c", script, *command],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    status, user, wall, peak = done.stdout.split()
    if status != "0":
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return Run(float(user), float(wall), float(peak) / 1024)


def compare(floor: Subject, ours: Subject, runs: int, folder: Path) -> tuple[list[Run], list[Run]]:
    """Measure both in turn, after one run of each that is not counted."""
    pairs = [(measure(floor, folder / "floor"), measure(ours, folder / "ours")) for _ in range(runs + 1)]
    return [first for first, _ in pairs[1:]], [second for _, second in pairs[1:]]


def print_comparison(subjects: Sequence[Subject], measured: Sequence[Sequence[Run]], bar: float) -> None:
    """Print the medians of both sides and the paired ratio of user CPU time.

    Args:
        subjects: floor and subject.
        measured: the runs of each.
        bar: the most that the ratio may be.
    """
    table = Table(title=f"cdk synth, median of {len(measured[0])} runs in turn")
    for heading in ("app", "user CPU s", "wall s", "peak memory MiB"):
        table.add_column(heading, justify="left" if heading == "app" else "right")
    for subject, runs in zip(subjects, measured, strict=True):
        table.add_row(
            subject.title,
            f"{statistics.median(run.user_cpu_seconds for run in runs):.2f}",
            f"{statistics.median(run.wall_seconds for run in runs):.2f}",
            f"{statistics.median(run.peak_memory_mib for run in runs):.0f}",
        )
    ratios = [ours.user_cpu_seconds / floor.user_cpu_seconds for floor, ours in zip(*measured, strict=True)]
    console = Console()
    console.print(table)
    console.print(f"user CPU over the floor, pair by pair: median {statistics.median(ratios):.2f} (bar: {bar})")
