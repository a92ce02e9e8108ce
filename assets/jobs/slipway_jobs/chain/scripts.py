"""The scripts of a run: one for each stage, and one that each node of the compile and train stages runs.

Commands, environment variables and numbers of processes are the same text for all schedulers. What differs is in
`templates/<scheduler>` (what a job is called, how it is stopped and started again) and in `templates/launchers` (how
the node's script starts on all nodes, and how a node learns which one it is).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment as Templates
from jinja2 import FileSystemLoader, StrictUndefined

from slipway_jobs.arithmetic.estimate import estimate
from slipway_jobs.chain.variables import variables
from slipway_jobs.environment import Environment
from slipway_jobs.run import Run, ScriptRun, Stage, TrainingRun, WorkerRun

NODE_SCRIPT = "node.sh"
"""Name of the script that each node of the compile and train jobs runs."""

OTHER_STAGES_HOURS = 24
"""Time limit of the jobs on nodes without accelerator, which a recipe does not give."""

COMPILE_TRIES = 3
"""How often the compile job tries."""

CACHE_SECONDS = 900
"""How long the copying of the compile cache may take, each way."""

HANDED_OVER = "HOME,USER,LANG,PATH,SLURM_CONF"
"""Variables of the submitting shell that jobs get: what else is in it, they neither depend on nor see."""

GRACE_SECONDS = 300
"""How long a job has at least to obey a signal."""

STOPPED_STATUS = 75
"""Exit status of a pod that was asked to stop; the run goes on (EX_TEMPFAIL of sysexits.h)."""

START_SECONDS = 7200
"""How long the pods of a job wait for each other: an image of tens of GiB, on nodes that start one after the other."""

HOST_FILE = "/etc/mpi/hostfile"
"""Where the MPI operator puts the list of workers."""

MPIRUN = "/opt/amazon/openmpi/bin/mpirun"
"""Open MPI as the EFA installer in the training image puts it."""

SSH_PORT = 2222
"""Where the workers' sshd listens, which is not root."""

PROGRAMS = ("/opt/aws/neuron/bin", "/usr/bin", "/bin")
"""Folders of programs that jobs need, after those of the PATH that they find."""


class Plain(str):
    """Text that goes into a script as it is."""

    __slots__ = ()


def render(run: Run, environment: Environment) -> dict[Path, str]:
    """Return the content of each script of a run, by its path."""
    templates = _templates()
    scripts = {
        script(run, stage): templates.get_template(_template(stage)).render(_context(run, stage, environment))
        for stage in run.stages
    }
    if isinstance(run, WorkerRun):
        scripts[node_script(run)] = templates.get_template("node.sh.j2").render(_worker_context(run, environment))
    return scripts


def script(run: Run, stage: Stage) -> Path:
    """Return the path of a stage's script: for sbatch, or for what a pod runs."""
    return run.script(stage).with_suffix(".sbatch" if run.scheduler == "slurm" else ".sh")


def node_script(run: Run) -> Path:
    """Return the path of the script that each node of the compile and train jobs runs."""
    return run.script("train").with_name(NODE_SCRIPT)


def job_name(run_name: str, stage: Stage) -> str:
    """Return the name of a stage's job. Run names are unique on a cluster, and no stage's name has a hyphen."""
    return f"{run_name}-{stage}"


def _templates() -> Templates:
    """Return the templates. Each value that they print is quoted for the shell, unless it says that it is `plain`."""
    templates = Templates(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Jinja's own begin like the shell's `${#list[@]}`.
        comment_start_string="<#",
        comment_end_string="#>",
        finalize=lambda value: value if isinstance(value, Plain) else shlex.quote(str(value)),
    )
    templates.filters["plain"] = Plain
    templates.filters["words"] = lambda words: Plain(shlex.join(words))
    return templates


def _template(stage: Stage) -> str:
    return "workers.sh.j2" if stage in ("compile", "train") else "commands.sh.j2"


def _launcher(environment: Environment) -> str:
    """Return what starts the node's script: `srun`, `torchrun` in each pod by itself, or `mpirun`."""
    if environment.kubernetes is None:
        return "srun"
    return {"torchrun": "torchrun", "mpi": "mpirun"}[environment.kubernetes.launcher]


