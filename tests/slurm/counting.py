"""A training of somebody else's, as far as a scheduler sees one: torchrun's variables, a checkpoint, a signal."""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

stopping: list[bool] = []
signal.signal(signal.SIGUSR1, lambda *_: stopping.append(True))
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, required=True)
steps = parser.parse_args().steps
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
saved = Path(os.environ["SLIPWAY_CHECKPOINTS"]) / "state.json"
step = json.loads(saved.read_text())["step"] if saved.exists() else 0
print(f"rank {rank} of {world} begins after step {step} in {Path.cwd()} with {os.environ['FLAVOUR']}", flush=True)
while step < steps and not stopping:
    time.sleep(0.1)
    step += 1
    if rank == 0:
        new = saved.with_suffix(".new")
        new.write_text(json.dumps({"step": step, "starts": sys.argv}))
        new.replace(saved)
