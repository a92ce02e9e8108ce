"""The engine's task definition: every engine on every size of host, in a stack of its own."""

import re
from collections.abc import Iterator
from pathlib import Path

import aws_cdk as cdk
import pytest

from neuron_constructs.inference.model import LocalCopy, MountedBucket
from slipway import facts
from tests.assembly import cdk_context
from tests.engine_task_stack import (
    ENGINES,
    SECRET_ARN,
    container,
    definition,
    engine_task_stack,
    environment,
    synthesized,
)
from tests.pack_findings import pack_findings


def sizes(engine: facts.InferenceEngine) -> Iterator[str]:
    """Instance types that an engine runs on; of trn1 the one of an inference host's size."""
    for row in facts.instance_types().values():
        if row.family in engine.instance_families and not (row.family == "trn1" and row.neuron_devices > 1):
            yield row.name


PAIRS = [(name, size) for name in ENGINES for size in sizes(facts.inference_engine(name))]


@pytest.mark.parametrize(("engine", "instance_type"), PAIRS)
def test_the_engine_has_every_device_and_nearly_all_memory_of_its_host(engine: str, instance_type: str) -> None:
    host, made = facts.instance_type(instance_type), container(synthesized(engine, instance_type))
    devices = made["LinuxParameters"]["Devices"]
    reservation, memory = made["MemoryReservation"], host.memory_gib * 1024

    assert [device["HostPath"] for device in devices] == [f"/dev/neuron{n}" for n in range(host.neuron_devices)]
    assert all(device["Permissions"] == ["read", "write"] for device in devices)
    assert memory - 0.05 * memory - 4096 < reservation < memory - 0.05 * memory - 3072
    # A second task must not fit beside it.
    assert 2 * reservation > memory
    assert "Memory" not in made


@pytest.mark.parametrize("engine", ENGINES)
def test_the_engine_runs_as_its_row_says(engine: str) -> None:
    row, made = facts.inference_engine(engine), container(synthesized(engine))

    assert made["Image"] == row.image
    assert made.get("EntryPoint") == (list(row.entry_point) if row.entry_point else None)
    assert made["StopTimeout"] == row.stop_timeout_seconds
    assert made["PortMappings"] == [{"ContainerPort": row.port, "Protocol": "tcp"}]
    assert made["LinuxParameters"]["SharedMemorySize"] == row.shared_memory_mib
    assert made["LinuxParameters"]["Capabilities"] == {"Add": list(row.linux_capabilities), "Drop": ["ALL"]}
    assert made["LinuxParameters"]["InitProcessEnabled"] is True
    assert made["LogConfiguration"]["LogDriver"] == "awslogs"


def test_a_small_host_keeps_mountpoints_memory_only_where_mountpoint_runs() -> None:
    mounted = container(synthesized(source=MountedBucket()))["MemoryReservation"]
    copied = container(synthesized(source=LocalCopy(volume_gib=100, throughput_mib_s=500)))["MemoryReservation"]

    assert copied - mounted == 2048


def test_tgi_reads_the_compiled_values_from_the_model() -> None:
    template = synthesized("tgi")

    assert "Command" not in container(template)
    assert environment(template) == {
        "MODEL_ID": "/models/tanuki-8b",
        "PORT": "80",
        "HF_HUB_OFFLINE": "1",
        "HOME": "/tmp",
        "USAGE_STATS": "off",
        "JSON_OUTPUT": "true",
        "NEURON_RT_LOG_LEVEL": "WARNING",
        # Of the CDK, for every container on EC2.
        "AWS_REGION": {"Ref": "AWS::Region"},
    }


def test_limits_are_arguments_of_tgi() -> None:
    limits = {"max_batch_size": 2, "max_input_tokens": 1000}

    assert container(synthesized("tgi", limits=limits))["Command"] == ["--max-batch-size=2", "--max-input-tokens=1000"]


def test_vllm_hf_is_told_what_is_known() -> None:
    known, unknown = environment(synthesized("vllm-hf")), environment(synthesized("vllm-hf", compiled=None))
    shape = {"SM_ON_BATCH_SIZE": "4", "SM_ON_SEQUENCE_LENGTH": "4096", "SM_ON_TENSOR_PARALLEL_SIZE": "2"}

    assert known == unknown | shape
    assert unknown["SM_ON_MODEL"] == "/models/tanuki-8b"
    assert unknown["SM_ON_SERVED_MODEL_NAME"] == "tanuki-8b"


def test_vllm_aws_is_told_everything_on_its_command_line() -> None:
    made = container(synthesized("vllm-aws"))

    assert made["EntryPoint"] == ["vllm", "serve"]
    assert made["Command"] == [
        "/models/tanuki-8b",
        "--served-model-name=tanuki-8b",
        "--port=8080",
        "--max-num-seqs=4",
        "--max-model-len=4096",
        "--tensor-parallel-size=2",
        "--no-enable-prefix-caching",
        "--num-gpu-blocks-override=4",
    ]