def _context(run: Run, stage: Stage, environment: Environment) -> dict[str, object]:
    shared: dict[str, object] = {
        "run": run,
        "stage": stage,
        "scheduler": run.scheduler,
        "grace_seconds": grace_seconds(run, environment),
        "python_directories": _python_directories(run, environment),
        "programs": PROGRAMS,
        "needed": [run.done_file(before) for before in _before(run, stage)],
    }
    shared |= _slurm_context(run, stage, environment) if run.scheduler == "slurm" else _pod_context(run, stage)
    if isinstance(run, WorkerRun) and stage in ("compile", "train"):
        shared |= {"node_script": node_script(run), "compile_tries": COMPILE_TRIES, "when_terminated": "stop USR1"}
        return shared | _worker_context(run, environment)
    return shared | {
        # What one node does is begun anew after a stop.
        "when_terminated": "cancel TERM",
        "launcher": None,
        "commands": _commands(run, stage, environment),
        "variables": {"TOKENIZERS_PARALLELISM": "false"},
    }


def _slurm_context(run: Run, stage: Stage, environment: Environment) -> dict[str, object]:
    options = [Plain(f"--{name}={shlex.quote(value)}") for name, value in _options(run, stage, environment)]
    return {
        "options": [*options, Plain("--exclusive"), Plain("--requeue")],
        "programs": ("/opt/slurm/bin", *PROGRAMS),
    }


def _pod_context(run: Run, stage: Stage) -> dict[str, object]:
    # Pods of the other stages have a deadline: they have nothing to save.
    limits = {"compile": OTHER_STAGES_HOURS, "train": time_limit_hours(run, "train")}
    return {
        "options": (),
        "stopped_status": STOPPED_STATUS,
        "time_limit_seconds": limits[stage] * 3600 if stage in limits else None,
        "next_script": script(run, "train") if stage == "compile" else None,
        "meetings": Path(run.directory) / "meetings",
        "start_seconds": START_SECONDS,
        "compile_seconds": OTHER_STAGES_HOURS * 3600,
        "verdict_seconds": CACHE_SECONDS + 120,
        "host_file": HOST_FILE,
        "mpirun": MPIRUN,
        "ssh_port": SSH_PORT,
    }


def _worker_context(run: WorkerRun, environment: Environment) -> dict[str, object]:
    efa = any(queue.name == run.queue and queue.efa for queue in environment.queues)
    ahead_of_time = run.recipe.compile.ahead_of_time if isinstance(run, TrainingRun) else "compile" in run.stages
    return {
        "run": run,
        "launcher": _launcher(environment),
        "variables": variables(run, efa=efa),
        "script": run if isinstance(run, ScriptRun) else None,
        "ahead_of_time": ahead_of_time,
        # On processors only a stand-in of the compiler can fill it.
        "cached": run.hardware.device == "neuron" or ahead_of_time,
        "cache_name": f"neuronxcc-{run.compiler}",
        "driver_check": _driver_check(run, environment),
        "cache_seconds": CACHE_SECONDS,
    }


def _driver_check(run: WorkerRun, environment: Environment) -> Sequence[str]:
    """Return the command that compares the node's driver with the library in the pod; empty on Slurm nodes."""
    stack = next((queue.training_stack for queue in environment.queues if queue.name == run.queue), None)
    runtime = environment.training_stacks[stack].runtime if stack else None
    if run.scheduler == "slurm" or run.hardware.device != "neuron" or runtime is None:
        return ()
    module = ("-m", "slipway_jobs.chain.neuron_driver")
    return (run.kit_python, *module, runtime.version, runtime.driver_from or "any", runtime.driver_below or "any")


def _python_directories(run: Run, environment: Environment) -> Sequence[Path]:
    """Return where the programs of the job's Python are: behind a script's own, those of the training stack."""
    if not isinstance(run, WorkerRun):
        return [Path(run.kit_python).parent]
    own = Path(run.python).parent
    stack = Path(environment.training_stacks_directory, run.training_stack).resolve() / "bin"
    return [own, stack] if isinstance(run, ScriptRun) and own != stack else [own]


