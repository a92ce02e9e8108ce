"""`python -m slipway_training --run-file RUN_JSON --purpose compile|train`: one worker of a job, below torchrun.

Exit status 0 with the run's done file: all steps are done. 0 without it: stopped because it was asked to, after saving
a checkpoint. Anything else: it failed.
"""

from __future__ import annotations

from slipway_training.stopping import StopRequest

REQUEST = StopRequest() if __name__ == "__main__" else None
# From here on a signal is remembered; importing PyTorch takes seconds in which one would end the process.

import argparse  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

from slipway_jobs.run import TrainingRun, read_training_run  # noqa: E402
from slipway_training.checkpoints.integrity import DamagedError  # noqa: E402
from slipway_training.checkpoints.saving import CheckpointError  # noqa: E402
from slipway_training.device import join, leave  # noqa: E402
from slipway_training.loop import TrainingError, take_compile_steps, train  # noqa: E402


def main(arguments: list[str], request: StopRequest) -> int:
    """Do what the command line says and return the exit status."""
    parser = argparse.ArgumentParser(prog="slipway_training", description="One worker of a train or compile job.")
    # Not --run: torchrun takes it for an abbreviation of its own --run-path.
    parser.add_argument("--run-file", type=Path, required=True, help="the run's file")
    parser.add_argument("--purpose", choices=("compile", "train"), required=True)
    options = parser.parse_args(arguments)
    try:
        run_worker(read_training_run(options.run_file), options.purpose, request)
    except (TrainingError, CheckpointError, DamagedError, OSError, ValueError) as error:
        print(f"error: worker {os.environ.get('RANK', '?')}: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def run_worker(run: TrainingRun, purpose: str, request: StopRequest) -> None:
    """Meet the other workers, do the job's steps, and leave together."""
    workers = join(run.recipe.hardware)
    if purpose == "compile":
        take_compile_steps(run, workers)
    else:
        train(run, workers, request)
    workers.barrier()
    leave()


if __name__ == "__main__":
    assert REQUEST is not None
    sys.exit(main(sys.argv[1:], REQUEST))
