"""What another user plants is never run or loaded: runs, checkpoints, prepared data, compile caches, exporters."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from slipway_jobs import ownership
from slipway_jobs.chain import attempt
from slipway_jobs.cli import app
from slipway_jobs.environment import Environment
from slipway_jobs.ownership import NotOwn, own_folder, require_own, user_folder, user_path
from slipway_jobs.publishing import exporter_environment
from slipway_jobs.publishing.refusal import PublishRefused
from slipway_jobs.run import TrainingRun
from slipway_jobs.submit.submission import Refused, plan, submit_run
from tests.jobs.chain_case import FakeSlurm, environment_below, run_of
from tests.jobs.publishing_case import EXPORT, PublishCase, recipe

MALLORY = 2000

GiveAway = Callable[[Path], None]


@pytest.fixture
def give_away(monkeypatch: pytest.MonkeyPatch) -> GiveAway:
    """Make a path and what is below it Mallory's: really as root, to the check's eyes as another user."""
    taken: list[Path] = []
    look = ownership._status

    def status(path: Path) -> os.stat_result:
        seen = look(path)
        if any(path == one or one in path.parents for one in taken):
            return os.stat_result((*seen[:4], MALLORY, *seen[5:]))
        return seen

    def give(path: Path) -> None:
        if os.getuid() != 0:
            taken.append(path)
            return
        for one in (path, *path.rglob("*")):
            os.chown(one, MALLORY, MALLORY, follow_symlinks=False)

    monkeypatch.setattr(ownership, "_status", status)
    return give


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """The folders that the head node makes: everybody makes folders of their own there."""
    environment = environment_below(tmp_path)
    for folder in (environment.runs_directory, environment.checkpoints_directory, environment.prepared_directory):
        Path(folder).mkdir()
        Path(folder).chmod(0o1777)
    return environment


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    slurm = FakeSlurm(tmp_path / "slurm")
    monkeypatch.setenv("PATH", slurm.install())
    return slurm


def submitted(environment: Environment) -> TrainingRun:
    run = run_of(environment)
    submit_run(plan(run, environment))
    return run


def begin(run: TrainingRun, monkeypatch: pytest.MonkeyPatch) -> int:
    """Begin the train stage as its script does."""
    for name, value in {"SLURM_JOB_ID": "3", "SLURM_JOB_NUM_NODES": "1"}.items():
        monkeypatch.setenv(name, value)
    return attempt.main(["begin", str(run.file), "train"])


def test_a_planted_run_is_not_submitted(environment: Environment, slurm: FakeSlurm, give_away: GiveAway) -> None:
    run = submitted(environment)
    before = slurm.calls("sbatch")
    # Mallory leaves it open, so that the victim can write what Mallory replaces afterwards.
    for path in (Path(run.directory), *Path(run.directory).rglob("*")):
        path.chmod(0o777)
    give_away(Path(run.directory))
    script = run.script("train").read_text(encoding="utf-8")
    run.script("train").write_text(f"{script}# of Mallory", encoding="utf-8")

    with pytest.raises(Refused) as refused:
        submit_run(plan(run, environment))

    assert f"{run.directory} (mode 0777 of user {MALLORY}) is somebody else's" in str(refused.value)
    assert slurm.calls("sbatch") == before
    assert run.script("train").read_text(encoding="utf-8").endswith("# of Mallory")


@pytest.mark.parametrize("field", ["checkpoint_directory", "converted_directory", "prepared_directory"])
def test_what_a_new_run_would_go_on_with_must_be_its_users(
    environment: Environment, slurm: FakeSlurm, give_away: GiveAway, field: str
) -> None:
    run = run_of(environment)
    planted = Path(getattr(run, field))
    planted.mkdir(parents=True)
    (planted / "done").touch()
    give_away(planted)

    with pytest.raises(Refused, match=f"{planted} .mode 0755 of user {MALLORY}. is somebody else's"):
        submit_run(plan(run, environment))

    assert not (slurm.directory / "calls").exists()
    assert not Path(run.directory).exists()


@pytest.mark.usefixtures("slurm")
def test_prepared_data_of_another_user_are_made_again(environment: Environment, give_away: GiveAway) -> None:
    run = submitted(environment)
    shared = Path(environment.prepared_directory) / "tiny-llama-0123"
    shared.mkdir()
    (shared / "done").touch()
    old = run.model_copy(update={"prepared_directory": str(shared)})
    run.file.write_text(old.model_dump_json(), encoding="utf-8")

    assert plan(run, environment).run.product("prepare") == shared
    give_away(shared)
    assert plan(run, environment).run.product("prepare") == Path(run.prepared_directory)


@pytest.mark.usefixtures("slurm")
@pytest.mark.parametrize(
    "place", [lambda run: run.checkpoint_directory, lambda run: run.compile_cache, lambda run: run.prepared_directory]
)
def test_a_job_does_not_begin_with_what_was_planted_after_its_submission(
    environment: Environment,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    give_away: GiveAway,
    place: Callable[[TrainingRun], str],
) -> None:
    run = submitted(environment)
    planted = Path(place(run))
    (planted / "MODULE_1").mkdir(parents=True)
    (planted / "MODULE_1" / "model.neff").write_text("of Mallory", encoding="utf-8")
    give_away(planted)

    assert begin(run, monkeypatch) == 1

    assert f"{planted} (mode 0755 of user {MALLORY}) is somebody else's" in capsys.readouterr().err


@pytest.mark.usefixtures("slurm")
def test_a_job_makes_its_folders_before_anybody_else_can(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = submitted(environment)

    assert begin(run, monkeypatch) == 0

    assert stat.S_IMODE(user_path(Path(environment.runs_directory)).stat().st_mode) == 0o700
    for made in (run.checkpoint_directory, str(Path(run.prepared_directory).parent), run.compile_cache):
        assert Path(made).stat().st_uid == os.getuid()
        assert not Path(made).stat().st_mode & 0o022


@pytest.mark.usefixtures("slurm")
def test_a_shared_folder_that_another_user_made_is_refused(environment: Environment, give_away: GiveAway) -> None:
    give_away(Path(environment.runs_directory))

    with pytest.raises(Refused, match=f"{environment.runs_directory} .mode 1777 of user {MALLORY}."):
        plan(run_of(environment), environment)


@pytest.mark.parametrize("place", [".exporters/{user}", ".user-{user}/exporters"])
def test_a_planted_exporter_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, give_away: GiveAway, place: str
) -> None:
    case = PublishCase(tmp_path / "runs", recipe(publish={"model": "tanuki", "version": "v1", "export": EXPORT}))
    case.convert()
    marker = tmp_path / "marker"
    folder = case.folder / place.format(user=os.getuid())
    (folder / case.exporter.name / "bin").mkdir(parents=True)
    (folder / case.exporter.name / "done").touch()
    for name in ("python", "optimum-cli"):
        program = folder / case.exporter.name / "bin" / name
        program.write_text(f"#!/bin/sh\ntouch '{marker}'\n", encoding="utf-8")
        program.chmod(0o755)
    give_away(folder.parent if folder.name == "exporters" else folder)

    def build(*_arguments: Any) -> None:
        raise PublishRefused(["nothing is built in this test"])

    monkeypatch.setattr(exporter_environment, "_build", build)
    standing = type("NoVersions", (), {"manifest": lambda _: None, "claim": lambda *_: None})
    monkeypatch.setattr("slipway_jobs.publishing.stage.VersionPrefix", lambda *_: standing())

    with pytest.raises(PublishRefused, match=r"nothing is built in this test|is somebody else's"):
        case.publish(s3=None)

    assert not marker.exists()


@pytest.mark.parametrize("mask", [0o000, 0o002])
@pytest.mark.usefixtures("slurm")
def test_others_cannot_write_to_a_run_whatever_the_users_umask(
    tmp_path: Path, environment: Environment, monkeypatch: pytest.MonkeyPatch, mask: int
) -> None:
    file = tmp_path / "environment.json"
    file.write_text(environment.model_dump_json(), encoding="utf-8")
    monkeypatch.setenv("SLIPWAY_ENVIRONMENT", str(file))
    before = os.umask(mask)
    try:
        result = CliRunner().invoke(app, ["submit", "tiny-llama", "--name", "mine"])
    finally:
        os.umask(before)

    assert result.exit_code == 0, result.output
    run = Path(environment.runs_directory, "mine")
    assert [path for path in (run, *run.rglob("*")) if path.stat().st_mode & 0o022] == []
    assert "\numask g-w,o-w\n" in (run / "scripts" / "train.sbatch").read_text(encoding="utf-8")


def test_a_folder_that_others_can_write_to_is_refused_with_what_to_do(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    folder = own_folder(shared / "mine", shared)
    for mode in (0o775, 0o757, 0o1777):
        folder.chmod(mode)
        with pytest.raises(NotOwn, match=f"others can write to {folder} .mode {mode:04o} of .*chmod -R go-w {folder}"):
            require_own(folder, shared)
    folder.chmod(0o700)
    require_own(folder, shared)
    shared.chmod(0o777)
    with pytest.raises(NotOwn, match=f"others can write to {shared} "):
        require_own(folder, shared)


def test_a_link_is_refused_wherever_it_stands(tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")

    for path in (tmp_path / "link", tmp_path / "link" / "inner"):
        with pytest.raises(NotOwn, match=r"link .a link of .* stands where your jobs expect"):
            require_own(path, tmp_path)


def test_a_planted_lock_does_not_write_elsewhere(environment: Environment, slurm: FakeSlurm, tmp_path: Path) -> None:
    Path(environment.runs_directory, ".tiny-llama.lock").symlink_to(tmp_path / "victim")

    with pytest.raises(OSError, match="symbolic link"):
        submitted(environment)

    assert not (tmp_path / "victim").exists()
    assert not (slurm.directory / "calls").exists()


def succeeds_as(user: int, work: Callable[[], object]) -> bool:
    """Return whether something raises no error when another user does it."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            work()
        except BaseException:  # the child must not go on with the tests
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be two other users")
def test_two_users_have_folders_of_their_own_and_neither_can_take_the_others() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        runs = Path(name)
        runs.chmod(0o1777)
        for user in (MALLORY, MALLORY + 1):
            assert succeeds_as(user, lambda: user_folder(runs))
        victim = runs / f".user-{MALLORY + 1}"
        assert not succeeds_as(MALLORY, lambda: victim.rename(runs / "taken"))
        assert not succeeds_as(MALLORY, (victim / "exporters").mkdir)
        assert not succeeds_as(MALLORY, lambda: own_folder(victim / "exporters", runs))
        assert succeeds_as(MALLORY + 1, (victim / "exporters").mkdir)


def test_the_users_folder_is_closed_to_others(tmp_path: Path) -> None:
    assert stat.S_IMODE(user_folder(tmp_path).stat().st_mode) == 0o700
