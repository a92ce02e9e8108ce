"""`slipway roll-out` against the emulator's CloudFormation, which updates and rolls back as the real one does."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from neuron_constructs.inference import rolled_out_model
from slipway.roll_out import published, update
from slipway.roll_out import service as deployed_service
from slipway.roll_out.errors import FailedError
from slipway.roll_out.service import Service, find_service
from slipway_jobs.publishing import manifest
from stacks.inference import NO_MODEL_CHOSEN
from tests.roll_out.endpoint import COMPILED, NONE, SERVICE, EndpointStack, large


def test_a_version_is_served_and_the_next_one_remembers_it(endpoint: EndpointStack) -> None:
    first = endpoint.roll_out("tanuki-8b/v1", "--yes")
    assert first.exit_code == 0, first.output
    assert endpoint.served() == ("tanuki-8b/v1", NONE)
    assert endpoint.hosts().endswith("tanuki-8b-v1")
    assert "Hosts CREATE_COMPLETE" in first.output or "Hosts UPDATE_COMPLETE" in first.output

    second = endpoint.roll_out("tanuki-8b/v2", "--yes")
    assert second.exit_code == 0, second.output
    assert endpoint.served() == ("tanuki-8b/v2", "tanuki-8b/v1")
    assert endpoint.parameters()["Other"] == f"other-{endpoint.name}"

    back = endpoint.roll_out("--back", "--yes")
    assert back.exit_code == 0, back.output
    assert endpoint.served() == ("tanuki-8b/v1", "tanuki-8b/v2")
    assert endpoint.hosts().endswith("tanuki-8b-v1")


def test_what_is_served_already_is_left_alone(endpoint: EndpointStack) -> None:
    endpoint.roll_out("tanuki-8b/v1", "--yes")
    result = endpoint.roll_out("tanuki-8b/v1", "--yes")
    assert (result.exit_code, result.output) == (0, "tanuki-8b/v1 is served already\n")


def test_a_version_that_does_not_come_up_is_taken_back(endpoint: EndpointStack) -> None:
    endpoint.roll_out("tanuki-8b/v1", "--yes")
    endpoint.publish("broken")

    result = endpoint.roll_out("tanuki-8b/broken", "--yes")

    assert result.exit_code == 1, result.output
    assert "tanuki-8b/broken was not taken, tanuki-8b/v1 is served again. Why:\n  Hosts " in result.output
    assert endpoint.served() == ("tanuki-8b/v1", NONE)
    assert endpoint.hosts().endswith("tanuki-8b-v1")
    assert endpoint.roll_out("tanuki-8b/v2", "--yes").exit_code == 0


def test_nothing_happens_without_a_yes(endpoint: EndpointStack) -> None:
    for typed in ("n\n", ""):
        result = endpoint.roll_out("tanuki-8b/v1", typed=typed)
        assert result.exit_code == 2
        assert "serve tanuki-8b/v1 instead of nothing" in result.output
        assert "Nothing was changed" in result.output
    assert endpoint.served() == (NONE, NONE)
    assert endpoint.roll_out("tanuki-8b/v1", typed="y\n").exit_code == 0


def test_without_a_version_it_says_what_is_served(endpoint: EndpointStack) -> None:
    endpoint.roll_out("tanuki-8b/v1", "--yes")
    endpoint.s3.put_object(Bucket=endpoint.bucket, Key="tanuki-8b/unfinished/model.pt", Body=b"x")

    result = endpoint.roll_out()

    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[1:4] == ["served: tanuki-8b/v1", "before: nothing", "published versions of tanuki-8b: 2"]
    assert lines[4].startswith("* tanuki-8b/v1: run tanuki-run, step 1000")
    assert "for tgi (Neuron 2.24.0): batch 4, 4096 tokens, 2 cores, bfloat16" in lines[5]
    assert "unfinished" not in result.output


def refusal(endpoint: EndpointStack, *arguments: str) -> str:
    result = endpoint.roll_out(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.output


def test_there_must_be_something_to_go_back_to(endpoint: EndpointStack) -> None:
    assert "there is nothing to go back to" in refusal(endpoint, "--back")
    assert "say either a version or --back" in refusal(endpoint, "tanuki-8b/v1", "--back")


@pytest.mark.parametrize("version", ["v1", "tanuki-8b/v1/part"])
def test_a_version_has_a_model_and_a_name(endpoint: EndpointStack, version: str) -> None:
    assert "write MODEL/VERSION" in refusal(endpoint, version)


def test_a_version_that_is_not_published_is_refused(endpoint: EndpointStack) -> None:
    endpoint.s3.put_object(Bucket=endpoint.bucket, Key="tanuki-8b/v3/model.pt", Body=b"x")
    assert "tanuki-8b/v3 is not published" in refusal(endpoint, "tanuki-8b/v3", "--yes")
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
    assert message in refusal(endpoint, "tanuki-8b/v1", "--yes")
    assert endpoint.served() == (NONE, NONE)


def test_a_manifest_of_another_version_is_refused(endpoint: EndpointStack) -> None:
    source = {"Bucket": endpoint.bucket, "Key": "tanuki-8b/v1/slipway-manifest.json"}
    endpoint.s3.copy_object(Bucket=endpoint.bucket, Key="tanuki-8b/v9/slipway-manifest.json", CopySource=source)
    endpoint.s3.put_object(Bucket=endpoint.bucket, Key="tanuki-8b/v8/slipway-manifest.json", Body=b"{}")
    assert "is that of tanuki-8b/v1" in refusal(endpoint, "tanuki-8b/v9", "--yes")
    assert "slipway-manifest.json cannot be read" in refusal(endpoint, "tanuki-8b/v8", "--yes")


@pytest.mark.parametrize(
    ("compiled", "changes", "messages"),
    [
        (None, {}, ["it is not compiled for an engine"]),
        (
            COMPILED.model_copy(update={"engine": "vllm", "neuron_release": "2.26.1", "tensor_parallel_size": 12}),
            {},
            ["compiled for engine vllm, and tgi", "2.26.1 (optimum", "needs 12 NeuronCores, and inf2.8xlarge has 2"],
        ),
        (
            COMPILED.model_copy(update={"device_bytes": 40 * 2**30, "batch_size": 64}),
            {},
            ["batch 64 and 4096 tokens need 40.0 GiB", "2 NeuronCores of inf2.8xlarge have 28.8 GiB"],
        ),
        (COMPILED, {"files": large(130 * 2**30)}, ["it has 130.0 GiB, and inf2.8xlarge loads it through 128 GiB"]),
    ],
)
def test_a_version_that_the_service_cannot_load_is_refused_with_the_numbers(
    endpoint: EndpointStack, compiled: Any, changes: dict[str, Any], messages: list[str]
) -> None:
    endpoint.publish("v5", compiled, **changes)
    said = refusal(endpoint, "tanuki-8b/v5", "--yes")
    for message in messages:
        assert message in said
    assert endpoint.served() == (NONE, NONE)


def test_what_cannot_be_checked_or_is_not_served_yet_is_said(undeployed: EndpointStack) -> None:
    undeployed.deploy(SERVICE, neuron_release=None, desired_count=0)
    undeployed.publish("v1")
    result = undeployed.roll_out("tanuki-8b/v1", "--yes")
    assert result.exit_code == 0, result.output
    assert "note: the Neuron release in the engine's image is not known" in result.output
    assert "note: desired_count is 0" in result.output


def test_an_environment_that_is_not_deployed_is_refused(undeployed: EndpointStack) -> None:
    assert "is not deployed in this account and Region" in refusal(undeployed)


def test_an_endpoint_with_a_fixed_prefix_is_refused(undeployed: EndpointStack) -> None:
    undeployed.deploy(None)
    assert "serves a fixed prefix: write `model: {name: ...}`" in refusal(undeployed, "tanuki-8b/v1")


def test_a_file_that_is_not_there_is_refused(endpoint: EndpointStack) -> None:
    endpoint.name = "gone"
    result = endpoint.roll_out("-e", "/nowhere/gone.yaml")
    assert result.exit_code == 2
    assert "/nowhere/gone.yaml" in result.output


def test_a_missing_permission_is_named(endpoint: EndpointStack, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(self: Service, prefix: str) -> None:
        message = "User arn:aws:iam::1:user/ana is not authorized"
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": message}}, "UpdateStack")

    monkeypatch.setattr(Service, "serve", deny)
    said = refusal(endpoint, "tanuki-8b/v1", "--yes")
    assert "these credentials may not call UpdateStack: User arn:aws:iam::1:user/ana" in said
    assert "Nothing was changed" in said


def test_an_update_that_takes_too_long_is_left_to_cloudformation(
    endpoint: EndpointStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "_QUIET_SECONDS", 0.0)
    monkeypatch.setattr(Service, "serve", lambda *_: None)
    monkeypatch.setattr(update.Update, "_stack", lambda _: {"StackStatus": "UPDATE_IN_PROGRESS"})
    told: list[str] = []
    service = find_service(endpoint.emulator.cloudformation, endpoint.stack)
    with pytest.raises(FailedError, match=r"the update is still UPDATE_IN_PROGRESS\. CloudFormation goes on"):
        update.Update(service, timeout_seconds=0.2, tell=told.append).carry_out("tanuki-8b/v1")
    assert told[0] == "UPDATE_IN_PROGRESS for 0 minutes"


def test_a_roll_back_that_fails_is_not_called_served(endpoint: EndpointStack, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = [{"ParameterKey": "ServedModel", "ParameterValue": NONE}]
    monkeypatch.setattr(Service, "serve", lambda *_: None)
    stuck = {"StackStatus": "UPDATE_ROLLBACK_FAILED", "Parameters": parameters}
    monkeypatch.setattr(update.Update, "_stack", lambda _: stuck)
    result = endpoint.roll_out("tanuki-8b/v1", "--yes")
    assert result.exit_code == 1
    assert "neither tanuki-8b/v1 nor the version before is surely served" in result.output
    assert "continue-update-rollback" in result.output


def test_template_and_command_use_the_same_names() -> None:
    assert deployed_service.SERVED == rolled_out_model.SERVED
    assert deployed_service.PREVIOUS == rolled_out_model.PREVIOUS
    assert deployed_service.METADATA == rolled_out_model.METADATA
    assert deployed_service.NONE == NO_MODEL_CHOSEN
    assert published.MANIFEST_NAME == manifest.MANIFEST_NAME
