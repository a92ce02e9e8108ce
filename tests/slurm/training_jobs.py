"""The job kit on a local Slurm: an environment of fake nodes, the real `slipway-job`, and a hand on its processes."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from slipway_jobs.chain.record import Attempt, read_attempts, read_chain
from slipway_jobs.run import Run, ScriptRun, Stage, TrainingRun, WorkerRun, read_training_run
from tests.assets.sandbox import ASSETS
from tests.slurm.local_slurm import ENDED, LocalSlurm, SlurmError, free_ports

KIT = ASSETS / "jobs"
RECIPES = KIT / "recipes"
TRAINING_PYTHON = ASSETS.parent / ".tools" / "training" / "bin" / "python"

STACKS = {
    "xla-2.28": {"release": "2.28.1", "framework": "xla", "compiler": "2.23.6484.0", "job_kit": True},
    "native-2.33": {"release": "2.33.0", "framework": "native", "compiler": "2.28.7631.0", "job_kit": True},
}

NODE = {
    "vcpus": 128,
    "memory_gib": 512,
    "neuron_devices": 0,
    "logical_neuron_cores": 0,
    "neuron_memory_gib": 0,
    "efa_interfaces": 0,
    "nvme_gib": 0,
    "usd_per_hour": 6.5,
    "price_as_of": "2026-07-20",
}


def size(file: Path) -> int:
    """Return the size of a file in bytes; 0 of one that is not there."""
    return file.stat().st_size if file.exists() else 0


class TrainingJobs:
    """One user of a cluster, with an empty /fsx."""

    def __init__(
        self,
        cluster: LocalSlurm,
        directory: Path,
        *,
        kit: Path = KIT,
        environment: Mapping[str, object] | None = None,
        aws_endpoint: str = "http://127.0.0.1:9",
    ) -> None:
        """Write the environment's file and the user's home.

        Args:
            cluster: a running cluster.
            directory: /fsx, /scratch and the home are made below it.
            kit: folder with slipway_jobs, slipway_training and slipway_conversion.
            environment: keys of environment.json in the place of those of a cluster of processors.
            aws_endpoint: address of an S3 emulator; nobody listens at the default.
        """
        if not TRAINING_PYTHON.exists():
            raise FileNotFoundError(f"no {TRAINING_PYTHON}: run `make test-slurm`")
        self.cluster = cluster
        self.directory = directory
        self.kit = kit
        self._requeued: dict[tuple[str, str], float] = {}
        self.home = directory / "home"
        self.variables: dict[str, str] = {}  # more of the user's shell
        self.stubs = directory / "stubs"
        for folder in (self.home / ".aws", self.stubs, directory / "scratch", directory / "stacks"):
            folder.mkdir(parents=True)
        for stack in STACKS:
            (directory / "stacks" / stack).symlink_to(TRAINING_PYTHON.parents[1])
        self.environment_file = directory / "environment.json"
        self.environment_file.write_text(json.dumps(self._environment() | dict(environment or {})), encoding="utf-8")
        # What reaches the jobs is below HOME: sbatch hands over nothing else of a user's shell.
        (self.home / ".aws" / "config").write_text(
            f"[default]\nregion = us-east-1\nendpoint_url = {aws_endpoint}\nmax_attempts = 1\n"
            "aws_access_key_id = test\naws_secret_access_key = test\n",
            encoding="utf-8",
        )

    def _environment(self) -> dict[str, object]:
        queues: dict[str, int] = {}
        for node in self.cluster.nodes:
            queue = node.split("-")[0]
            queues[queue] = queues.get(queue, 0) + 1
        return {
            "name": "test",
            "region": "us-east-1",
            "cluster_name": "test",
            "data_bucket": "test-data",
            "checkpoint_bucket": "test-checkpoints",
            "model_bucket": "test-models",
            "runs_directory": str(self.directory / "fsx" / "runs"),
            "checkpoints_directory": str(self.directory / "fsx" / "checkpoints"),
            "prepared_directory": str(self.directory / "fsx" / "prepared"),
            "training_stacks_directory": str(self.directory / "stacks"),
            "scratch_directory": str(self.directory / "scratch"),
            "master_port": free_ports(1)[0],
            "queues": [
                {"name": name, "training_stack": None, "instance_types": {"c7i.32xlarge": number}, "efa": False}
                for name, number in queues.items()
            ],
            "instance_types": {"c7i.32xlarge": NODE},
            "training_stacks": STACKS,
            "lustre_capacity_gib": 4800,
            "lustre_throughput_mb_s": 1200,
            "inference": [],
        }

    def command(self, *arguments: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run `slipway-job` as a user does.

        Raises:
            SlurmError: it failed; the message is what it printed. Not with `check=False`.
        """
        process = subprocess.run(
            [sys.executable, "-m", "slipway_jobs", *map(str, arguments)],
            env=self.cluster.environment
            | {
                "HOME": str(self.home),
                "PATH": f"{self.stubs}:{self.cluster.environment['PATH']}",
                "PYTHONPATH": str(self.kit),
                "SLIPWAY_ENVIRONMENT": str(self.environment_file),
                "COLUMNS": "120",
            }
            | self.variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if check and process.returncode != 0:
            raise SlurmError(f"slipway-job {arguments}: {process.stdout}{process.stderr}")
        return process

    def submit(self, recipe: Path, *arguments: str, **settings: object) -> TrainingRun:
        """Submit a recipe; `settings` are `--set` values, with `__` for a dot. Returns the run."""
        overrides = [word for key, value in settings.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]
        self.command("submit", recipe, *arguments, *overrides)
        name = arguments[arguments.index("--name") + 1] if "--name" in arguments else recipe.stem
        return self.run(name)

    def run(self, name: str) -> TrainingRun:
        """Return a submitted run."""
        return read_training_run(self.directory / "fsx" / "runs" / name / "run.json")

    def job(self, run: Run, stage: Stage) -> str:
        """Return the Slurm job id of a stage's last submission."""
        return read_chain(run.chain_file).jobs[stage]

    def attempts(self, run: Run, stage: Stage) -> tuple[Attempt, ...]:
        """Return what is written down of a stage."""
        return read_attempts(run, stage)

    def wait_for(self, run: Run, stage: Stage) -> str:
        """Wait until a stage's job has ended and return its state. A requeued job is started at once.

        Raises:
            SlurmError: it still waits or runs; the message has the end of its log.
        """
        job = self.job(run, stage)
        try:
            self._wait(run, f"{run.name}-{stage} to end", lambda: self._ended(run, job))
        except SlurmError as error:
            raise SlurmError(f"{error}\n{self.log(run, stage)[-4000:]}") from None
        return self.cluster.job(job)["JobState"]

    def wait_for_start(self, run: Run, stage: Stage, starts: int) -> None:
        """Wait until a stage has begun so often. A requeued job is started at once.

        Raises:
            SlurmError: it has not, for long.
        """

        def begun() -> bool:
            self._ended(run, self.job(run, stage))
            return len(self.attempts(run, stage)) >= starts

        self._wait(run, f"start {starts} of {run.name}-{stage}", begun)

    def _wait(self, run: Run, what: str, condition: Callable[[], bool]) -> None:
        """Wait as long as the logs of a run grow: a busy machine trains slowly."""
        self.cluster.wait(what, condition, progress=lambda: self.logged(run))

    def logged(self, run: Run) -> list[int]:
        """Return the sizes of a run's logs, in bytes: they change as long as it works."""
        return [size(run.log(stage)) for stage in run.stages]

    def _ended(self, run: Run, job: str) -> bool:
        """Return whether a job has ended, and let the requeued jobs of its run start."""
        for other in read_chain(run.chain_file).jobs.values():
            if self.start_if_requeued(other)["JobState"] not in ENDED:
                # The ones behind it wait for it.
                return False
            if other == job:
                break
        return self.cluster.job(job)["JobState"] in ENDED

    def start_if_requeued(self, job: str) -> dict[str, str]:
        """Let a requeued job start when its nodes take it, and return its fields; Slurm itself waits for two minutes.

        A node refuses credentials that are not younger than the end of the job's first run, in whole seconds: "Job
        credential revoked".
        """
        fields = self.cluster.job(job)
        if fields["JobState"] == "PENDING" and fields["Reason"] == "BeginTime":
            since = self._requeued.setdefault((job, fields["Restarts"]), time.monotonic())
            if time.monotonic() - since > 2:
                self.cluster.start_now(job)
        return fields

    def log(self, run: Run, stage: Stage) -> str:
        """Return what a stage has printed so far."""
        file = run.log(stage)
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def wait_for_step(self, run: TrainingRun, step: int) -> None:
        """Wait until the checkpoint of a step is complete.

        Raises:
            SlurmError: it is not, for long.
        """
        done = Path(run.checkpoint_directory) / f"step_{step:08d}" / "done"
        self._wait(run, f"the checkpoint of step {step}", done.exists)

    def workers(self, run: WorkerRun) -> dict[int, int]:
        """Return the process ids of a run's running workers by their rank."""
        return {rank: process for process, rank in self._worker_processes(run)}

    def kill_worker(self, run: WorkerRun, rank: int, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to one worker, as soon as it runs.

        Raises:
            SlurmError: there is no such worker, for long.
        """
        self.cluster.wait(f"worker {rank}", lambda: rank in self.workers(run))
        os.kill(self.workers(run)[rank], number)

    def _worker_processes(self, run: WorkerRun) -> Iterator[tuple[int, int]]:
        named = run.program if isinstance(run, ScriptRun) else str(run.file)
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
                variables = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            ranks = [int(variable[5:]) for variable in variables if variable.startswith(b"RANK=")]
            if ranks and named.encode() in words:
                yield int(folder.name), ranks[0]


def stages_in_order(cluster: LocalSlurm, jobs: Sequence[str]) -> bool:
    """Return whether each of the ended jobs began after the one before had ended."""
    times = [(cluster.job(job)["StartTime"], cluster.job(job)["EndTime"]) for job in jobs]
    return all(before[1] <= after[0] for before, after in itertools.pairwise(times))
