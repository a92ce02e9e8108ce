"""Runs the scripts of a run for real, on one machine, with stand-ins for what starts processes and for what they are.

The stand-ins write down their arguments and environment. The text of the scripts, bash, and the record of the attempts
are real; so are the pods' commands and variables, which come from the manifests. No stand-in outlives an interrupted
test for long: each wait of theirs ends by itself, and at once when the test's folder is gone.

Sources of what they copy:
* torchrun's options: PyTorch 2.13, torch/distributed/run.py, lines 426-433 and 620-629. Its workers' sessions:
  torch/distributed/elastic/multiprocessing/subprocess_handler/subprocess_handler.py, line 66.
* neuron_parallel_compile's last line and `--command clear-locks`: aws-neuron-sdk, frameworks/torch/torch-neuronx/
  api-reference-guide/training/pytorch-neuron-parallel-compile.rst, lines 82 and 191 (2026-08-21).
* scontrol and srun: tests/slurm runs the same scripts with the real ones (make test-slurm).
* getent: `getent ahostsv4 localhost` of Debian's libc-bin, recorded on 2026-11-22.
* mpirun's `-x`, `-np` and that it passes USR1 on: Open MPI's manual page mpirun(1). Not compared with a real one.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from slipway_jobs.chain import scripts
from slipway_jobs.chain.scripts import render, script
from slipway_jobs.environment import Environment
from slipway_jobs.kubernetes.manifests import job_set, mpi_job
from slipway_jobs.run import TRAINING_STAGES, Stage, TrainingRun
from tests.assets.sandbox import ASSETS
from tests.jobs.kubernetes.manifest_case import OWNER, placed

SUBMISSION = "3f1d2c4b"
BASE = {"HOME": "/root", "USER": "root", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}
"""What each scheduler gives all jobs."""

RECORD = """
record() {
  local file
  file="$(mktemp "$RECORDS/XXXXXXXXXX")"
  env -0 >"$file.env"
  printf '%s\\0' "$@" >"$file.argv"
}
"""
PYTHON = """#!/bin/bash
case "$2" in
  slipway_jobs.chain.attempt)
    [[ -e {told}/writes-no-attempts ]] || exec {python} "$@"
    [[ "$3" == begin ]] || echo finish
    exit 0
    ;;
  slipway_jobs.kubernetes.hugging_face_token)
    while [[ "$1" != -- ]]; do shift; done
    shift
    HF_TOKEN=secret exec "$@"
    ;;
  # Beside the training, as long as the node's script: how far it came would be chance.
  slipway_jobs.chain.device_sampler) exit 0 ;;
esac
RECORDS={records}
{record}
record "$@"
[[ "$2" == torch.distributed.run ]] || exit 0
declare -A given
while (($# > 1)); do given["$1"]="$2"; shift; done
rank="${given[--node_rank]}" purpose="${given[--purpose]}"
if [[ -e {told}/hangs-$purpose-$rank ]]; then rm {told}/hangs-$purpose-$rank; exec sleep 1000; fi
if [[ -e {told}/fails-$purpose-$rank ]]; then
  rm {told}/fails-$purpose-$rank
  # Files as slipway_training/hang.py makes them; tests/training/test_interruptions.py has the real ones.
  : >"$SLIPWAY_HANG_DIRECTORY/worker-00000"
  for worker in 1 2; do
    printf 'Timeout (0:30:00)!\\nline %s\\n' "$worker" >"$SLIPWAY_HANG_DIRECTORY/worker-0000$worker"
  done
  # After others hang: a failure that came first would end them, and they would hang when they start again.
  while compgen -G "{told}/hangs-$purpose-*" >/dev/null; do [[ -d {told} ]] && sleep 1; done
  exit 13
fi
if [[ -e {told}/holds-$purpose ]]; then
  # Workers that save when they are asked to, in sessions of their own; below a torchrun that ignores SIGUSR1, as all of
  # them inherit, and dies of SIGTERM.
  for local in 1 2; do
    setsid {python} -c 'if 1:
      import signal, sys, pathlib, time
      def stop(number, _):
          pathlib.Path("{told}/got-" + signal.Signals(number).name[3:] + "-" + sys.argv[1]).touch()
          sys.exit(0)
      for number in (signal.SIGUSR1, signal.SIGTERM):
          signal.signal(number, stop)
      pathlib.Path("{told}/ready-" + sys.argv[1]).touch()
      time.sleep(60)
      sys.exit(9)' "$rank-$local" &
  done
  wait
  exit 0
fi
# Nobody goes on without the others.
: >{told}/at-$purpose-$rank
for ((tries = 0; $(find {told} -name "at-$purpose-*" | wc -l) < ${given[--nnodes]}; tries++)); do
  [[ -d {told} ]] && ((tries < 600)) || exit 14
  sleep 1
done
[[ "$purpose" != train || "$rank" != 0 ]] || : >{train_done}
"""
PARALLEL_COMPILE = """#!/bin/bash
RECORDS={records}
{record}
record neuron_parallel_compile "$@"
[[ "$1" != --command ]] || exit 0
"$@" || exit
echo "Total failed compilations: 0"
"""
SRUN = """#!/bin/bash
while [[ "$1" != bash ]]; do shift; done
for ((node = 0; node < SLURM_JOB_NUM_NODES; node++)); do
  SLURMD_NODENAME="node-$node" SLURM_NNODES="$SLURM_JOB_NUM_NODES" SLURM_NODEID="$node" "$@" &
done
rc=0
for job in $(jobs -p); do wait "$job" || rc=$?; done
exit "$rc"
"""
MPIRUN = """#!/bin/bash
# As real ones: processes get what -x names and nothing else, and are told of USR1 one by one, not by group.
variables=()
while [[ "$1" != bash ]]; do
  case "$1" in
    -x) variables+=("$2=${!2}"); shift ;;
    -np) nodes="$2"; shift ;;
  esac
  shift
