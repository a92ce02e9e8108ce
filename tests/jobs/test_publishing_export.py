"""Compatibility with the endpoint, and the export with a stand-in for optimum-cli that may fail or lie."""

import json
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from slipway import facts
from slipway_jobs.exporters import Exporter, exporters
from slipway_jobs.publishing.bounded_process import run_bounded
from slipway_jobs.publishing.exporter_environment import exporter_environment
from slipway_jobs.publishing.manifest import MANIFEST_NAME, Manifest
from slipway_jobs.publishing.refusal import PublishRefused
from tests.jobs.publishing_case import BERT, BUCKET, EXPORT, LLAMA, SERVICE, PublishCase, objects, recipe

KEY = f"tanuki/v1/{MANIFEST_NAME}"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        client = boto3.client("s3", region_name="us-west-2")
        client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
        yield client


def exporting(**changes: Any) -> dict[str, Any]:
    """The `publish` section of a recipe that compiles."""
    return {"model": "tanuki", "version": "v1", "export": {**EXPORT, **changes}}


@pytest.fixture
def case(tmp_path: Path) -> PublishCase:
    case = PublishCase(tmp_path, recipe(publish=exporting()))
    case.convert()
    return case


def calls(environment: Path) -> list[list[str]]:
    file = environment / "calls"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []


@pytest.mark.parametrize(
    ("engine", "release", "options"),
    [
        ("tgi", "2.24.0", ["--num_cores", "2", "--auto_cast_type", "bf16"]),
        ("vllm-hf", "2.26.1", ["--tensor_parallel_size", "2", "--instance_type", "inf2"]),
    ],
)
def test_the_exporter_of_the_engines_release_compiles(
    s3: Any, case: PublishCase, engine: str, release: str, options: list[str]
) -> None:
    case.service = {**(case.service or {}), "engine": engine, "engine_release": release}
    environment = case.install_exporter()

    case.publish(s3)

    [call] = calls(environment)
    assert call[:-1] == [
        *("export", "neuron", "--model", str(case.converted), "--task", "text-generation"),
        *("--batch_size", "4", "--sequence_length", "1024", *options),
    ]
    assert case.told[-1].endswith("Serve it: slipway roll-out tanuki/v1")
    manifest = Manifest.model_validate_json(objects(s3)[KEY])
    assert manifest.compiled is not None
    assert (manifest.compiled.engine, manifest.compiled.neuron_release) == (engine, release)
    assert manifest.compiled.exporter == f"optimum-neuron {case.exporter.version}"
    assert (manifest.compiled.batch_size, manifest.compiled.sequence_length) == (4, 1024)
    assert set(manifest.files) == {
        *("config.json", "neuron_config.json", "model.pt", "tokenizer_config.json"),
        *(f"checkpoint/weights/tp{rank}_sharded_checkpoint.safetensors" for rank in range(2)),
    }


def test_a_second_attempt_takes_the_finished_export(s3: Any, case: PublishCase) -> None:
    environment = case.install_exporter()
    s3.delete_bucket(Bucket=BUCKET)
    with pytest.raises(s3.exceptions.NoSuchBucket):
        case.publish(s3)
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    case.publish(s3)
    first = objects(s3)
    case.again()
    case.publish(s3)
    assert objects(s3) == first
    assert len(calls(environment)) == 1


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"batch_size": 1}, "batch_size 1; 4 was asked for"),
        ({"sequence_length": 128}, "sequence_length 128; 1024 was asked for"),
        ({"tp_degree": 1}, "tp_degree 1; 2 was asked for"),
        ({"torch_dtype": "float32"}, "torch_dtype 'float32'; 'bfloat16' was asked for"),
        ({"optimum_neuron_version": "0.4.5"}, "optimum_neuron_version '0.4.5'; '0.3.0' was asked for"),
        ({"neuronxcc_version": "2.21.33363.0"}, "the exporter's is '2.19.8089.0'"),
        ({"target": "trn2"}, "target 'trn2'; None was asked for"),
        ({"RANKS": []}, "for 2 cores has no checkpoint/weights/tp0_[a-z_]*.safetensors, checkpoint/weights/tp1_"),
        ({"RANKS": [0]}, "for 2 cores has no checkpoint/weights/tp1_sharded_checkpoint.safetensors"),
        ({"RANKS": [0, 1, 2]}, "for 2 cores has checkpoint/weights/tp2_sharded_checkpoint.safetensors too"),
        ({"DIE": True}, "optimum-cli ended with status 3"),
    ],
)
def test_an_export_that_failed_or_differs_is_not_published(
    s3: Any, case: PublishCase, answers: dict[str, Any], message: str
) -> None:
    case.install_exporter(**answers)
    with pytest.raises(PublishRefused, match=message):
        case.publish(s3)
    assert KEY not in objects(s3)
    assert not list((case.folder / case.name).glob("exported-*"))

    case.install_exporter()
    case.publish(s3)
    assert KEY in objects(s3)


