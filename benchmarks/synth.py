"""How much `cdk synth` of an environment costs, against a floor measured in the same run: an app with one VPC.

Run it with `make bench`. Both apps go through the same CDK CLI with the same context, so template validation is on in
both; ours is run as users run it, by the command in cdk.json, and also runs the security packs and the cluster's rules.
"""

import tempfile
from pathlib import Path

import typer

from benchmarks.measurement import PROJECT, Subject, compare, print_comparison

BAR = 1.6
"""The most that the default environment may cost, in floors of user CPU time."""


def main(runs: int = 5, environment: str = "default") -> None:
    """Print the medians and the paired ratio of user CPU time.

    Args:
        runs: counted runs of each app.
        environment: name of the environment.
    """
    python, app = PROJECT / ".venv" / "bin" / "python", Path(__file__).with_name("one_vpc.py")
    floor = Subject("one VPC (floor)", ("--app", f"{python} {app}"))
    ours = Subject(f"environment {environment}", ("-c", f"environment={environment}"))
    with tempfile.TemporaryDirectory() as folder:
        print_comparison((floor, ours), compare(floor, ours, runs, Path(folder)), BAR)


if __name__ == "__main__":
    typer.run(main)
