"""A kit whose commands keep the contract of the real ones and compute nothing: for what happens between processes.

The real slipway_jobs, with stand-ins for slipway_training, slipway_conversion and the program of the publish stage.
What goes wrong and where a worker waits is said by files in the user's home, which each process looks for:

* `die-RANK-STEP`: that worker ends with status 13 after the step; the file is removed, so it happens once.
* `slow-save`: a checkpoint after a signal takes 10 seconds.
* `die-always`: worker 1 ends with status 13 before its first step, each time.
* `hold-STEP`: workers wait after the step until the file is removed, or until they are asked to stop; each that waits
  makes a file `holding-RANK`.

A worker ends by itself after 15 minutes, without its torchrun, and when its run's folder is gone: an interrupted test
leaves none behind.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.slurm.training_jobs import KIT

TRAINING = """
import json, os, signal, sys, time
from pathlib import Path

asked = []
for number in (signal.SIGUSR1, signal.SIGTERM):
    signal.signal(number, lambda number, frame: asked.append(number))
run = json.loads(Path(sys.argv[sys.argv.index("--run-file") + 1]).read_text())
purpose = sys.argv[sys.argv.index("--purpose") + 1]
recipe, home, rank = run["recipe"], Path.home(), int(os.environ["RANK"])
print(f"{purpose}: worker {rank} of {os.environ['WORLD_SIZE']}", flush=True)
if purpose == "compile":
    sys.exit(0)
checkpoints, folder = Path(run["checkpoint_directory"]), Path(run["directory"])
start = f"at-{os.environ['SLURM_JOB_ID']}-{os.environ.get('SLURM_RESTART_COUNT', '0')}"
stop = folder / f"{start}-stop"
latest_end = time.monotonic() + 900
torchrun = os.getppid()


def at(other):
    try:
        return int((folder / f"{start}-{other}").read_text() or 0)
    except FileNotFoundError:
        return 0


def newest():
    return max([int(done.parent.name[5:]) for done in checkpoints.glob("step_*/done")], default=0)


def save(step):
    if rank == 0 and step > newest():
        place = checkpoints / f"step_{step:08d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "done").touch()


def live():
    # Slurm's SIGKILL reaches workers with proctrack/cgroup; with proctrack/pgid it reaches torchrun, and they follow.
    if time.monotonic() > latest_end or not folder.is_dir() or os.getppid() != torchrun:
        os._exit(14)


def agree():
    live()
    if asked:
        stop.touch()
    if stop.exists():
        for _ in range(200 if (home / "slow-save").exists() else 0):
            live()
            time.sleep(0.05)
        save(step)
        print(f"worker {rank} stopped after step {step}", flush=True)
        sys.exit(0)


step = newest()
print(f"worker {rank} goes on after step {step}", flush=True)
if rank == 1 and (home / "die-always").exists():
    os._exit(13)
while step < recipe["steps"]:
    agree()
    step += 1
    if step % recipe["checkpoint"]["interval_steps"] == 0:
        save(step)
    while (home / f"hold-{step}").exists():
        (home / f"holding-{rank}").touch()
        agree()
        time.sleep(0.05)
    if (home / f"die-{rank}-{step}").exists():
        (home / f"die-{rank}-{step}").unlink()
        os._exit(13)
    # In step with each other, as workers that exchange gradients are.
    (folder / f"{start}-{rank}").write_text(str(step))
    while any(at(other) < step for other in range(int(os.environ["WORLD_SIZE"]))):
        agree()
        time.sleep(0.02)
save(step)
if rank == 0:
    (folder / "stages" / "train.done").touch()
"""

FOLDER = """
import json, sys
from pathlib import Path

run = json.loads(Path(sys.argv[sys.argv.index("--run") + 1]).read_text())
place = Path(run["{key}"])
place.mkdir(parents=True, exist_ok=True)
(place / "done").touch()
print("{key} is there", flush=True)
"""

TORCHRUN = """
import argparse, os, signal, subprocess, sys, time

parser = argparse.ArgumentParser(allow_abbrev=False)
for option in ("nnodes", "node_rank", "nproc_per_node", "master_port", "max_restarts"):
    parser.add_argument(f"--{option}", type=int)
parser.add_argument("--master_addr")
parser.add_argument("-m", dest="command", nargs=argparse.REMAINDER)
options = parser.parse_args()
workers = []
terminated = []
signal.signal(signal.SIGTERM, lambda *_: terminated.append(True))
for local in range(options.nproc_per_node):
    rank, size = options.node_rank * options.nproc_per_node + local, options.nnodes * options.nproc_per_node
    variables = {"RANK": str(rank), "LOCAL_RANK": str(local), "WORLD_SIZE": str(size)}
    command = [sys.executable, "-m", *options.command]
    # As torch/distributed/elastic/multiprocessing/subprocess_handler/subprocess_handler.py does it, line 66.
    workers.append(subprocess.Popen(command, env=os.environ | variables, start_new_session=True))
while not terminated and any(worker.poll() is None for worker in workers) and not any(w.poll() for w in workers):
    time.sleep(0.02)
failed = bool(terminated) or any(worker.poll() for worker in workers)
for worker in workers:
    if failed:
        worker.terminate()
    worker.wait()
sys.exit(failed)
"""

PUBLISHING = """
import sys

print("published", flush=True)
"""


def write_stand_in_kit(directory: Path, *, torchrun: bool = True) -> Path:
    """Write the kit into a folder and return it; the real torchrun imports torch for seconds, so it can be left out."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(KIT / "slipway_jobs", directory / "slipway_jobs", ignore=ignored)
    shutil.copytree(KIT / "slipway_training" / "checkpoints", directory / "slipway_training" / "checkpoints")
    files = {
        "slipway_training/__main__.py": TRAINING,
        "slipway_training/prepare.py": FOLDER.replace("{key}", "prepared_directory"),
        "slipway_conversion/__main__.py": FOLDER.replace("{key}", "converted_directory"),
        "slipway_jobs/publishing/__main__.py": PUBLISHING,
    }
    if not torchrun:
        files |= {"torch/__init__.py": "", "torch/distributed/run.py": TORCHRUN}
    for name, text in files.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_name("__init__.py").touch()
        file.write_text(text, encoding="utf-8")
    return directory
