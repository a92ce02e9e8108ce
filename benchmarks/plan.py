"""How long `slipway plan` takes beyond the synths that it needs, measured in the same run.

Run it with `make bench`. A plan without a base is measured against one synth, a plan against HEAD against two synths
side by side: what a plan would take if it had nothing to say. It writes all four reports.
"""

import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.measurement import Run, measured

BAR_SECONDS = 2.0
"""The most that the plan of the default environment may take beyond its synths."""

_SYNTHS = """
import sys
from pathlib import Path
from slipway.assembly.synthesis import start_synthesis
folder = Path(sys.argv[2])
names = map(str, range(int(sys.argv[3])))
synths = [start_synthesis(sys.argv[1], folder / name, folder / f"{name}.log") for name in names]
for synth in synths:
    synth.wait()
"""


def main(runs: int = 5, environment: str = "default") -> None:
    """Print the medians, and the seconds beyond synth pair by pair.

    Args:
        runs: counted pairs.
        environment: name of the environment.
    """
    slipway = str(Path(sys.executable).with_name("slipway"))
    console = Console()
    for title, options, synths in (("alone", (), 1), ("against HEAD", ("--base", "HEAD"), 2)):
        plan = [slipway, "plan", "--environment", environment, *options]
        pairs = []
        # One pair more than is counted: the first fills caches.
        for _ in range(runs + 1):
            with tempfile.TemporaryDirectory() as folder:
                floor = measured([sys.executable, "-c", _SYNTHS, environment, folder, str(synths)])
                files = [f"--{kind}={folder}/plan.{kind}" for kind in ("markdown", "json", "html")]
                pairs.append((floor, measured([*plan, *files])))
        _print(console, f"slipway plan {title}", pairs[1:])


def _print(console: Console, title: str, pairs: Sequence[tuple[Run, Run]]) -> None:
    table = Table(title=f"{title}, median of {len(pairs)} runs in turn")
    for heading in ("", "user CPU s", "wall s", "peak memory MiB"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, runs in zip(("its synths alone (floor)", "plan"), zip(*pairs, strict=True), strict=True):
        table.add_row(
            name,
            f"{statistics.median(run.user_cpu_seconds for run in runs):.2f}",
            f"{statistics.median(run.wall_seconds for run in runs):.2f}",
            f"{statistics.median(run.peak_memory_mib for run in runs):.0f}",
        )
    console.print(table)
    wall = statistics.median(plan.wall_seconds - floor.wall_seconds for floor, plan in pairs)
    user = statistics.median(plan.user_cpu_seconds - floor.user_cpu_seconds for floor, plan in pairs)
    console.print(f"beyond synth, pair by pair: median {wall:.2f} s (bar: {BAR_SECONDS:.0f}), {user:.2f} s of user CPU")


if __name__ == "__main__":
    typer.run(main)