@pytest.mark.parametrize("engine", ["vllm-hf", "vllm-aws"])
def test_idle_connections_outlive_the_load_balancers(engine: str) -> None:
    assert int(environment(synthesized(engine))["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"]) > 900


@pytest.mark.parametrize("engine", ENGINES)
def test_no_engine_asks_a_hub_or_sends_statistics(engine: str) -> None:
    variables = environment(synthesized(engine))

    assert variables["HF_HUB_OFFLINE"] == "1"
    assert variables.get("USAGE_STATS") == "off" or variables.get("VLLM_NO_USAGE_STATS") == "1"


@pytest.mark.parametrize("engine", ENGINES)
def test_the_model_is_mounted_read_only_where_the_engine_looks(engine: str) -> None:
    template = synthesized(engine)
    volume = definition(template)["Volumes"][0]

    assert volume["Host"] == {"SourcePath": "/mnt/models/tanuki-8b/v1"}
    for name in ("Engine", "ModelCheck"):
        assert container(template, name)["MountPoints"][0] == (
            {"ContainerPath": "/models/tanuki-8b", "ReadOnly": True, "SourceVolume": volume["Name"]}
        )


@pytest.mark.parametrize("engine", ENGINES)
def test_the_engine_writes_into_empty_volumes_of_its_own_alone(engine: str) -> None:
    template = synthesized(engine)
    made, checker = container(template), container(template, "ModelCheck")
    _, *volumes = definition(template)["Volumes"]

    assert made["ReadonlyRootFilesystem"] is True
    # A volume without a host path is new for each task; another container's would be a way out of this one.
    assert all(not volume.get("Host") for volume in volumes)
    writable = {mount["ContainerPath"]: mount["SourceVolume"] for mount in made["MountPoints"] if not mount["ReadOnly"]}
    assert writable == {"/tmp": "tmp", "/var/tmp": "var-tmp"}
    assert {volume["Name"] for volume in volumes} == set(writable.values())
    assert not [mount for mount in checker["MountPoints"] if not mount["ReadOnly"]]


@pytest.mark.parametrize("engine", ENGINES)
def test_caches_and_relative_files_are_where_the_engine_can_write(engine: str) -> None:
    made, writable = container(synthesized(engine)), facts.inference_engine(engine).writable_directories

    assert environment(synthesized(engine))["HOME"] in writable
    # The router of tgi saves the tokenizer in its working directory.
    assert made.get("WorkingDirectory") == ("/tmp" if engine == "tgi" else None)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("with_key", [True, False])
def test_the_key_comes_from_secrets_manager_alone(engine: str, with_key: bool) -> None:
    template = synthesized(engine, with_key=with_key)
    secrets = {
        each["Name"]: each["Secrets"] for each in definition(template)["ContainerDefinitions"] if "Secrets" in each
    }

    assert secrets == ({"Proxy": [{"Name": "SLIPWAY_API_KEYS", "ValueFrom": SECRET_ARN}]} if with_key else {})


def test_the_proxy_is_a_user_that_can_change_nothing() -> None:
    proxy = container(synthesized(with_key=True), "Proxy")

    assert re.fullmatch(r"docker\.io/library/nginx@sha256:[0-9a-f]{64}", proxy["Image"])
    assert (proxy["User"], proxy["ReadonlyRootFilesystem"], proxy["Essential"]) == ("101:101", True, True)
    assert proxy["LinuxParameters"]["Capabilities"] == {"Drop": ["ALL"]}
    assert [each["ContainerPath"] for each in proxy["LinuxParameters"]["Tmpfs"]] == ["/tmp"]


def test_the_task_may_do_nothing_in_aws() -> None:
    template = synthesized(with_key=True)
    (execution,) = template.find_resources("AWS::IAM::Policy").values()
    actions = {
        action
        for statement in execution["Properties"]["PolicyDocument"]["Statement"]
        for action in (statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]])
    }

    assert actions == {
        *("logs:CreateLogStream", "logs:PutLogEvents"),
        *("secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"),
    }
    task_role = definition(template)["TaskRoleArn"]["Fn::GetAtt"][0]
    assert execution["Properties"]["Roles"] != [{"Ref": task_role}]
    assert not template.find_resources("AWS::IAM::Role")[task_role]["Properties"].get("ManagedPolicyArns")


def test_the_packs_find_nothing(tmp_path: Path) -> None:
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path))
    engine_task_stack(app, "vllm-aws", "inf2.48xlarge", with_key=True)

    assert pack_findings(app, tmp_path) == []
