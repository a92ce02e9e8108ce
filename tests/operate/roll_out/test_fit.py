"""Only a whole version that the service can load is rolled out."""

from typing import Any

import pytest

from tests.operate.roll_out.endpoint import COMPILED, EndpointStack, large
from tests.operate.roll_out.template import NONE


def test_a_version_that_is_not_published_is_refused(endpoint: EndpointStack) -> None:
    endpoint.s3.put_object(Bucket=endpoint.bucket, Key="tanuki-8b/v3/model.pt", Body=b"x")
    assert "tanuki-8b/v3 is not published" in endpoint.refusal("tanuki-8b/v3", "--yes")
    assert endpoint.served() == (NONE, NONE)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "tanuki-8b/v1/model.pt is missing"),
        (b"short", "tanuki-8b/v1/model.pt has 5 bytes, the manifest says 640"),
        (b"x" * 640, "tanuki-8b/v1/model.pt has another SHA-256 than the manifest says"),
    ],
)
def test_a_damaged_version_is_refused(endpoint: EndpointStack, content: bytes | None, message: str) -> None:
    where = {"Bucket": endpoint.bucket, "Key": "tanuki-8b/v1/model.pt"}
    if content is None:
        endpoint.s3.delete_object(**where)
    else:
        endpoint.s3.put_object(**where, Body=content, ChecksumAlgorithm="SHA256")
    assert message in endpoint.refusal("tanuki-8b/v1", "--yes")
    assert endpoint.served() == (NONE, NONE)


def test_a_manifest_of_another_version_is_refused(endpoint: EndpointStack) -> None:
    source = {"Bucket": endpoint.bucket, "Key": "tanuki-8b/v1/slipway-manifest.json"}
    endpoint.s3.copy_object(Bucket=endpoint.bucket, Key="tanuki-8b/v9/slipway-manifest.json", CopySource=source)
    endpoint.s3.put_object(Bucket=endpoint.bucket, Key="tanuki-8b/v8/slipway-manifest.json", Body=b"{}")
    assert "is that of tanuki-8b/v1" in endpoint.refusal("tanuki-8b/v9", "--yes")
    assert "slipway-manifest.json cannot be read" in endpoint.refusal("tanuki-8b/v8", "--yes")


@pytest.mark.parametrize(
    ("compiled", "changes", "messages"),
    [
        (None, {}, ["it is not compiled for an engine"]),
        (
            COMPILED.model_copy(update={"engine": "vllm-hf", "neuron_release": "2.26.1", "tensor_parallel_size": 12}),
            {},
            ["compiled for engine vllm-hf, and tgi", "2.26.1 (optimum", "needs 12 NeuronCores, and inf2.8xlarge has 2"],
        ),
        (
            COMPILED.model_copy(update={"device_bytes": 40 * 2**30, "batch_size": 64}),
            {},
            ["batch 64 and 4096 tokens need 40.0 GiB", "2 NeuronCores of inf2.8xlarge have 28.8 GiB"],
        ),
        (COMPILED, {"files": large(130 * 2**30)}, ["it has 130.0 GiB, and inf2.8xlarge loads it through 128 GiB"]),
        (
            COMPILED,
            {"configuration": {"architectures": ["MambaForCausalLM"]}},
            ["its architecture is MambaForCausalLM, and tgi serves LlamaForCausalLM"],
        ),
    ],
)
def test_a_version_that_the_service_cannot_load_is_refused_with_the_numbers(
    endpoint: EndpointStack, compiled: Any, changes: dict[str, Any], messages: list[str]
) -> None:
    endpoint.publish("v5", compiled, **changes)
    said = endpoint.refusal("tanuki-8b/v5", "--yes")
    for message in messages:
        assert message in said
    assert endpoint.served() == (NONE, NONE)


@pytest.mark.parametrize(
    ("service", "messages"),
    [
        (
            {"limits": {"max_batch_size": 8, "max_total_tokens": 8192}},
            ["limits.max_batch_size", "limits.max_total_tokens", "compiled is 4", "compiled is 4096"],
        ),
        (
            {"compiled": {"batch_size": 8, "sequence_length": 4096, "tensor_parallel_size": 2}},
            ["it is compiled for batch 4, 4096 tokens, 2 cores, and the environment file says batch 8"],
        ),
        (
            {"neuron_driver": "2.31.7.0"},
            ["Neuron driver 2.31.7.0 with runtime library 2.26.42.0: nrt_init() fails", "Change `host_image`"],
        ),
    ],
)
def test_the_engines_own_start_up_checks_are_made_beforehand(
    undeployed: EndpointStack, service: dict[str, Any], messages: list[str]
) -> None:
    undeployed.deploy(**service)
    undeployed.publish("v1")
    said = undeployed.refusal("tanuki-8b/v1", "--yes")
    for message in messages:
        assert message in said


def test_a_version_that_is_larger_than_the_hosts_volume_is_refused(undeployed: EndpointStack) -> None:
    undeployed.deploy(volume_gib=20)
    undeployed.publish("v1", files=large(21 * 2**30))
    assert "it has 21.0 GiB, and a host copies it to a volume of 20 GiB" in undeployed.refusal("tanuki-8b/v1", "--yes")


def test_what_cannot_be_checked_or_is_not_served_yet_is_said(undeployed: EndpointStack) -> None:
    undeployed.deploy(neuron_release=None, neuron_driver=None, desired_count=0)
    undeployed.publish("v1", configuration={})
    said = undeployed.must("tanuki-8b/v1")
    assert "note: the Neuron release in the engine's image is not known" in said
    assert "note: hosts start from AWS's newest image" in said
    assert "note: its config.json names no architecture" in said
    assert "note: min_count is 0" in said


def test_a_host_that_is_small_for_a_version_is_told_with_larger_ones_and_their_prices(
    endpoint: EndpointStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slipway.facts.HOST_SHARE", 1e-9)
    said = endpoint.must("tanuki-8b/v1")
    assert "are loaded through the 128 GiB of host memory of inf2.8xlarge; above 0%" in said
    assert "take a larger instance_type, inf2.24xlarge ($6.49 an hour, list price) or trn1.32xlarge ($21.50 an" in said
