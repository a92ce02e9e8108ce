"""What is uploaded for the job kit."""

import hashlib
import math
import re
from pathlib import Path

import pytest

from neuron_constructs.cluster.job_kit import kit_files
from slipway import facts
from slipway_jobs.environment import Environment
from slipway_jobs.recipe.attention_order import attention_order
from slipway_jobs.recipe.model import Hardware
from tests.assembly import PROJECT, Assembly, synthesize
from tests.config.files import MINIMAL, changed, load

KIT = PROJECT / "assets" / "jobs"


def uploaded(assembly: Assembly, name: str) -> Path:
    """The only uploaded file of that name."""
    (file,) = assembly.directory.glob(f"asset.*/jobs/{name}")
    return file


def kit_environment(assembly: Assembly) -> Environment:
    """What the kit reads, with the markers that the deployment replaces taken as names."""
    text = uploaded(assembly, "environment.json").read_text(encoding="utf-8")
    return Environment.model_validate_json(re.sub(r"<<marker:(.*?)>>", r'"\1"', text))


def test_the_kit_reads_what_it_is_told_of_the_environment(each_slurm_assembly: Assembly) -> None:
    told, environment = kit_environment(each_slurm_assembly), each_slurm_assembly.environment

    assert (told.name, told.region) == (environment.name, environment.region)
    assert [queue.name for queue in told.queues] == [queue.name for queue in each_slurm_assembly.training.queues]
    assert {name for queue in told.queues for name in queue.instance_types} <= set(told.instance_types)
    assert {queue.training_stack for queue in told.queues} - {None} <= set(told.training_stacks)
    models = environment.inference.models if environment.inference else ()
    assert len(told.inference) == len(models)
    assert {service.instance_type for service in told.inference} <= set(told.instance_types)
    assert len({told.data_bucket, told.checkpoint_bucket, told.model_bucket}) == 3


def test_nodes_prices_and_bandwidth_of_the_default_environment(default: Assembly) -> None:
    told = kit_environment(default)

    trn1 = told.instance_types["trn1.32xlarge"]
    assert (trn1.logical_neuron_cores, trn1.neuron_memory_gib, trn1.memory_gib) == (32, 512, 512)
    assert (trn1.usd_per_hour, trn1.price_as_of) == (21.5, "2026-07-20")
    assert told.training_stacks["xla-2.28.1"].compiler == "2.23.6484.0"
    # 4,800 GiB are 4.6875 TiB of 250 MB/s each.
    assert (told.lustre_capacity_gib, told.lustre_throughput_mb_s) == (4800, 1172)
    assert told.kill_wait_seconds == 600


def test_of_a_cpu_type_without_facts_the_kit_knows_that_it_has_no_accelerator(tmp_path: Path) -> None:
    path = "training.queues.0.compute_resources.0"
    small = {f"{path}.instance_type": "m7i.8xlarge", "training.head_node.instance_type": "m7a.xlarge"}
    told = kit_environment(synthesize(load(tmp_path, changed(MINIMAL, small)), tmp_path / "assembly"))

    unpriced = told.instance_types["m7i.8xlarge"]
    assert (unpriced.vcpus, unpriced.memory_gib, unpriced.usd_per_hour) == (None, None, None)
    assert (unpriced.neuron_devices, unpriced.memory_bytes) == (0, math.inf)
    assert told.queues[0].training_stack is None


@pytest.mark.parametrize(
    "name", ["slipway_jobs/run.py", "slipway_training/strategy.py", "slipway_conversion/__init__.py"]
)
def test_the_kit_is_uploaded_beside_the_node_scripts(default: Assembly, name: str) -> None:
    assert uploaded(default, name).read_bytes() == (KIT / name).read_bytes()


def test_each_uploaded_file_has_its_checksum_and_nothing_else_has(default: Assembly) -> None:
    root = uploaded(default, "slipway_jobs/run.py").parents[1]

    said = dict(line.split("  ")[::-1] for line in uploaded(default, "files.sha256").read_text().splitlines())

    assert said == {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file()
    }


def test_what_tools_leave_behind_is_not_part_of_the_kit(tmp_path: Path) -> None:
    for name in ("slipway_jobs/run.py", "slipway_jobs/__pycache__/run.cpython-310.pyc", ".mypy_cache/x.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    assert [name for name, _ in kit_files(tmp_path)] == ["slipway_jobs/run.py"]


def test_the_kit_has_the_order_of_heads_on_every_instance_that_trains() -> None:
    for name, row in facts.instance_types().items():
        if facts.instance_family(row.family).trains:
            attention_order(Hardware(device="neuron", framework="xla", instance_type=name, nodes=1))
