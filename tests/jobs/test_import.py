"""`slipway-job import`: the command, the fetch stage and what is published, with the real huggingface_hub."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from huggingface_hub import constants
from moto import mock_aws
from typer.testing import CliRunner, Result

from slipway_jobs.arithmetic import publication
from slipway_jobs.cli import app
from slipway_jobs.environment import Service, environment_file, read_environment
from slipway_jobs.exporters import exporters
from slipway_jobs.importing import hub as hub_module
from slipway_jobs.publishing.manifest import Manifest
from slipway_jobs.publishing.stage import Publication
from slipway_jobs.run import ImportRun, read_run
from tests.assets.sandbox import ASSETS
from tests.jobs.chain_case import FakeSlurm, environment_below
from tests.jobs.hub_server import COMMIT, HubServer, hub_server
from tests.jobs.kubernetes.manifest_case import on_kubernetes
from tests.jobs.publishing_case import LLAMA, SERVICE, configuration, install_exporter

VERSION = "tanuki/v1"
SHAPE = ("--batch-size", "4", "--sequence-length", "1024", "--tensor-parallel-size", "2")
SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")


def model_files(**changes: Any) -> dict[str, bytes]:
    """A repository as it is on the Hub: two shards, a tokenizer, and what nobody needs."""
    index = {"weight_map": dict(zip(("a.weight", "b.weight"), SHARDS, strict=True))}
    return {
        "config.json": json.dumps({**configuration(LLAMA), **changes}).encode(),
        "model.safetensors.index.json": json.dumps(index).encode(),
        **{name: name.encode() * 400 for name in SHARDS},
        "tokenizer.json": b"{}",
        "tokenizer_config.json": b"{}",
        "chat_template.jinja": b"{{ messages }}",
        "consolidated.safetensors": b"the same weights for another library" * 100,
        "original/params.json": b"{}",
        "pytorch_model.bin": b"a pickle" * 1000,
        "README.md": b"# A model",
    }


FETCHED = {*SHARDS, "config.json", "model.safetensors.index.json", "tokenizer.json", "tokenizer_config.json"}
FETCHED.add("chat_template.jinja")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    with hub_server(HubServer(files=model_files())) as server:
        monkeypatch.setattr("slipway_jobs.importing.resolve.hub_here", lambda: server.url)
        monkeypatch.setattr("time.sleep", lambda _: None)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield server


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    return deploy(tmp_path, monkeypatch)


def deploy(directory: Path, monkeypatch: pytest.MonkeyPatch, **service: Any) -> FakeSlurm:
    """Put an environment there whose endpoint serves `tanuki`."""
    environment = environment_below(directory)
    served = Service.model_validate({**SERVICE, **service})
    host = environment_below(directory, "trn1").instance_types["trn1.2xlarge"]
    types = {**environment.instance_types, served.instance_type: host}
    environment = environment.model_copy(update={"inference": (served,), "instance_types": types})
    (directory / "environment.json").write_text(environment.model_dump_json(), encoding="utf-8")
    monkeypatch.setenv("SLIPWAY_ENVIRONMENT", str(directory / "environment.json"))
    slurm = FakeSlurm(directory / "slurm")
    monkeypatch.setenv("PATH", slurm.install())
    return slurm


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["import", *arguments], env={"COLUMNS": "200"})


def submitted(tmp_path: Path, *arguments: str) -> ImportRun:
    result = call("owner/model", "--as", VERSION, *SHAPE, *arguments)
    assert result.exit_code == 0, result.output
    run = read_run(tmp_path / "runs" / "tanuki-v1" / "run.json")
    assert isinstance(run, ImportRun)
    return run


def fetch(run: ImportRun) -> subprocess.CompletedProcess[str]:
    """Run the fetch stage as its job does."""
    known = {"HOME": os.environ["HOME"], "PYTHONPATH": str(ASSETS / "jobs")}
    command = [sys.executable, "-m", "slipway_jobs.importing", "--run", str(run.file)]
    return subprocess.run(command, env={**os.environ, **known}, capture_output=True, text=True, check=False)


def test_an_import_says_what_it_takes_and_submits_two_jobs(tmp_path: Path, hub: HubServer, slurm: FakeSlurm) -> None:
    result = call("owner/model", "--as", VERSION, *SHAPE)

    assert result.exit_code == 0, result.output
    assert f"owner/model@{COMMIT}" in result.output
    assert f"apache-2.0; read it: {hub.url}/owner/model/tree/{COMMIT}" in result.output
    assert "tgi on inf2.xlarge: batch 4, 1024 tokens, 2 cores" in result.output
    assert "fetch    job 1\npublish  job 2\n" in result.output
    assert "slipway-job status tanuki-v1" in result.output
    assert [call.split()[-1] for call in slurm.calls("sbatch")] == [
        f"{tmp_path}/runs/tanuki-v1/scripts/{stage}.sbatch" for stage in ("fetch", "publish")
    ]
    assert not any(hub.given(name) for name in SHARDS), "weights are fetched by the job alone"


@pytest.mark.usefixtures("hub", "slurm")
def test_a_host_that_is_small_for_the_weights_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publication, "HOST_SHARE", 1e-9)
    result = call("owner/model", "--as", VERSION, *SHAPE)
    assert result.exit_code == 0
    assert "of host memory that inf2.xlarge loads them through" in " ".join(result.output.split())


@pytest.mark.usefixtures("hub", "slurm")
def test_a_dry_run_prints_the_scripts_and_writes_nothing(tmp_path: Path) -> None:
    result = call("owner/model", "--as", VERSION, *SHAPE, "--dry-run")

    assert "-m slipway_jobs.importing --run" in result.output
    assert f"# sbatch --dependency=afterok:<fetch> {tmp_path}/runs/tanuki-v1/scripts/publish.sbatch" in result.output
    assert not (tmp_path / "runs").exists()


@pytest.mark.usefixtures("slurm")
def test_the_fetch_stage_brings_the_model_and_nothing_else(tmp_path: Path, hub: HubServer) -> None:
    run = submitted(tmp_path)

    result = fetch(run)

    assert result.returncode == 0, result.stderr
    folder = run.model_directory
    assert {path.name for path in folder.iterdir()} == {*FETCHED, "done"}
    assert all((folder / name).read_bytes() == hub.files[name] for name in FETCHED)
    assert f"{SHARDS[1]} is there, checksum right" in result.stdout
    assert oct(folder.stat().st_mode & 0o777) == oct(0o755)

    before = len(hub.requests)
    assert fetch(run).returncode == 0
    assert len(hub.requests) == before, "what is complete is not fetched again"


@pytest.mark.usefixtures("slurm")
def test_a_fetch_goes_on_with_what_is_missing(tmp_path: Path, hub: HubServer) -> None:
    run = submitted(tmp_path)
    content = hub.files.pop(SHARDS[1])
    hub.files[SHARDS[1]] = content
    hub.damaged.add(SHARDS[1])
    stopped = fetch(run)
    assert stopped.returncode == 1
    assert f"{SHARDS[1]} arrived with another checksum than the Hub names" in stopped.stderr
    assert not (run.model_directory / SHARDS[1]).exists()
    assert not (run.model_directory / "done").exists()

    hub.damaged.clear()
    hub.requests.clear()
    assert fetch(run).returncode == 0
    assert (hub.given(SHARDS[0]), hub.given(SHARDS[1])) == (0, 1)


def test_a_file_is_asked_for_again_when_the_hub_fails(tmp_path: Path, hub: HubServer) -> None:
    repository = hub_module.look_up(hub.url, "owner/model", None)
    hub.unavailable[SHARDS[0]] = 1
    told: list[str] = []

    hub_module.download(repository, [SHARDS[0]], tmp_path, told.append)

    assert (tmp_path / SHARDS[0]).read_bytes() == hub.files[SHARDS[0]]
    assert told[0].startswith(f"{SHARDS[0]}: HfHubHTTPError, try 1 of 5")


def test_a_hub_that_went_away_is_asked_five_times(tmp_path: Path, hub: HubServer) -> None:
    repository = hub_module.look_up(hub.url, "owner/model", None)
    away = dataclasses.replace(repository, hub="http://127.0.0.1:9")
    told: list[str] = []

    with pytest.raises(hub_module.HubError, match=r"127\.0\.0\.1:9 does not answer"):
        hub_module.download(away, [SHARDS[0]], tmp_path, told.append)
    assert [line.partition(", ")[2] for line in told] == [f"try {number} of 5" for number in range(1, 5)]


@pytest.mark.usefixtures("slurm")
def test_a_gated_model_needs_the_users_token(tmp_path: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.gated, hub.token = True, "hf_secret"
    result = call("owner/model", "--as", VERSION, *SHAPE)
    assert result.exit_code == 1
    assert f"owner/model is gated: ask for access at {hub.url}/owner/model" in result.output

    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert call("owner/model", "--as", VERSION, *SHAPE).exit_code == 1, "a job does not see the shell's variable"

    token = tmp_path / "home" / ".cache" / "huggingface" / "token"
    token.parent.mkdir(parents=True)
    token.write_text("hf_secret")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(token))
    run = submitted(tmp_path)
    assert fetch(run).returncode == 0
    assert "hf_secret" not in "".join(path.read_text() for path in Path(run.directory).rglob("*") if path.is_file()), (
        "a token is in no file of the run"
    )


REFUSED = [
    ({"model_type": "gpt2"}, "(granite, llama, mixtral, phi3, qwen2, qwen3), and this is a gpt2 model"),
    ({"torch_dtype": "float16"}, "its weights are float16, and the endpoint computes in bfloat16"),
    ({"quantization_config": {"quant_method": "awq"}}, "its weights are quantized (quantization_config)"),
    ({"max_position_embeddings": 512}, "sequence_length is 1024, and the model knows 512 positions"),
    ({"hidden_size": None}, "config.json of owner/model has no hidden_size that can be read"),
    ({"torch_dtype": "int8"}, "torch_dtype is 'int8'"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
@pytest.mark.usefixtures("slurm")
def test_a_model_that_the_endpoint_cannot_serve_is_refused_before_it_is_fetched(
    tmp_path: Path, hub: HubServer, changes: dict[str, Any], message: str
) -> None:
    hub.files = model_files(**changes)
    result = call("owner/model", "--as", VERSION, *SHAPE)
    assert (result.exit_code, result.output.startswith("owner/model is not imported:\n")) == (1, True)
    assert message in result.output
    assert not (tmp_path / "runs").exists()
    assert not any(hub.given(name) for name in SHARDS)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("config.json", "has no config.json: it is no model of the transformers library"),
        (SHARDS[1], f"has no {SHARDS[1]}: only weights in the safetensors format can be imported"),
        ("tokenizer_config.json", "has no tokenizer_config.json, and the engine needs the tokenizer"),
    ],
)
@pytest.mark.usefixtures("slurm")
def test_a_repository_that_lacks_something_is_refused(hub: HubServer, missing: str, message: str) -> None:
    del hub.files[missing]
    result = call("owner/model", "--as", VERSION, *SHAPE)
    assert result.exit_code == 1
    assert message in result.output


@pytest.mark.usefixtures("hub", "slurm")
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("owner/other", "--as", VERSION, *SHAPE), 1, "there is no repository owner/other on the Hub"),
        (("owner/model", "--as", VERSION, *SHAPE, "--revision", "v9"), 1, "owner/model has no revision 'v9'"),
        (("nowhere", "--as", VERSION, *SHAPE), 1, "nowhere is neither a folder here nor the name of a repository"),
        (("owner/model", "--as", "kitsune/v1", *SHAPE), 2, "the endpoint has no model `kitsune`, only `tanuki`"),
        (("owner/model", "--as", VERSION), 1, "--batch-size is missing"),
        (("owner/model", "--as", "tanuki", *SHAPE), 2, "'tanuki' is not MODEL/VERSION"),
        (("owner/model", "--as", "tanuki/", *SHAPE), 2, "'tanuki/' is not MODEL/VERSION"),
        (("owner/model", "--as", "", *SHAPE), 2, "'' is not MODEL/VERSION"),
        (("owner/model", *SHAPE), 2, "Missing option '--as'"),
        (("owner/model", "--as", VERSION, *SHAPE, "--name", "A B"), 2, "'A B' is not a run's name"),
        (("owner/model", "--as", VERSION, "--batch-size", "0"), 2, "--batch-size"),
    ],
)
def test_what_is_said_wrong_is_named(arguments: tuple[str, ...], status: int, message: str) -> None:
    result = call(*arguments)
    assert result.exit_code == status, result.output
    assert message in " ".join(result.output.replace("│", " ").split())


@pytest.mark.usefixtures("hub")
def test_the_environment_file_may_say_how_it_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(tmp_path, monkeypatch, compiled={"batch_size": 1, "sequence_length": 512, "tensor_parallel_size": 2})

    other = call("owner/model", "--as", VERSION, "--batch-size", "4")
    assert "--batch-size 4: the endpoint's service is for models that are compiled with 1" in other.output

    result = call("owner/model", "--as", VERSION)
    assert result.exit_code == 0, result.output
    assert "batch 1, 512 tokens, 2 cores" in result.output


@pytest.mark.usefixtures("slurm")
def test_a_hub_that_does_not_answer_is_told(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slipway_jobs.importing.resolve.hub_here", lambda: "http://127.0.0.1:9")
    result = call("owner/model", "--as", VERSION, *SHAPE)
    assert result.exit_code == 1
    assert "http://127.0.0.1:9 does not answer" in result.output
    assert "copy the model to a folder on /fsx and name the folder" in result.output
    assert not hub.requests


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_a_folder_needs_no_network_and_is_published_compiled(
    tmp_path: Path, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "mine", model_files())

    result = call(str(folder), "--as", VERSION, *SHAPE)

    assert result.exit_code == 0, result.output
    assert "publish  job 1\n" in result.output
    assert len(slurm.calls("sbatch")) == 1
    manifest = published(tmp_path, monkeypatch)
    assert manifest.source.imported_from == str(folder)
    assert call(str(folder), "--as", VERSION, *SHAPE, "--revision", "main").exit_code == 1


@pytest.mark.usefixtures("slurm")
def test_pods_reach_folders_on_the_shared_disk_alone(
    tmp_path: Path,
) -> None:
    file = tmp_path / "environment.json"
    deployed = on_kubernetes(read_environment(file)).model_copy(update={"runs_directory": str(tmp_path / "fsx/runs")})
    file.write_text(deployed.model_dump_json(), encoding="utf-8")
    folder = write(tmp_path / "mine", model_files())
    result = call(str(folder), "--as", VERSION, *SHAPE)
    assert result.exit_code == 1
    assert f"{folder} is not below {tmp_path}/fsx, which is all that pods share: copy it there" in result.output


@pytest.mark.usefixtures("slurm")
def test_what_was_fetched_is_published_with_where_it_comes_from(
    tmp_path: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = submitted(tmp_path)
    assert fetch(run).returncode == 0

    manifest = published(tmp_path, monkeypatch)

    assert manifest.source.imported_from == f"owner/model@{COMMIT}"
    assert (manifest.source.license, manifest.source.architecture) == ("apache-2.0", "llama")
    assert (manifest.source.step, manifest.source.recipe) == (None, None)
    assert manifest.compiled is not None
    assert manifest.compiled.tensor_parallel_size == 2
    assert "checkpoint/weights/tp1_sharded_checkpoint.safetensors" in manifest.files


def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    """Carry out the publish stage on moto's S3, with the stand-in of the exporter."""
    install_exporter(tmp_path / "runs", exporters()[SERVICE["engine_release"]])
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    run = read_run(tmp_path / "runs" / "tanuki-v1" / "run.json")
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1")
        s3.create_bucket(Bucket=run.model_bucket)
        assert run.publish is not None
        Publication(run, run.publish, read_environment(environment_file()), s3, print).carry_out()
        found = s3.get_object(Bucket=run.model_bucket, Key=f"{VERSION}/slipway-manifest.json")["Body"].read()
    return Manifest.model_validate_json(found)


