"""`slipway-job run`: what is refused, the scripts that are written, and what a second submission does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import slipway_jobs
from slipway_jobs.chain.scripts import render
from slipway_jobs.cli import app
from slipway_jobs.environment import Environment
from slipway_jobs.kubernetes.manifests import job_set, mpi_job
from slipway_jobs.recipe.model import Restarts
from slipway_jobs.run import ScriptRun, read_run
from slipway_jobs.running.resolve import Wish, resolve_script
from tests.jobs.chain_case import FakeSlurm, environment_below, shellcheck
from tests.jobs.kubernetes.manifest_case import LAUNCHERS, OWNER, on_kubernetes
from tests.kubernetes.manifest_validation import errors_of

TRN1 = ("--queue", "trn1")
KIT = Path(slipway_jobs.__file__).parents[1]
CPU = ("--queue", "cpu", "--workers-per-node", "2")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    environment = environment_below(tmp_path, "trn1")
    (tmp_path / "environment.json").write_text(environment.model_dump_json(), encoding="utf-8")
    monkeypatch.setenv("SLIPWAY_ENVIRONMENT", str(tmp_path / "environment.json"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print('hello')\n", encoding="utf-8")
    slurm = FakeSlurm(tmp_path / "slurm")
    monkeypatch.setenv("PATH", slurm.install())
    return slurm


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["run", *arguments], env={"COLUMNS": "200"})


def resolved(environment: Environment, script: Path, compile_arguments: tuple[str, ...] | None = None) -> ScriptRun:
    wish = Wish(
        script=script,
        arguments=("--rate", "1e-4", "two words"),
        compile_arguments=compile_arguments,
        queue="trn1",
        instance_type=None,
        nodes=4,
        workers_per_node=None,
        stack=None,
        python=None,
        environment_variables={"NEURON_CC_FLAGS": "-O1 'x'", "PYTHONPATH": "/fsx/mine"},
        limits=Restarts(limit=2),
        save_seconds=60,
        working_directory=script.parent,
    )
    return resolve_script(wish, environment, Path(environment.runs_directory).parent / "environment.json", "train")


@pytest.mark.usefixtures("slurm")
def test_it_says_what_runs_where_and_what_it_costs(tmp_path: Path) -> None:
    result = call(*TRN1, "--nodes", "4", "train.py", "--", "--rate", "1e-4")

    assert result.exit_code == 0, result.output
    assert f"{tmp_path}/train.py --rate 1e-4" in result.output
    assert "4 x trn1.32xlarge of trn1, 32 workers each" in result.output
    assert "86.00 USD an hour at list price, 2,064 USD until the time limit of 24 h" in result.output
    assert "train    job 1\n" in result.output


@pytest.mark.usefixtures("slurm")
def test_a_python_of_ones_own_finds_the_compiler_of_the_training_stack(tmp_path: Path) -> None:
    python = tmp_path / "envs" / "mine" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert call(*TRN1, "--python", str(python), "train.py").exit_code == 0
    script = (tmp_path / "runs" / "train" / "scripts" / "train.sbatch").read_text()
    assert f"export PATH={python.parent}:/apps/neuron/xla-2.28/bin:" in script
    assert f"    {python} -m torch.distributed.run" in (tmp_path / "runs" / "train" / "scripts" / "node.sh").read_text()


@pytest.mark.usefixtures("slurm")
def test_compiling_is_a_job_of_its_own(tmp_path: Path) -> None:
    result = call(*TRN1, "--compile", "--max-steps 5", "train.py", "--", "--rate", "1e-4")

    assert "compile  job 1\ntrain    job 2\n" in result.output
    node = (tmp_path / "runs" / "train" / "scripts" / "node.sh").read_text()
    assert '[[ "$1" != compile ]] || command+=(--max-steps 5)' in node
    assert 'neuron_parallel_compile "${command[@]}"' in node


@pytest.mark.usefixtures("slurm")
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("train.py",), 2, "Missing option '--queue'"),
        (("--queue", "", "train.py"), 2, "'': the cluster has cpu, trn1, small"),
        (("--queue", "gpu", "train.py"), 2, "'gpu': the cluster has cpu, trn1, small"),
        ((*TRN1, "none.py"), 1, "none.py is not a file"),
        ((*TRN1, "--nodes", "65", "train.py"), 1, "--nodes 65: the queue trn1 has at most 64 of trn1.32xlarge"),
        ((*TRN1, "--nodes", "0", "train.py"), 2, "--nodes"),
        (("--queue", "small", "--nodes", "2", "train.py"), 1, "Neuron needs EFA between nodes, and trn1.2xlarge"),
        ((*TRN1, "--workers-per-node", "64", "train.py"), 1, "--workers-per-node 64: trn1.32xlarge has 32"),
        (("--queue", "cpu", "train.py"), 1, "--workers-per-node is missing: c7i.8xlarge has no NeuronCores"),
        ((*CPU, "--compile", "", "train.py"), 1, "--compile is for nodes with NeuronCores, and c7i.8xlarge has none"),
        ((*TRN1, "--instance-type", "trn2.48xlarge", "train.py"), 1, "the queue trn1 has trn1.32xlarge"),
        ((*TRN1, "--stack", "xla-1", "train.py"), 1, "--stack xla-1: the cluster has"),
        ((*TRN1, "--python", "/none", "train.py"), 1, "--python /none is not a file"),
        ((*TRN1, "--env", "NAME", "train.py"), 2, "'NAME' is not NAME=VALUE"),
        ((*TRN1, "--env", "A B=1", "train.py"), 1, "--env A B: write NAME=VALUE"),
        ((*TRN1, "--env", "SLURM_JOB_ID=1", "train.py"), 1, "the job sets this variable itself"),
        ((*TRN1, "--env", "HF_TOKEN=hf_x", "train.py"), 1, "--env HF_TOKEN: others can read a run's files"),
        ((*TRN1, "--name", "A B", "train.py"), 2, "'A B' is not a run's name"),
    ],
)
def test_what_is_said_wrong_is_named(tmp_path: Path, arguments: tuple[str, ...], status: int, message: str) -> None:
    result = call(*arguments)
    assert result.exit_code == status, result.output
    assert message in " ".join(result.output.replace("│", " ").split())
    assert "hf_x" not in result.output
    assert not (tmp_path / "runs").exists()


@pytest.mark.usefixtures("slurm")
def test_all_mistakes_are_told_at_once() -> None:
    result = call(*TRN1, "--nodes", "65", "--env", "A B=1", "none.py")
    assert len(result.output.splitlines()) == 4


@pytest.mark.usefixtures("slurm")
def test_a_queue_of_several_types_needs_one_to_be_named(tmp_path: Path) -> None:
    environment = environment_below(tmp_path, "trn1")
    queues = tuple(
        queue.model_copy(update={"instance_types": {**queue.instance_types, "trn1.2xlarge": 1}})
        for queue in environment.queues
    )
    (tmp_path / "environment.json").write_text(environment.model_copy(update={"queues": queues}).model_dump_json())
    assert (
        "--instance-type is missing: the queue trn1 has trn1.32xlarge, trn1.2xlarge" in call(*TRN1, "train.py").output
    )
    assert call(*TRN1, "--instance-type", "trn1.2xlarge", "train.py").exit_code == 0
    script = (tmp_path / "runs" / "train" / "scripts" / "train.sbatch").read_text()
    assert "#SBATCH --constraint=trn1.2xlarge" in script


@pytest.mark.usefixtures("slurm")
def test_it_takes_what_the_example_of_neuronx_distributed_gives(tmp_path: Path) -> None:
    folder = tmp_path / "checkout" / "examples" / "training" / "llama" / "tp_zero1_llama_hf_pretrain"
    folder.mkdir(parents=True)
    (folder / "tp_zero1_llama_hf_pretrain.py").touch()
    program = tmp_path / "slipway-job"
    program.write_text(f'#!/bin/bash\nPYTHONPATH={KIT} exec {sys.executable} -m slipway_jobs "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    words = (KIT / "examples" / "nxd_llama.sh", tmp_path / "checkout", sys.executable, "/fsx/data/mine")
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    asked = subprocess.run(
        ["bash", *words, "--nodes", "4", "--dry-run"], env=environment, capture_output=True, text=True, check=False
    )

    assert asked.returncode == 0, asked.stderr
    assert '[[ "$1" != compile ]] || command+=(--steps_this_run 2)' in asked.stdout
    assert f"  export PYTHONPATH={folder.parent}\n" in asked.stdout
    assert f"  cd {folder}\n" in asked.stdout
    assert "#SBATCH --nodes=4" in asked.stdout
    assert "--checkpoint_dir /fsx/checkpoints/nxd-llama " in asked.stdout


def test_a_script_that_others_can_write_is_refused(tmp_path: Path, slurm: FakeSlurm) -> None:
    (tmp_path / "train.py").chmod(0o666)
    result = call(*TRN1, "train.py")
    assert result.exit_code == 1
    assert "others can write to" in result.output
    assert not (slurm.directory / "calls").exists()


@pytest.mark.usefixtures("slurm")
def test_other_arguments_do_a_finished_script_again(tmp_path: Path) -> None:
    assert call(*TRN1, "train.py", "--", "--steps", "10").exit_code == 0
    run = read_run(tmp_path / "runs" / "train" / "run.json")
    run.done_file("train").touch()

    assert "there is nothing to submit" in call(*TRN1, "train.py", "--", "--steps", "10").output
    again = call(*TRN1, "train.py", "--", "--steps", "20")
    assert "train    again, for something it is made of has changed" in again.output
    assert not run.done_file("train").exists()
    other = CliRunner().invoke(app, ["submit", "tanuki-8b-short", "--name", "train", "--dry-run"])
    assert other.exit_code == 1


@pytest.mark.parametrize("launcher", [None, *LAUNCHERS])
@pytest.mark.parametrize("compile_arguments", [None, (), ("--max-steps", "5")])
def test_its_scripts_please_shellcheck_and_hand_over_what_was_said(
    launcher: str | None, compile_arguments: tuple[str, ...] | None, tmp_path: Path
) -> None:
    (tmp_path / "train.py").touch()
    environment = environment_below(tmp_path, "trn1")
    if launcher:
        environment = on_kubernetes(environment, launcher)  # type: ignore[arg-type]
    run = resolved(environment, tmp_path / "train.py", compile_arguments)
    shellcheck(render(run, environment), tmp_path)
    node = (tmp_path / "node.sh").read_text()
    assert "export FI_PROVIDER=efa" in node
    assert "NEURON_RT_STOCHASTIC_ROUNDING_EN" not in node, "what depends on a model is the script's"
    [exported] = re.findall(r"^ +export NEURON_CC_FLAGS='.*", node, re.MULTILINE)
    shown = subprocess.run(
        ["bash", "-c", f'{exported}\necho "$NEURON_CC_FLAGS"'], capture_output=True, text=True, check=True
    )
    assert shown.stdout == "-O1 'x'\n"
    assert f"{tmp_path}/train.py --rate 1e-4 'two words'" in node


def test_what_a_compile_job_saves_is_not_what_the_training_begins_with(tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    environment = environment_below(tmp_path, "trn1")
    run = resolved(environment, tmp_path / "train.py", ())
    [node] = (text for file, text in render(run, environment).items() if file.name == "node.sh")
    [workers] = re.findall(r"^workers\(\) \{\n.*?^\}\n", node, re.MULTILINE | re.DOTALL)
    job = f"""
        set -euo pipefail
        {workers}
        workers compile; echo "$SLIPWAY_CHECKPOINTS"; touch "$SLIPWAY_CHECKPOINTS/of-no-use"
        workers train; echo "$SLIPWAY_CHECKPOINTS"
    """
    places = {"NODES": "4", "NODE_RANK": "3", "MASTER_ADDRESS": "node-1", "PATH": os.environ["PATH"]}
    saved = subprocess.run(["bash", "-c", job], env=places, capture_output=True, text=True, check=True).stdout
    compiling, training = map(Path, saved.split())
    assert training == run.model_directory
    assert compiling != training
    assert not compiling.exists()


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_its_objects_on_kubernetes_are_valid(launcher: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    environment = on_kubernetes(environment_below(tmp_path, "trn1"), launcher)  # type: ignore[arg-type]
    run = resolved(environment, tmp_path / "train.py", ())

    made = [job_set(run, environment, run.stages, "0123456789ab")]
    if launcher == "mpi":
        made.append(mpi_job(run, environment, OWNER, "0123456789ab", 0))

    assert [errors_of(manifest, "1.35") for manifest in made] == [[]] * len(made)
    assert [job["name"] for job in made[0]["spec"]["replicatedJobs"]] == ["train"]
    assert made[0]["spec"]["failurePolicy"]["maxRestarts"] == 2


def test_pods_reach_files_on_the_shared_disk_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = on_kubernetes(environment_below(tmp_path / "fsx", "trn1"))
    (tmp_path / "environment.json").write_text(environment.model_dump_json(), encoding="utf-8")
    monkeypatch.setenv("SLIPWAY_ENVIRONMENT", str(tmp_path / "environment.json"))
    (tmp_path / "train.py").touch()
    monkeypatch.chdir(tmp_path)
    result = call(*TRN1, "train.py")
    assert result.exit_code == 1
    assert f"{tmp_path}/train.py is not below {tmp_path}/fsx, which is all that pods share" in result.output
