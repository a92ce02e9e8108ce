"""A model of the Hub becomes an answer: imported on a real Slurm, rolled out on the emulator, asked by openai's client.

Stood in for: the Hub, the exporter (what it writes is compared with the real one in tests/contracts), AWS, the engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from slipway_jobs.exporters import exporters
from slipway_jobs.run import ImportRun, Run, read_run
from tests.assembly import Assembly
from tests.emulator.running import REGION
from tests.jobs.hub_server import HubServer, hub_server
from tests.jobs.publishing_case import HOST, LLAMA, configuration, install_exporter
from tests.operate.roll_out.endpoint import EndpointStack
from tests.slurm.local_slurm import LocalSlurm
from tests.slurm.served_model import answer, emulated_account
from tests.slurm.training_jobs import NODE, TrainingJobs

pytestmark = pytest.mark.slurm

MODEL, VERSION = "tanuki-8b", "tanuki-8b/v1"
IMPORT = ("import", "owner/model", "--as", VERSION)
SERVICE = {
    "model": MODEL,
    "engine": "tgi",
    "engine_release": "2.24.0",
    "instance_type": "inf2.8xlarge",
    "compiled": {"batch_size": 4, "sequence_length": 2048, "tensor_parallel_size": 2},
}
WEIGHTS = "model.safetensors"
FILES = {
    "config.json": json.dumps({"architectures": ["LlamaForCausalLM"], **configuration(LLAMA)}).encode(),
    WEIGHTS: b"weights" * 5000,
    "tokenizer.json": b"{}",
    "tokenizer_config.json": b"{}",
}


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with hub_server(HubServer(files=dict(FILES))) as server:
        yield server


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EndpointStack]:
    """A deployed endpoint that serves nothing yet."""
    with emulated_account(tmp_path, monkeypatch) as emulator:
        stack = EndpointStack(emulator, "imports", tmp_path)
        stack.deploy()
        yield stack


@pytest.fixture
def jobs(short_path: Path, endpoint: EndpointStack, hub: HubServer) -> Iterator[TrainingJobs]:
    with LocalSlurm(short_path / "c", nodes=("cpu-dy-c7i-1",)) as cluster:
        environment = {
            "region": REGION,
            "model_bucket": endpoint.bucket,
            "inference": [SERVICE],
            "instance_types": {"c7i.32xlarge": NODE, SERVICE["instance_type"]: {**HOST, "memory_gib": 128}},
        }
        user = TrainingJobs(cluster, short_path / "u", environment=environment, aws_endpoint=endpoint.emulator.endpoint)
        user.variables["HF_ENDPOINT"] = hub.url
        install_exporter(short_path / "u" / "fsx" / "runs", exporters()["2.24.0"])
        yield user


def submit(jobs: TrainingJobs) -> Run:
    jobs.command(*IMPORT)
    run = read_run(jobs.directory / "fsx" / "runs" / "tanuki-8b-v1" / "run.json")
    assert isinstance(run, ImportRun)
    return run


def test_a_model_of_the_hub_answers(
    jobs: TrainingJobs,
    hub: HubServer,
    endpoint: EndpointStack,
    assemblies: Callable[[str], Assembly],
    tmp_path: Path,
) -> None:
    # The first time a file arrives damaged: the rest of the chain is cancelled, and the same command goes on.
    hub.damaged.add(WEIGHTS)
    run = submit(jobs)
    assert jobs.wait_for(run, "fetch") == "FAILED"
    assert f"{WEIGHTS} arrived with another checksum" in jobs.log(run, "fetch")
    assert jobs.wait_for(run, "publish") == "CANCELLED"
    assert jobs.command("status", run.name, check=False).returncode == 3
    assert endpoint.roll_out(VERSION, "--yes").exit_code == 2, "nothing is published"

    hub.damaged.clear()
    hub.requests.clear()
    run = submit(jobs)
    for stage in run.stages:
        assert jobs.wait_for(run, stage) == "COMPLETED", jobs.log(run, stage)
    assert hub.given("tokenizer.json") == 0, "what was fetched is not fetched again"
    status = json.loads(jobs.command("status", run.name, "--json").stdout)
    assert [stage["state"] for stage in status["stages"]] == ["done", "done"]
    assert status["cost"]["usd"] > 0

    endpoint.must(VERSION)
    served, _ = endpoint.served()
    assert served.startswith(VERSION)

    assert answer(assemblies("rolledout").template("inference"), MODEL, served, tmp_path)
