"""Submitting a run: whole or not at all, once, and again where it stopped."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from slipway_jobs.chain.record import read_chain
from slipway_jobs.chain.slurm import SlurmError
from slipway_jobs.environment import Environment, read_environment
from slipway_jobs.run import TRAINING_STAGES, Stage, TrainingRun, read_training_run
from slipway_jobs.submit.submission import Refused, cancel_run, plan, submit_run
from tests.jobs.chain_case import FakeSlurm, environment_below, run_of


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return environment_below(tmp_path)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    slurm = FakeSlurm(tmp_path / "slurm")
    monkeypatch.setenv("PATH", slurm.install())
    return slurm


def submit(environment: Environment, *overrides: str, recipe: str = "tiny-llama") -> TrainingRun:
    """Submit a shipped recipe and return the run as it was written."""
    run = run_of(environment, recipe, *overrides)
    submit_run(plan(run, environment))
    return read_training_run(run.file)


def finish(run: TrainingRun, *stages: Stage) -> None:
    """Do as the jobs of these stages do."""
    for stage in stages:
        run.done_file(stage).touch()
    for name, made in {"prepare": run.prepared_directory, "convert": run.converted_directory}.items():
        if name in stages:
            Path(made).mkdir(parents=True)
            (Path(made) / "done").touch()


def test_each_job_waits_for_the_one_before_and_the_first_until_all_are_there(
    environment: Environment, slurm: FakeSlurm
) -> None:
    run = submit(environment)

    scripts = [run.script(stage) for stage in TRAINING_STAGES]
    assert slurm.calls("sbatch") == [
        f"--parsable --hold {scripts[0]}",
        *(f"--parsable --dependency=afterok:{job} {script}" for job, script in enumerate(scripts[1:], start=1)),
    ]
    assert slurm.calls("scontrol") == ["release 1"]
    chain = read_chain(run.chain_file)
    assert chain.jobs == dict(zip(TRAINING_STAGES, "12345", strict=True))
    assert all(os.access(script, os.X_OK) for script in scripts)
    # A later update of the environment is none of this run's.
    assert read_environment(Path(run.environment_file)) == environment
    assert Path(run.environment_file).parent == Path(run.directory)


@pytest.mark.parametrize("refused", [1, 3, 5])
def test_a_refused_job_takes_the_whole_submission_with_it(
    environment: Environment, slurm: FakeSlurm, refused: int
) -> None:
    slurm.say(f"refuse-{refused}")
    run = run_of(environment)

    with pytest.raises(SlurmError, match="sbatch: sbatch: error: invalid partition specified: cpu"):
        submit_run(plan(run, environment))

    assert not Path(run.directory).exists()
    if refused > 1:
        assert slurm.calls("scancel") == [" ".join(map(str, range(1, refused)))]
    assert [path.name for path in Path(run.directory).parent.iterdir()] == [".tiny-llama.lock"]


def test_a_chain_that_cannot_be_released_is_taken_back(environment: Environment, slurm: FakeSlurm) -> None:
    slurm.say("scontrol-fails")

    with pytest.raises(SlurmError):
        submit(environment)

    assert slurm.calls("scancel") == ["1 2 3 4 5"]


def test_a_resubmission_that_fails_leaves_the_record_as_it_was(environment: Environment, slurm: FakeSlurm) -> None:
    run = submit(environment)
    before = run.chain_file.read_text(encoding="utf-8")
    slurm.say("refuse-7")

    with pytest.raises(SlurmError):
        submit(environment)

    assert run.chain_file.read_text(encoding="utf-8") == before
    assert slurm.calls("scancel") == ["6"]


def test_nothing_is_submitted_while_jobs_of_the_run_have_not_ended(environment: Environment, slurm: FakeSlurm) -> None:
    submit(environment)
    slurm.say("queue", "3 tiny-llama-train RUNNING alice\n4 tiny-llama-convert PENDING alice\n")

    with pytest.raises(Refused) as refused:
        submit(environment)

    assert "  tiny-llama-train: job 3 of alice, running\n" in str(refused.value)
    assert "slipway-job cancel tiny-llama" in str(refused.value)
    assert len(slurm.calls("sbatch")) == 5


def test_two_people_cannot_submit_a_run_at_once(environment: Environment, slurm: FakeSlurm) -> None:
    runs = Path(environment.runs_directory)
    runs.mkdir()
    with (runs / ".tiny-llama.lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        with pytest.raises(Refused, match="somebody is submitting the run tiny-llama at this moment"):
            submit(environment)
    assert not (slurm.directory / "calls").exists()


@pytest.mark.usefixtures("slurm")
def test_a_run_that_appeared_meanwhile_is_not_overwritten(environment: Environment) -> None:
    planned = plan(run_of(environment), environment)
    submit(environment)

    with pytest.raises(Refused, match="submitted by somebody else"):
        submit_run(planned)


def test_slurm_that_does_not_answer_is_told_and_nothing_is_written(environment: Environment, slurm: FakeSlurm) -> None:
    slurm.say("unreachable")

    with pytest.raises(SlurmError, match="Unable to contact slurm controller"):
        submit(environment)

    assert not Path(environment.runs_directory, "tiny-llama").exists()


def test_without_slurm_the_message_says_where_to_go(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SlurmError, match="there is no squeue here: run slipway-job on the cluster's head node"):
        submit(environment)


@pytest.mark.usefixtures("slurm")
@pytest.mark.parametrize(
    ("finished", "overrides", "todo"),
    [
        ((), (), TRAINING_STAGES),
        (("prepare", "compile"), (), ("train", "convert", "publish")),
        (("prepare", "compile", "train"), (), ("convert", "publish")),
        (("train", "convert"), (), ("publish",)),
        (TRAINING_STAGES, (), ()),
        (("prepare", "compile"), ("checkpoint.keep=5", "restarts.limit=9"), ("train", "convert", "publish")),
        (("prepare", "compile"), ("batch.micro_size=1",), ("compile", "train", "convert", "publish")),
        (
            ("prepare", "compile"),
            ("data.validation.source=/not-here", "data.validation.interval_steps=5", "data.validation.batches=1"),
            TRAINING_STAGES,
        ),
        # The training is over: nothing is compiled for it.
        (("prepare", "compile", "train"), ("batch.micro_size=1",), ("convert", "publish")),
        (TRAINING_STAGES, ("publish.version=v2",), ("publish",)),
    ],
)
def test_a_run_goes_on_where_it_stopped(
    environment: Environment, finished: tuple[Stage, ...], overrides: tuple[str, ...], todo: tuple[Stage, ...]
) -> None:
    run = submit(environment)
    finish(run, *finished)

    again = plan(run_of(environment, "tiny-llama", *overrides), environment)

    assert again.todo == todo
    if todo:
        submission = submit_run(again)
        assert tuple(submission.jobs) == todo
        assert not any(run.done_file(stage).exists() for stage in todo)


@pytest.mark.usefixtures("slurm")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("steps=40", "steps was 20 and would be 40"),
        ("optimizer.learning_rate=1e-3", "optimizer.learning_rate was 0.005 and would be 0.001"),
        ("data.seed=7", "data.seed was 42 and would be 7"),
        # ZeRO-1: each replica has its part of the optimizer.
        ("hardware.nodes=4", "hardware.nodes was 2 and would be 4"),
        ("parallelism.fuse_qkv=false", "parallelism.fuse_qkv was True and would be False"),
    ],
)
def test_a_change_that_makes_another_model_needs_another_name(
    environment: Environment, change: str, message: str
) -> None:
    submit(environment)

    with pytest.raises(Refused) as refused:
        submit(environment, change)

    assert f"  {message}\n" in str(refused.value)
    assert "--name" in str(refused.value)


@pytest.mark.usefixtures("slurm")
def test_checkpoints_of_fully_sharded_fit_another_number_of_nodes(environment: Environment) -> None:
    run = submit(environment, recipe="tiny-llama-native")
    finish(run, "prepare", "compile")

    again = plan(run_of(environment, "tiny-llama-native", "hardware.nodes=4"), environment)

    assert again.todo == ("compile", "train", "convert", "publish")


def test_a_folder_that_holds_no_run_is_left_alone(environment: Environment) -> None:
    folder = Path(environment.runs_directory, "tiny-llama")
    folder.mkdir(parents=True)

    with pytest.raises(Refused, match="holds no run of this version of the kit"):
        plan(run_of(environment), environment)
    assert list(folder.iterdir()) == []


def test_cancel_ends_what_has_not_ended(environment: Environment, slurm: FakeSlurm) -> None:
    run = submit(environment)
    slurm.say("queue", "3 tiny-llama-train RUNNING alice\n4 tiny-llama-convert PENDING alice\n")

    assert [job.job for job in cancel_run(run.name, environment)] == ["3", "4"]
    assert slurm.calls("scancel") == ["3 4"]
    with pytest.raises(Refused, match="there is no run other"):
        cancel_run("other", environment)