done
pids=()
for ((node = 0; node < nodes; node++)); do
  mkdir -p {told}/tmp-$node
  env -i HOME="$HOME" USER="$USER" LANG="$LANG" TMPDIR={told}/tmp-$node OMPI_COMM_WORLD_SIZE="$nodes" \\
    OMPI_COMM_WORLD_RANK="$node" "${variables[@]}" "$@" &
  pids+=($!)
done
trap 'kill -s USR1 "${pids[@]}" 2>/dev/null' USR1
rc=0
for pid in "${pids[@]}"; do
  while :; do
    one=0
    wait "$pid" || one=$?
    ((one > 128)) && kill -0 "$pid" 2>/dev/null || break
  done
  ((one == 0)) || rc=$one
done
exit "$rc"
"""
SCONTROL = """#!/bin/bash
if [[ "$2" == hostnames ]]; then echo node-0; else echo "NodeName=node-0 NodeAddr=10.0.0.1 NodeHostName=node-0"; fi
"""
GETENT = """#!/bin/bash
[[ ! -e {told}/no-names ]] || exit 2
echo "10.0.0.1       STREAM $2"
"""
SLEEP = """#!/bin/bash
# Waits are short here. What should not end during a test (1000 s and more) fails after 5 minutes, in this process.
if ((${1%.*} >= 1000)); then
  read -rt 300 <> <(:)
  exit 1
fi
exec /usr/bin/sleep 0.1
"""


@dataclass(frozen=True)
class Record:
    """One start of a stand-in."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]

    def option(self, name: str) -> str:
        """Return the value of an option."""
        return self.arguments[self.arguments.index(name) + 1]