def refusal(case: PublishCase, s3: Any) -> str:
    with pytest.raises(PublishRefused) as refused:
        case.publish(s3)
    assert objects(s3) == {}
    return str(refused.value)


def test_all_that_does_not_fit_is_said_at_once_with_its_numbers(s3: Any, case: PublishCase) -> None:
    case.recipe = recipe(publish=exporting(tensor_parallel_size=24, sequence_length=4096))
    case.convert(precision="float32")
    message = refusal(case, s3)
    assert "tensor_parallel_size is 24, and inf2.xlarge has 2 NeuronCores" in message
    assert "sequence_length is 4096, and the model knows 2048 positions" in message
    assert "hidden_size 64 cannot be divided by tensor_parallel_size 24" in message
    assert "float32" in message
    assert message.count("\n- ") == 5


def test_keys_and_values_count_against_the_device_memory(s3: Any, case: PublishCase) -> None:
    # 2 x 32 layers x 32 heads x 128 wide x 64 x 2048 tokens x 2 bytes = 64 GiB.
    large = {
        **LLAMA,
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
    }
    case.recipe = recipe(model=large, publish=exporting(batch_size=64, sequence_length=2048))
    case.convert()
    message = refusal(case, s3)
    assert "(64.0 GiB)" in message
    assert "2 NeuronCores of inf2.xlarge have 32 GiB, of which 28.8 GiB are free" in message


def test_weights_that_do_not_fit_the_host_are_refused(s3: Any, case: PublishCase) -> None:
    case.host["memory_gib"] = 1
    case.convert()
    with (case.converted / "model.safetensors").open("r+b") as weights:
        weights.truncate(2 * 2**30)
    assert "the weights (2.0 GiB) do not fit into the 1 GiB of host memory" in refusal(case, s3)


def test_a_bert_is_not_compiled_but_can_be_published(s3: Any, case: PublishCase) -> None:
    case.recipe = recipe(model=BERT, publish=exporting(sequence_length=512))
    case.convert()
    assert "(granite, llama, mixtral, phi3, qwen2, qwen3), and this is a bert model" in refusal(case, s3)

    case.recipe = recipe(model=BERT)
    case.publish(s3)
    assert Manifest.model_validate_json(objects(s3)[KEY]).source.architecture == "bert"


@pytest.mark.parametrize(
    ("release", "message"),
    [
        (None, "the image of engine tgi is not known"),
        ("2.31.1", "there is an exporter for 2.24.0 and 2.26.1 only"),
    ],
)
def test_an_engine_of_another_release_is_refused(s3: Any, case: PublishCase, release: str | None, message: str) -> None:
    case.service = {**(case.service or {}), "engine_release": release}
    assert message in refusal(case, s3)


@pytest.mark.parametrize(
    ("service", "reason"),
    [
        (None, "the environment default has no endpoint"),
        ({**SERVICE, "model": "kitsune"}, "the endpoint has no model `tanuki`, only `kitsune`"),
    ],
)
def test_a_model_that_no_service_is_for_is_published_uncompiled(
    s3: Any, case: PublishCase, service: dict[str, Any] | None, reason: str
) -> None:
    case.service = service
    case.publish(s3)
    manifest = Manifest.model_validate_json(objects(s3)[KEY])
    assert manifest.compiled is None
    assert "model.safetensors" in manifest.files
    assert f"not compiled: {reason}. No engine serves the model as it is" in case.told


