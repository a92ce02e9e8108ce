"""`slipway-job fetch`: the command and the job, with the real huggingface_hub and a stand-in of the Hub."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest
from huggingface_hub import constants
from typer.testing import CliRunner, Result

from slipway_jobs.cli import app
from slipway_jobs.environment import read_environment
from slipway_jobs.importing import data_command
from slipway_jobs.importing.data_folder import DataManifest
from slipway_jobs.recipe.load import load_recipe
from slipway_jobs.recipe.source_files import FETCHED, missing_files
from slipway_jobs.run import DataRun, read_run
from tests.assets.sandbox import ASSETS
from tests.jobs.chain_case import RECIPES, FakeSlurm, environment_below
from tests.jobs.hub_server import COMMIT, HubServer, hub_server
from tests.jobs.kubernetes.manifest_case import SECRET, on_kubernetes

FILES = {
    "20231101.en/train-00000.parquet": b"columns" * 400,
    "20231101.en/train-00001.parquet": b"more columns" * 400,
    "20231101.ja/train-00000.parquet": b"other columns" * 400,
    "README.md": b"# A data set",
    "loader.py": b"print('not fetched, not run')",
}
ENGLISH = ("20231101.en/train-00000.parquet", "20231101.en/train-00001.parquet")
SOURCE = "hf:owner/text"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    data_set = HubServer(kind="dataset", name="owner/text", files=dict(FILES), license=["cc-by-sa-3.0", "gfdl"])
    with hub_server(data_set) as server:
        monkeypatch.setattr(data_command, "hub_here", lambda: server.url)
        monkeypatch.setattr("time.sleep", lambda _: None)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield server


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    shared = tmp_path / "data"
    shared.mkdir()
    shared.chmod(0o1777)
    deployed = environment_below(tmp_path).model_copy(update={"data_directory": str(shared)})
    (tmp_path / "environment.json").write_text(deployed.model_dump_json(), encoding="utf-8")
    monkeypatch.setenv("SLIPWAY_ENVIRONMENT", str(tmp_path / "environment.json"))
    slurm = FakeSlurm(tmp_path / "slurm")
    monkeypatch.setenv("PATH", slurm.install())
    return slurm


def call(*arguments: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(app, ["fetch", *arguments], input=answer, env={"COLUMNS": "200"})


def words(result: Result) -> str:
    return " ".join(result.output.replace("│", " ").split())


def submitted(tmp_path: Path, *arguments: str, name: str = "fetch-wiki") -> DataRun:
    result = call(SOURCE, "--to", f"{tmp_path}/data/wiki", "--yes", *arguments)
    assert result.exit_code == 0, result.output
    run = read_run(tmp_path / "runs" / name / "run.json")
    assert isinstance(run, DataRun)
    return run


def job(run: DataRun) -> list[str]:
    return [sys.executable, "-m", "slipway_jobs.importing", "--run", str(run.file)]


def variables() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ASSETS / "jobs")}


def fetch(run: DataRun) -> subprocess.CompletedProcess[str]:
    """Run the fetch stage as its job does."""
    return subprocess.run(job(run), env=variables(), capture_output=True, text=True, check=False)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_shows_what_is_fetched_and_asks(tmp_path: Path, hub: HubServer, slurm: FakeSlurm) -> None:
    result = call(SOURCE, "--to", f"{tmp_path}/data/wiki", answer="n\n")

    assert result.exit_code == 1
    assert f"revision {COMMIT}" in words(result)
    assert f"licence cc-by-sa-3.0, gfdl; read it: {hub.url}/datasets/owner/text/tree/{COMMIT}" in words(result)
    assert "files 3 (3 .parquet), 0.00 GiB" in words(result)
    assert f"to {tmp_path}/data/wiki, which has" in words(result)
    assert "Fetch it?" in result.output
    assert not (tmp_path / "runs").exists()
    assert not (slurm.directory / "calls").exists(), "nothing is submitted"

    assert "no answer: --yes asks nothing" in call(SOURCE, "--to", f"{tmp_path}/data/wiki").output

    agreed = call(SOURCE, "--to", f"{tmp_path}/data/wiki", answer="y\n")
    assert agreed.exit_code == 0, agreed.output
    assert "fetch    job 1\n" in agreed.output
    assert "slipway-job status fetch-wiki" in agreed.output
    assert not any(hub.given(name) for name in FILES), "files are fetched by the job alone"


@pytest.mark.usefixtures("hub", "slurm")
def test_a_dry_run_prints_the_script_and_writes_nothing(tmp_path: Path) -> None:
    result = call(SOURCE, "--to", f"{tmp_path}/data/wiki", "--dry-run")

    assert result.exit_code == 0, result.output
    assert "-m slipway_jobs.importing --run" in result.output
    assert not (tmp_path / "runs").exists()
    assert not list((tmp_path / "data").iterdir())


@pytest.mark.usefixtures("slurm")
def test_the_job_brings_the_files_and_says_where_they_come_from(tmp_path: Path, hub: HubServer) -> None:
    run = submitted(tmp_path, "--include", "20231101.en/*")

    result = fetch(run)

    assert result.returncode == 0, result.stderr
    folder = Path(run.data.directory)
    found = content(folder)
    assert set(found) == {*ENGLISH, FETCHED, "done"}
    assert all(found[name] == hub.files[name] for name in ENGLISH)
    assert f"{ENGLISH[1]} is there, sha256 right" in result.stdout
    manifest = DataManifest.model_validate_json(found[FETCHED])
    assert manifest.data.origin == f"{SOURCE}@{COMMIT} (20231101.en/*)"
    assert manifest.data.license == "cc-by-sa-3.0, gfdl"
    assert manifest.files[ENGLISH[0]].checksum.startswith("sha256:")
    assert oct(folder.stat().st_mode & 0o777) == oct(0o755)
    assert not Path(run.data.work_directory).exists()

    again = call(SOURCE, "--to", str(folder), "--include", "20231101.en/*")
    assert (again.exit_code, "is complete" in again.output) == (0, True), again.output

    other = call(SOURCE, "--to", str(folder), "--yes")
    assert other.exit_code == 1
    assert "(*.jsonl, *.parquet, *.txt). Write the name of a new folder" in words(other)

    (folder / ENGLISH[0]).unlink()
    damaged = call(SOURCE, "--to", str(folder), "--include", "20231101.en/*", "--yes")
    assert (damaged.exit_code, f"{ENGLISH[0]} is missing or has another size" in words(damaged)) == (1, True)


@pytest.mark.usefixtures("slurm")
def test_a_killed_job_goes_on_where_it_was(tmp_path: Path, hub: HubServer) -> None:
    # huggingface_hub writes portions of 10 MiB.
    hub.files[ENGLISH[1]] = os.urandom(2**20) * 24
    run = submitted(tmp_path)
    hub.stalled.add(ENGLISH[1])
    process = subprocess.Popen(job(run), env=variables(), start_new_session=True)
    work, folder = Path(run.data.work_directory), Path(run.data.directory)
    _wait(lambda: any(path.stat().st_size for path in work.rglob("*.incomplete")))
    _wait(lambda: {ENGLISH[0], "20231101.ja/train-00000.parquet"} <= content(folder).keys())
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (folder / "done").exists()

    hub.stalled.clear()
    hub.requests.clear()
    result = fetch(run)
    assert result.returncode == 0, result.stderr
    assert hub.given(ENGLISH[0]) == 0, "what was there is not fetched again"
    assert hub.given(ENGLISH[1]) == 1
    assert content(folder)[ENGLISH[1]] == hub.files[ENGLISH[1]]
    assert not work.exists(), "nothing half-done is left"


@pytest.mark.usefixtures("slurm")
def test_two_runs_never_fill_one_folder(tmp_path: Path, hub: HubServer) -> None:
    first, second = (
        submitted(tmp_path, "--name", name, "--include", pattern, name=name)
        for name, pattern in (("first", "*.parquet"), ("second", "*.md"))
    )
    hub.stalled.add(ENGLISH[0])
    process = subprocess.Popen(job(first), env=variables(), start_new_session=True)
    _wait(lambda: hub.given(ENGLISH[0]) > 0)

    refused = fetch(second)
    assert refused.returncode == 1
    assert (
        f"the run first fills {tmp_path}/data/wiki at this moment: wait for its end (slipway-job status first)"
        in refused.stderr
    )

    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    hub.stalled.clear()
    assert fetch(submitted(tmp_path, "--name", "third", "--include", "*.parquet", name="third")).returncode == 0


@pytest.mark.usefixtures("slurm")
def test_after_a_lost_connection_the_rest_of_a_file_is_fetched(tmp_path: Path, hub: HubServer) -> None:
    hub.files[ENGLISH[1]] = os.urandom(2**20) * 24
    run = submitted(tmp_path)
    hub.dropped.add(ENGLISH[1])
    result = fetch(run)
    assert result.returncode == 0, result.stderr
    assert hub.ranges == [f"{ENGLISH[1]} bytes={10 * 2**20}-"]
    assert content(Path(run.data.directory))[ENGLISH[1]] == hub.files[ENGLISH[1]]


def _wait(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < end
        Event().wait(0.05)


@pytest.mark.usefixtures("slurm")
def test_a_damaged_file_never_reaches_the_folder(tmp_path: Path, hub: HubServer) -> None:
    run = submitted(tmp_path)
    hub.damaged.add(ENGLISH[0])

    result = fetch(run)

    assert result.returncode == 1
    assert f"{ENGLISH[0]} arrived with another checksum than the Hub names" in result.stderr
    folder = Path(run.data.directory)
    assert ENGLISH[0] not in content(folder)
    assert not (folder / "done").exists()
    hub.damaged.clear()
    assert fetch(run).returncode == 0


@pytest.mark.usefixtures("slurm")
def test_a_recipe_does_not_read_what_is_not_complete(tmp_path: Path, hub: HubServer) -> None:
    run = submitted(tmp_path)
    hub.damaged.add(ENGLISH[0])
    fetch(run)
    folder = tmp_path / "data" / "wiki"
    for source in (folder, folder / "20231101.ja" / "*.parquet", folder.parent):
        recipe = load_recipe(RECIPES / "tiny-llama.yaml", [f"data.source={source}"])
        found = [finding.message for finding in missing_files(recipe)]
        assert f"{folder} is not complete: a fetch fills it" in found

    hub.damaged.clear()
    fetch(run)
    recipe = load_recipe(RECIPES / "tiny-llama.yaml", [f"data.source={folder}"])
    assert not list(missing_files(recipe))


@pytest.mark.usefixtures("hub", "slurm")
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((SOURCE,), 2, "Missing option '--to'"),
        ((SOURCE, "--to", ""), 2, "'' is not a folder below"),
        ((SOURCE, "--to", "/fsx/runs/x"), 2, "'/fsx/runs/x' is not a folder below"),
        ((SOURCE, "--to", "{data}"), 2, "is not a folder below"),
        ((SOURCE, "--to", "{data}/../runs/x"), 2, "is not a folder below"),
        (("", "--to", "{data}/x"), 2, "'' is unknown. Write hf:OWNER/NAME"),
        (("wiki", "--to", "{data}/x"), 2, "'wiki' is unknown. Write hf:OWNER/NAME, s3://BUCKET/PREFIX, or one of"),
        (("hf:text", "--to", "{data}/x"), 1, "hf:text is not the address of a data set: write hf:OWNER/NAME"),
        (("hf:owner/other", "--to", "{data}/x"), 1, "there is no data set owner/other on the Hub"),
        (("s3://", "--to", "{data}/x"), 1, "s3:// is not the address of objects"),
        (("s3://bucket/x", "--revision", "v1", "--to", "{data}/x"), 1, "--revision is for data sets of the Hub"),
        ((SOURCE, "--to", "{data}/x", "--revision", "v9"), 1, "owner/text has no revision 'v9'"),
        ((SOURCE, "--to", "{data}/x", "--revision", ""), 2, "it is empty"),
        ((SOURCE, "--to", "{data}/x", "--include", ""), 2, "a pattern is empty"),
        ((SOURCE, "--to", "{data}/x", "--include", "*.zst"), 1, "It has: 3 .parquet, 1 .md, 1 .py. Write --include"),
        ((SOURCE, "--to", "{data}/x", "--name", "A B"), 2, "'A B' is not a run's name"),
    ],
)
def test_what_is_said_wrong_is_named(tmp_path: Path, arguments: tuple[str, ...], status: int, message: str) -> None:
    result = call(*(word.format(data=tmp_path / "data") for word in arguments), "--yes")
    assert result.exit_code == status, result.output
    assert message in words(result)
    assert not (tmp_path / "runs").exists()


@pytest.mark.usefixtures("slurm")
def test_names_that_leave_the_folder_are_refused(tmp_path: Path, hub: HubServer) -> None:
    hub.files = {"../../runs/x.txt": b"x", "done": b"x", "a.txt": b"x"}
    result = call(SOURCE, "--to", f"{tmp_path}/data/wiki", "--include", "*", "--yes")
    assert (result.exit_code, "these names cannot be those of files here: ../../runs/x.txt, done" in words(result)) == (
        1,
        True,
    )


@pytest.mark.usefixtures("hub", "slurm")
def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data" / "wiki").mkdir()
    (tmp_path / "data" / "wiki" / "mine.txt").write_text("mine")
    result = call(SOURCE, "--to", f"{tmp_path}/data/wiki", "--yes")
    assert (result.exit_code, "holds other files, for example mine.txt" in words(result)) == (1, True)


@pytest.mark.usefixtures("hub", "slurm")
def test_too_little_room_is_refused_with_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000})())
    result = call(SOURCE, "--to", f"{tmp_path}/data/wiki", "--yes")
    assert result.exit_code == 1
    assert f"{tmp_path}/data has 0.00 GiB free, and the fetch needs 0.00 GiB" in words(result)
    assert not (tmp_path / "runs").exists()


@pytest.mark.usefixtures("slurm")
def test_an_unknown_licence_is_told(tmp_path: Path, hub: HubServer) -> None:
    hub.license = None
    result = call(SOURCE, "--to", f"{tmp_path}/data/wiki", "--yes")
    assert "licence not known: find out whether you may use it" in words(result)


@pytest.mark.usefixtures("hub", "slurm")
def test_files_that_are_not_read_are_told(tmp_path: Path) -> None:
    result = call(SOURCE, "--to", f"{tmp_path}/data/wiki", "--include", "*", "--yes")
    assert "2 of them the prepare stage does not read: it reads .jsonl, .parquet, .txt, .bin, .idx" in words(result)


@pytest.mark.usefixtures("slurm")
def test_a_gated_data_set_needs_the_users_token(
    tmp_path: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.gated, hub.token = True, "hf_secret"
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    result = call(SOURCE, "--to", f"{tmp_path}/data/wiki", "--yes")
    assert result.exit_code == 1, "a job does not see the shell's variable"
    assert f"owner/text is gated: ask for access at {hub.url}/datasets/owner/text" in words(result)

    token = tmp_path / "home" / ".cache" / "huggingface" / "token"
    token.parent.mkdir(parents=True)
    token.write_text("hf_secret")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(token))
    run = submitted(tmp_path)
    assert fetch(run).returncode == 0
    assert "hf_secret" not in "".join(path.read_text() for path in Path(run.directory).rglob("*") if path.is_file())


@pytest.mark.usefixtures("slurm")
def test_on_kubernetes_the_jobs_secret_opens_it(
    tmp_path: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.gated = True
    file = tmp_path / "environment.json"
    deployed = on_kubernetes(read_environment(file), secret=SECRET)
    file.write_text(deployed.model_dump_json(), encoding="utf-8")
    result = call(SOURCE, "--to", f"{tmp_path}/data/wiki", "--dry-run")
    assert result.exit_code == 0, result.output
    assert SECRET in result.output


@pytest.mark.usefixtures("hub", "slurm")
def test_a_run_of_the_same_name_is_not_another_fetch(tmp_path: Path) -> None:
    submitted(tmp_path)
    result = call(SOURCE, "--to", f"{tmp_path}/data/wiki", "--include", "*.md", "--yes")
    assert result.exit_code == 1
    assert f"it fetched {SOURCE}@{COMMIT} (*.jsonl, *.parquet, *.txt), not {SOURCE}@{COMMIT} (*.md)" in words(result)


@pytest.mark.usefixtures("slurm")
def test_a_commit_that_is_gone_is_not_another_one(tmp_path: Path, hub: HubServer) -> None:
    run = submitted(tmp_path)
    moved = json.loads(run.file.read_text())
    moved["data"]["revision"] = "f" * 40
    run.file.write_text(json.dumps(moved))
    result = fetch(run)
    assert (result.returncode, f"owner/text has no revision '{'f' * 40}'" in result.stderr) == (1, True)
    assert not any(hub.given(name) for name in FILES)


@pytest.mark.usefixtures("hub", "slurm")
def test_status_shows_a_fetch(tmp_path: Path) -> None:
    run = submitted(tmp_path)
    status = CliRunner().invoke(app, ["status", run.name, "--json"])
    assert json.loads(status.output)["stages"][0]["stage"] == "fetch"
    assert CliRunner().invoke(app, ["cancel", run.name]).exit_code == 0


@pytest.mark.usefixtures("slurm")
def test_a_link_in_the_shared_folder_is_refused(tmp_path: Path, hub: HubServer) -> None:
    del hub
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data" / "wiki").symlink_to(tmp_path / "elsewhere")
    result = call(SOURCE, "--to", f"{tmp_path}/data/wiki", "--yes")
    assert (result.exit_code, "a link" in words(result)) == (1, True)