def _before(run: Run, stage: Stage) -> Sequence[Stage]:
    """Return the stages that must be finished: compile does not change what convert reads."""
    after_training = isinstance(run, TrainingRun) and stage in ("convert", "publish")
    first = run.stages.index("train") if after_training else 0
    return run.stages[first : run.stages.index(stage)]


def _commands(run: Run, stage: Stage, environment: Environment) -> list[list[str]]:
    """Return the commands of a stage that takes one node."""
    file = str(run.file)
    if stage == "publish":
        return [[run.kit_python, "-m", "slipway_jobs.publishing", "--run", file]]
    if not isinstance(run, TrainingRun):
        return [[*_with_token(run, environment), run.kit_python, "-m", "slipway_jobs.importing", "--run", file]]
    if stage == "convert":
        return [[run.python, "-m", "slipway_conversion", "to-transformers", "--run", file]]
    commands = [[*_with_token(run, environment), run.python, "-m", "slipway_training.prepare", "--run", file]]
    if run.recipe.initial_weights and run.recipe.parallelism.strategy == "tensor_parallel":
        commands.append([run.python, "-m", "slipway_conversion", "from-transformers", "--run", file])
    return commands


def _with_token(run: Run, environment: Environment) -> list[str]:
    """Return what gives the command behind it a Hugging Face token, which is in no script and on no command line."""
    secret = environment.kubernetes and environment.kubernetes.hugging_face_token_secret
    if not secret:
        return []
    return [run.kit_python, "-m", "slipway_jobs.kubernetes.hugging_face_token", secret, run.region, "--"]


def _options(run: Run, stage: Stage, environment: Environment) -> list[tuple[str, str]]:
    """Return sbatch's options. --exclusive gives all processors of a node; the steps ask for them by themselves."""
    workers = run.hardware if isinstance(run, WorkerRun) and stage in ("compile", "train") else None
    queue = run.queue if isinstance(run, WorkerRun) and workers else run.cpu_queue
    options = [
        ("job-name", job_name(run.name, stage)),
        ("comment", job_name(run.name, stage)),
        ("partition", queue),
        ("nodes", str(workers.nodes if workers else 1)),
        ("ntasks-per-node", "1"),
        ("mem", "0"),
        ("time", f"{time_limit_hours(run, stage)}:00:00"),
        ("output", str(run.log(stage)).replace("%", "%%")),
        ("open-mode", "append"),
        ("chdir", run.directory),
        ("export", HANDED_OVER),
        ("kill-on-invalid-dep", "yes"),
    ]
    if stage == "train":
        options.append(("signal", f"B:USR1@{grace_seconds(run, environment)}"))
    types = next((row.instance_types for row in environment.queues if row.name == queue), {})
    if workers and workers.instance_type and len(types) > 1:
        # ParallelCluster gives each node its instance type as a feature.
        options.append(("constraint", workers.instance_type))
    return options


def time_limit_hours(run: Run, stage: Stage) -> int:
    """Return the time limit of a stage's job."""
    return run.restarts.time_limit_hours if isinstance(run, WorkerRun) and stage == "train" else OTHER_STAGES_HOURS


def grace_seconds(run: Run, environment: Environment) -> int:
    """Return how long a job has to stop, in seconds; on Slurm the train job is told so long before its time limit.

    Enough, by the high ends of the estimate, to finish a step and to write its checkpoint after one that is on its way,
    and 5 minutes more; at most half of the time limit. Slurm may send the signal up to a minute early (sbatch's manual
    page).
    """
    if isinstance(run, ScriptRun):
        return min(GRACE_SECONDS + run.save_seconds, run.restarts.time_limit_hours * 1800)
    if not isinstance(run, TrainingRun):
        return GRACE_SECONDS
    seconds = GRACE_SECONDS + estimate(run, environment).stop_seconds
    return int(min(seconds, run.recipe.restarts.time_limit_hours * 1800))
