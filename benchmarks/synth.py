"""How much `cdk synth` of an environment costs, against a floor measured in the same run: an app with one VPC.

Run it with `make bench`. Both apps go through the same CDK CLI with the same context, so template validation is on in
both; ours is run as users run it, by the command in cdk.json, and also runs the two security packs. The two are run in
turn, so that a machine that gets slower in between slows both.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).parent.parent
FLOOR_APP = Path(__file__).with_name("one_vpc.py")
CDK = PROJECT / "node_modules" / ".bin" / "cdk"
BAR = 1.6
"""The most that the default environment may cost, in floors of user CPU time."""


@dataclass(frozen=True)
class Run:
    """One whole `cdk synth`, child processes included."""

    user_cpu_seconds: float
    wall_seconds: float
    peak_memory_mib: float


def measure(app: list[str], environment: str, output: Path) -> Run:
    """Synthesize once and read the operating system's own accounting of the finished processes.

    Args:
        app: the CLI's arguments that choose the CDK app; none for the one of cdk.json.
        environment: name of the environment; the floor ignores it.
        output: folder of the cloud assembly.
    """
    script = (
        "import resource, subprocess, sys, time\n"
        "start = time.perf_counter()\n"
        "status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(status, used.ru_utime, time.perf_counter() - start, used.ru_maxrss)\n"
    )
    command = [str(CDK), "synth", "--quiet", *app, "-c", f"environment={environment}", "--output", str(output)]
    done = subprocess.run(
        [sys.executable, "-c", script, *command], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    status, user, wall, peak = done.stdout.split()
    if status != "0":
        raise SystemExit(f"cdk synth failed:\n{done.stderr}")
    return Run(float(user), float(wall), float(peak) / 1024)


def compare(runs: int, environment: str) -> tuple[list[Run], list[Run]]:
    """Measure floor and environment in turn, after one run of each that is not counted."""
    python = PROJECT / ".venv" / "bin" / "python"
    floor: list[Run] = []
    ours: list[Run] = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(runs + 1):
            floor.append(measure(["--app", f"{python} {FLOOR_APP}"], environment, Path(folder, "floor")))
            ours.append(measure([], environment, Path(folder, "ours")))
    return floor[1:], ours[1:]


def main(runs: int = 5, environment: str = "default") -> None:
    """Print the medians and the paired ratio of user CPU time.

    Args:
        runs: counted runs of each app.
        environment: name of the environment.
    """
    floor, ours = compare(runs, environment)
    table = Table(title=f"cdk synth, median of {runs} runs in turn")
    for heading in ("app", "user CPU s", "wall s", "peak memory MiB"):
        table.add_column(heading, justify="left" if heading == "app" else "right")
    for name, measured in (("one VPC (floor)", floor), (f"environment {environment}", ours)):
        table.add_row(
            name,
            f"{statistics.median(run.user_cpu_seconds for run in measured):.2f}",
            f"{statistics.median(run.wall_seconds for run in measured):.2f}",
            f"{statistics.median(run.peak_memory_mib for run in measured):.0f}",
        )
    ratios = [b.user_cpu_seconds / a.user_cpu_seconds for a, b in zip(floor, ours, strict=True)]
    console = Console()
    console.print(table)
    console.print(f"user CPU over the floor, pair by pair: median {statistics.median(ratios):.2f} (bar: {BAR})")


if __name__ == "__main__":
    os.environ["PATH"] = f"{PROJECT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    typer.run(main)
