"""The whole way, with nothing stood in for but the compiler and S3.

A recipe is submitted to a real Slurm, one worker is killed on the way, and the published model is the one that an
undisturbed training would have made.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from slipway_jobs.run import TRAINING_STAGES, TrainingRun
from tests.slurm.local_slurm import LocalSlurm
from tests.slurm.test_training_jobs import PARALLEL_COMPILE
from tests.slurm.training_jobs import RECIPES, TrainingJobs
from tests.slurm.undisturbed_training import in_training_environment, losses, train_undisturbed

pytestmark = pytest.mark.slurm

STEPS, INTERVAL = 30, 5
NODES = tuple(f"cpu-dy-c7i-{number}" for number in range(1, 3))
LOSSES_OF_CONVERTED_MODELS = Path(__file__).parents[1] / "training" / "losses_of_converted_models.py"
# Without dropout the loss of a step is a function of weights and samples alone, and transformers can compute it.
SETTINGS: dict[str, dict[str, object]] = {
    "tiny-llama": {"compile__ahead_of_time": "true"},
    "tiny-llama-pipeline": {},
    "tiny-llama-native": {},
    "tiny-bert": {"model__hidden_dropout_prob": 0.0, "model__attention_probs_dropout_prob": 0.0},
}

NOT_IN_TEST_SLURM = {"tiny-llama-pipeline", "tiny-llama-native"}
"""`make test-combinations` trains them: a whole chain takes minutes."""


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """Return the address of an S3 emulator."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def jobs(short_path: Path, s3: str) -> Iterator[TrainingJobs]:
    with LocalSlurm(short_path / "c", nodes=NODES) as cluster:
        user = TrainingJobs(cluster, short_path / "u", aws_endpoint=s3)
        stub = user.stubs / "neuron_parallel_compile"
        stub.write_text(PARALLEL_COMPILE, encoding="utf-8")
        stub.chmod(0o755)
        yield user


def bucket(address: str, name: str) -> Any:
    resource = boto3.resource(
        "s3", endpoint_url=address, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    return resource.create_bucket(Bucket=name)


def converted_losses(run: TrainingRun, step: int, *folders: Path) -> list[dict[str, float]]:
    said = in_training_environment(LOSSES_OF_CONVERTED_MODELS, run.file, str(step), *folders)
    result: list[dict[str, float]] = json.loads(said.splitlines()[-1])
    return result


def convert(checkpoint: Path, folder: Path) -> Path:
    in_training_environment(
        "-m", "slipway_conversion", "to-transformers", "--checkpoint", checkpoint, "--output", folder
    )
    return folder


@pytest.mark.parametrize(
    "recipe",
    [pytest.param(name, marks=[pytest.mark.combination] if name in NOT_IN_TEST_SLURM else []) for name in SETTINGS],
)
def test_a_killed_worker_changes_nothing_of_the_published_model(jobs: TrainingJobs, s3: str, recipe: str) -> None:
    models, _ = bucket(s3, "test-models"), bucket(s3, "test-checkpoints")

    run = jobs.submit(RECIPES / f"{recipe}.yaml", steps=STEPS, **SETTINGS[recipe])
    for stage in TRAINING_STAGES[:2]:
        assert jobs.wait_for(run, stage) == "COMPLETED", jobs.log(run, stage)
    jobs.wait_for_step(run, INTERVAL)
    jobs.kill_worker(run, run.world_size - 1)
    for stage in run.stages[2:]:
        assert jobs.wait_for(run, stage) == "COMPLETED", jobs.log(run, stage)

    # It was killed, queued again and resumed, and each step's loss is that of an undisturbed run, to the last bit.
    assert [attempt.outcome for attempt in jobs.attempts(run, "train")] == ["failed", "finished"]
    straight = train_undisturbed(run, jobs.directory / "straight")
    disturbed = losses(run.metrics_file)
    assert list(disturbed) == list(range(1, STEPS + 1))
    assert disturbed == losses(straight)
    assert disturbed[STEPS] < disturbed[1]

    # The step after a checkpoint has the loss that transformers computes with the converted checkpoint.
    after = STEPS - INTERVAL + 1
    before = convert(Path(run.checkpoint_directory) / f"step_{after - 1:08d}", jobs.directory / "before")
    other = convert(straight.parent / "checkpoints" / f"step_{STEPS:08d}", jobs.directory / "other")
    early, published, expected = converted_losses(run, after, before, Path(run.converted_directory), other)
    assert math.isclose(early["loss"], disturbed[after], rel_tol=1e-5)
    # And the model at the end is the undisturbed run's, to the last bit of its logits.
    assert published == expected
    if run.recipe.publish:
        check_published(models, run)


def check_published(models: Any, run: TrainingRun) -> None:
    """What is in the bucket is the converted model, and the manifest names each file with its checksum.

    The file that names the run is beside them: jobs delete nothing of a version.
    """
    assert run.recipe.publish
    prefix = f"{run.recipe.publish.model}/{run.name}/"
    found = {item.key.removeprefix(prefix): item.get()["Body"].read() for item in models.objects.filter(Prefix=prefix)}
    found.pop("slipway-run.json")
    manifest = json.loads(found.pop("slipway-manifest.json"))
    assert {name: file["sha256"] for name, file in manifest["files"].items()} == {
        name: hashlib.sha256(content).hexdigest() for name, content in found.items()
    }
    assert {name for name in found if name.endswith(".safetensors")}
    assert (manifest["source"]["run"], manifest["source"]["step"]) == (run.name, STEPS)