@pytest.mark.usefixtures("hub", "slurm")
def test_a_run_of_the_same_name_is_not_another_model(tmp_path: Path) -> None:
    submitted(tmp_path)
    folder = write(tmp_path / "mine", model_files())
    result = call(str(folder), "--as", VERSION, *SHAPE)
    assert result.exit_code == 1
    assert f"it imported owner/model@{COMMIT}, not {folder}" in result.output

    training = CliRunner().invoke(app, ["submit", "tiny-llama", "--name", "tanuki-v1"])
    assert training.exit_code == 1
    assert "it is an import, not a training" in training.output


@pytest.mark.usefixtures("hub", "slurm")
def test_status_shows_an_import(tmp_path: Path) -> None:
    submitted(tmp_path)
    result = CliRunner().invoke(app, ["status", "tanuki-v1", "--json"], env={"COLUMNS": "200"})
    report = json.loads(result.output)
    assert [stage["stage"] for stage in report["stages"]] == ["fetch", "publish"]
    assert (report["progress"], report["checkpoint_directory"]) == (None, None)
    shown = CliRunner().invoke(app, ["status", "tanuki-v1"], env={"COLUMNS": "200"}).output
    assert "checkpoint" not in shown
    assert "tanuki-v1/logs/fetch.log" in shown
    top = CliRunner().invoke(app, ["top", "tanuki-v1"])
    assert top.output == "tanuki-v1 is an import: it uses no NeuronCores\n"
    board = CliRunner().invoke(app, ["tensorboard", "tanuki-v1"])
    assert board.output == "tanuki-v1 is an import: it has no TensorBoard\n"
