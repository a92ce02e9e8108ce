"""The first training of docs/training.md: `small-llama`, which the endpoint of environments/small.yaml serves.

Submitted to a real Slurm, trained on processors in the place of Trainium, rolled out to small's own stacks on the
emulator, asked by openai's client. Stood in for: the exporter (what it writes is compared with the real one in
tests/contracts), neuron_parallel_compile, AWS, the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slipway.cli import app
from slipway_jobs.exporters import exporters
from slipway_jobs.run import TRAINING_STAGES
from tests.assembly import Assembly
from tests.emulator.running import REGION, RunningEmulator
from tests.jobs.publishing_case import install_exporter
from tests.slurm.local_slurm import LocalSlurm
from tests.slurm.served_model import answer, emulated_account
from tests.slurm.test_training_jobs import PARALLEL_COMPILE
from tests.slurm.training_jobs import NODE, RECIPES, TrainingJobs
from tests.unit.test_job_kit_upload import kit_environment

pytestmark = pytest.mark.slurm

MODEL = "small-llama"
VERSION = f"{MODEL}/v1"
INFERENCE = "slipway-small-inference"
ON_PROCESSORS = {
    "hardware__device": "cpu",
    "hardware__instance_type": "null",
    "hardware__workers_per_node": 2,
    "compile__ahead_of_time": "true",
}
# A step of the whole recipe takes processors a minute. The model stays the recipe's.
SHORT = {
    "steps": 4,
    "checkpoint__interval_steps": 2,
    "optimizer__warmup_steps": 1,
    "batch__global_size": 2,
    "data__sequence_length": 64,
}


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Assembly) -> Iterator[RunningEmulator]:
    """The stacks of small that an endpoint needs, deployed, with nothing served yet."""
    with emulated_account(tmp_path, monkeypatch) as emulator:
        emulator.bootstrap()
        for role in ("network", "storage", "inference"):
            emulator.deploy(small.directory, f"slipway-small-{role}")
        yield emulator


@pytest.fixture
def jobs(short_path: Path, account: RunningEmulator, small: Assembly) -> Iterator[TrainingJobs]:
    told = kit_environment(small).model_dump(mode="json")
    environment = {
        "region": REGION,
        "model_bucket": account.outputs(INFERENCE)["ModelBucket"],
        "inference": told["inference"],
        "instance_types": {"c7i.32xlarge": NODE, **told["instance_types"]},
    }
    with LocalSlurm(short_path / "c", nodes=("cpu-dy-c7i-1",)) as cluster:
        user = TrainingJobs(cluster, short_path / "u", environment=environment, aws_endpoint=account.endpoint)
        stub = user.stubs / "neuron_parallel_compile"
        stub.write_text(PARALLEL_COMPILE, encoding="utf-8")
        stub.chmod(0o755)
        [service] = told["inference"]
        install_exporter(short_path / "u" / "fsx" / "runs", exporters()[service["engine_release"]])
        yield user


def test_what_small_trains_is_what_its_endpoint_answers_with(
    jobs: TrainingJobs, account: RunningEmulator, small: Assembly, tmp_path: Path
) -> None:
    run = jobs.submit(RECIPES / f"{MODEL}.yaml", "--name", "v1", **ON_PROCESSORS, **SHORT)
    for stage in TRAINING_STAGES:
        assert jobs.wait_for(run, stage) == "COMPLETED", jobs.log(run, stage)

    rolled_out = CliRunner().invoke(app, ["roll-out", "-e", "small", VERSION, "--yes"])
    assert rolled_out.exit_code == 0, rolled_out.output
    served = account.outputs(INFERENCE)["SmallLlamaServedVersion"]
    assert served.startswith(VERSION)

    assert answer(small.template("inference"), MODEL, served, tmp_path)