@pytest.mark.parametrize(("engine", "release"), [("vllm-aws", "2.31.1"), ("vllm-neuron", "2.32.0")])
def test_no_exporter_compiles_for_the_containers_of_aws(s3: Any, case: PublishCase, engine: str, release: str) -> None:
    # The kit is told the release that the engine's row names.
    assert facts.inference_engine(engine).release_in(None) == release
    case.service = {**(case.service or {}), "engine": engine, "engine_release": release}
    refused = refusal(case, s3)
    assert f"engine {engine} has Neuron SDK {release}, and there is an exporter for" in refused
    assert "compile the model by hand" in refused


def test_another_batch_under_the_same_version_is_refused(s3: Any, case: PublishCase) -> None:
    case.install_exporter()
    case.publish(s3)
    case.again()
    case.recipe = recipe(publish=exporting(batch_size=8))
    with pytest.raises(PublishRefused, match=r"compiled otherwise: .*batch 4, .*this is .*batch 8"):
        case.publish(s3)


def test_every_exporter_pins_everything_it_needs() -> None:
    for row in exporters().values():
        assert row.packages["optimum-neuron"] == row.version
        assert row.packages["neuronx-cc"] == row.compiler
        assert {"torch", "torch-neuronx", "neuronx_distributed", "libneuronxla", "transformers"} <= set(row.packages)
        assert all(pin.count("==") == 1 for pin in row.requirements)


def wheel(folder: Path) -> None:
    """A package with the program `optimum-cli`."""
    info = "stand_in_exporter-1.0.dist-info"
    files = {
        "stand_in_exporter.py": "def main():\n    print('exporter')\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: stand-in-exporter\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\noptimum-cli = stand_in_exporter:main\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / "stand_in_exporter-1.0-py3-none-any.whl", "w") as archive:
        for name, content in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, content)


def stand_in(**changes: Any) -> Exporter:
    row = next(iter(exporters().values())).model_dump()
    python = [f"{version}" for version in ("3.10", "3.11", "3.12", "3.13")]
    return Exporter.model_validate(
        {**row, "packages": {"stand-in-exporter": "1.0"}, "python_versions": python, "python_sources": {}, **changes}
    )


def test_an_environment_is_built_once_and_anew_after_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "pypi"
    (index / "stand-in-exporter").mkdir(parents=True)
    page = index / "stand-in-exporter" / "index.html"
    page.touch()
    monkeypatch.setenv("SLIPWAY_UV", str(Path(sys.executable).with_name("uv")))
    monkeypatch.setenv("UV_DEFAULT_INDEX", index.as_uri())
    told: list[str] = []
    with pytest.raises(PublishRefused, match=r"was not built: .*status 1"):
        exporter_environment(stand_in(), tmp_path / "environments", told.append)
    wheel(index / "stand-in-exporter")
    page.write_text('<a href="stand_in_exporter-1.0-py3-none-any.whl">stand_in_exporter-1.0-py3-none-any.whl</a>')
    folder = exporter_environment(stand_in(), tmp_path / "environments", told.append)
    assert os.access(folder / "bin" / "optimum-cli", os.X_OK)
    built = len(told)
    assert exporter_environment(stand_in(), tmp_path / "environments", told.append) == folder
    assert len(told) == built


def test_a_node_without_a_fitting_python_is_told_which(tmp_path: Path) -> None:
    with pytest.raises(PublishRefused, match=r"needs Python 2\.7, and this node has"):
        exporter_environment(stand_in(python_versions=["2.7"]), tmp_path, print)


def test_a_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    problem = run_bounded(["sh", "-c", f"echo $$ >{file}; exec sleep 600"], seconds=0.5, tell=print)
    assert problem == "sh did not end within 0.0 hours"
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)


def test_a_program_that_is_not_there_is_a_problem() -> None:
    assert "cannot be started" in str(run_bounded(["/nowhere/optimum-cli"], seconds=5, tell=print))