@dataclass
class ScriptRun:
    """A run whose scripts are on the disk."""

    run: TrainingRun
    environment: Environment
    directory: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def told(self) -> Path:
        """Files that tell the stand-ins what goes wrong."""
        return self.directory / "told"

    def tell(self, *names: str) -> None:
        """Tell the stand-ins."""
        for name in names:
            (self.told / name).touch()

    def records(self) -> list[Record]:
        """Return what the stand-ins wrote down since the last time; their order is lost."""
        records = []
        for file in sorted((self.directory / "records").glob("*.argv")):
            variables = file.with_suffix(".env").read_bytes().decode().split("\0")
            words = file.read_bytes().decode().split("\0")[:-1]
            records.append(Record(tuple(words), dict(line.split("=", 1) for line in variables if line)))
            file.unlink()
        return records

    def log(self, stage: Stage) -> str:
        """Return a stage's log."""
        return self.run.log(stage).read_text(encoding="utf-8")

    def start(self, command: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start what a scheduler starts."""
        process = subprocess.Popen(
            command,
            env=BASE | dict(variables),
            cwd=self.run.directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def sbatch(self, stage: Stage) -> int:
        """Run a stage as Slurm does and return its status."""
        nodes = self.run.recipe.hardware.nodes if stage in ("compile", "train") else 1
        known = {"JOB_ID": "7", "JOB_NAME": stage, "JOB_NODELIST": "node-[0-9]", "CPUS_ON_NODE": "4"}
        variables = {f"SLURM_{name}": value for name, value in known.items()}
        return self.start(["bash", str(script(self.run, stage))], variables | {"SLURM_JOB_NUM_NODES": str(nodes)}).wait(
            120
        )

    def pods(self, template: Mapping[str, Any], number: int, restart: int = 0) -> list[subprocess.Popen[bytes]]:
        """Start pods of a template, numbered as an Indexed Job does."""
        container = template["spec"]["containers"][0]
        started = []
        for index in range(number):
            fields = {
                "metadata.uid": f"uid-{restart}-{index}",
                "metadata.name": f"pod-{index}",
                "metadata.labels['jobset.sigs.k8s.io/restart-attempt']": str(restart),
                "spec.nodeName": f"node-{index}",
                "status.podIP": f"10.0.0.{index + 1}",
            }
            variables = {
                row["name"]: row["value"] if "value" in row else fields[row["valueFrom"]["fieldRef"]["fieldPath"]]
                for row in container["env"]
            }
            started.append(self.start(container["command"], variables | {"JOB_COMPLETION_INDEX": str(index)}))
        return started

    def replicated_jobs(self) -> dict[str, dict[str, Any]]:
        """Return the job templates of the JobSet."""
        stages = self.run.stages
        made = job_set(self.run, self.environment, stages, SUBMISSION)
        return {job["name"]: job["template"] for job in made["spec"]["replicatedJobs"]}

    def work(self, restart: int = 0) -> list[subprocess.Popen[bytes]]:
        """Start the pods that compile and train: of the JobSet, or the MPIJob's launcher."""
        assert self.environment.kubernetes is not None
        if self.environment.kubernetes.launcher == "mpi":
            made = mpi_job(self.run, self.environment, OWNER, SUBMISSION, restart)
            return self.pods(made["spec"]["mpiReplicaSpecs"]["Launcher"]["template"], 1)
        job = self.replicated_jobs()["train"]["spec"]
        return self.pods(job["template"], job["completions"], restart)

    def whole_chain(self) -> list[int]:
        """Run all stages one after the other and return the statuses of all that was started."""
        if self.environment.kubernetes is None:
            return [self.sbatch(stage) for stage in TRAINING_STAGES if stage in self.run.stages]
        statuses = []
        for name, job in self.replicated_jobs().items():
            started = self.work() if name == "train" else self.pods(job["spec"]["template"], 1)
            statuses += self.wait(started)
        return statuses

    def wait(self, processes: Sequence[subprocess.Popen[bytes]], seconds: int = 60) -> list[int]:
        """Return the statuses of processes; where one does not end, all are ended."""
        try:
            return [process.wait(seconds) for process in processes]
        except subprocess.TimeoutExpired:
            for process in self.processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            raise


def script_run(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    launcher: Literal["torchrun", "mpi"] | None,
    *,
    nodes: int | None = None,
    secret: str | None = None,
    waits: Mapping[str, int] | None = None,
) -> ScriptRun:
    """Write a run's folder and the stand-ins.

    Args:
        directory: where.
        monkeypatch: pytest's.
        name: a shipped recipe.
        launcher: how processes start; none for Slurm.
        nodes: nodes in the place of the recipe's.
        secret: ARN of the secret with a Hugging Face token.
        waits: constants of `slipway_jobs.chain.scripts` in the place of theirs.
    """
    run, environment = placed(name, launcher, directory, secret=secret)
    programs = directory / "stack" / "bin"
    recipe = run.recipe
    if nodes:
        recipe = recipe.model_copy(update={"hardware": recipe.hardware.model_copy(update={"nodes": nodes})})
    run = run.model_copy(
        update={
            "recipe": recipe,
            "python": str(programs / "python"),
            "kit_python": str(programs / "python"),
            "kit_directory": str(ASSETS / "jobs"),
            "scratch_directory": str(directory / "scratch"),
        }
    )
    monkeypatch.setattr(scripts, "MPIRUN", str(programs / "mpirun"))
    monkeypatch.setattr(scripts, "HOST_FILE", str(directory / "hostfile"))
    for constant, value in (waits or {}).items():
        monkeypatch.setattr(scripts, constant, value)
    _write_stand_ins(run, directory, programs)
    for folder in ("scripts", "logs", "stages"):
        Path(run.directory, folder).mkdir(parents=True)
    run.file.write_text(run.model_dump_json(), encoding="utf-8")
    for file, text in render(run, environment).items():
        file.write_text(text, encoding="utf-8")
    return ScriptRun(run, environment, directory)


def _write_stand_ins(run: TrainingRun, directory: Path, programs: Path) -> None:
    for folder in (programs, directory / "told", directory / "records", directory / "scratch"):
        folder.mkdir(parents=True)
    hosts = [f"worker-{number}.tiny.slipway.svc slots=1" for number in range(run.recipe.hardware.nodes)]
    (directory / "hostfile").write_text("\n".join(hosts) + "\n", encoding="utf-8")
    known = {
        "python": sys.executable,
        "record": RECORD,
        "records": str(directory / "records"),
        "told": str(directory / "told"),
        "train_done": str(run.done_file("train")),
    }
    texts = {
        "python": PYTHON,
        "neuron_parallel_compile": PARALLEL_COMPILE,
        "srun": SRUN,
        "mpirun": MPIRUN,
        "scontrol": SCONTROL,
        "getent": GETENT,
        "sleep": SLEEP,
    }
    for name, text in texts.items():
        filled = re.sub("{(" + "|".join(known) + ")}", lambda match: known[match[1]], text)
        (programs / name).write_text(filled, encoding="utf-8")
        (programs / name).chmod(0o755)
