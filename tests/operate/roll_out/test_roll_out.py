"""`slipway roll-out` against the emulator's CloudFormation, which updates and rolls back as the real one does."""

import hashlib
import json

import pytest
from botocore.exceptions import ClientError

from slipway.errors import FailedError
from slipway.operate.roll_out import published, update
from slipway.operate.roll_out.service import METADATA, InferenceStack, find_inference_stack, stack_values
from slipway.operate.roll_out.state import serve
from slipway_jobs.publishing import manifest
from slipway_pause.part import TAG
from tests.operate.roll_out.endpoint import SOURCE, EndpointStack, publish_version
from tests.operate.roll_out.template import NONE, inference_template


def test_a_version_is_served_and_the_next_one_remembers_it(endpoint: EndpointStack) -> None:
    first = endpoint.must("tanuki-8b/v1")
    assert endpoint.served() == ("tanuki-8b/v1", NONE)
    assert endpoint.hosts().endswith("tanuki-8b-v1")
    assert "Tanuki8bHosts CREATE_COMPLETE" in first or "Tanuki8bHosts UPDATE_COMPLETE" in first
    assert first.endswith("tanuki-8b/v1 is served\n")

    second = endpoint.must("tanuki-8b/v2")
    assert endpoint.served() == ("tanuki-8b/v2", "tanuki-8b/v1")
    assert endpoint.parameters()["Other"] == f"other-{endpoint.name}"
    assert f"back again: slipway roll-out -e {endpoint.file} tanuki-8b --back" in second

    endpoint.must("--back", "tanuki-8b")
    assert endpoint.served() == ("tanuki-8b/v1", "tanuki-8b/v2")
    assert endpoint.hosts().endswith("tanuki-8b-v1")


def test_the_manifest_that_was_rolled_out_goes_with_its_version(endpoint: EndpointStack) -> None:
    def pins() -> tuple[str, str]:
        found = endpoint.parameters()
        return found["Tanuki8bServedManifest"], found["Tanuki8bPreviousManifest"]

    def digest(version: str) -> str:
        key = f"tanuki-8b/{version}/{manifest.MANIFEST_NAME}"
        return hashlib.sha256(endpoint.s3.get_object(Bucket=endpoint.bucket, Key=key)["Body"].read()).hexdigest()

    endpoint.must("tanuki-8b/v1")
    assert pins() == (digest("v1"), "none")
    endpoint.must("tanuki-8b/v2")
    assert pins() == (digest("v2"), digest("v1"))
    endpoint.must("--back", "tanuki-8b")
    assert pins() == (digest("v1"), digest("v2"))


def test_a_stack_from_before_pins_is_deployed_first(undeployed: EndpointStack) -> None:
    template = json.loads(inference_template(undeployed.name, undeployed.bucket))
    for described in template["Metadata"][METADATA].values():
        for name in ("served_manifest", "previous_manifest", "candidate_manifest"):
            if parameter := described["parameters"].pop(name, None):
                del template["Parameters"][parameter]
                template["Outputs"] = {
                    key: output for key, output in template["Outputs"].items() if output["Value"] != {"Ref": parameter}
                }
    undeployed.deploy(json.dumps(template))
    undeployed.publish("v1")

    assert "was deployed before roll-outs pinned manifests: deploy it first" in undeployed.refusal("tanuki-8b/v1")
    assert undeployed.served() == (NONE, NONE)


def test_what_was_served_without_a_pin_is_pinned_by_the_same_command(endpoint: EndpointStack) -> None:
    endpoint.must("tanuki-8b/v1")
    pin = endpoint.parameters()["Tanuki8bServedManifest"]
    endpoint.emulator.cloudformation.update_stack(
        StackName=endpoint.stack,
        UsePreviousTemplate=True,
        Parameters=[
            {"ParameterKey": name, "ParameterValue": "none"}
            if name == "Tanuki8bServedManifest"
            else {"ParameterKey": name, "UsePreviousValue": True}
            for name in endpoint.parameters()
        ],
    )
    assert endpoint.emulator.settled(endpoint.stack) == "UPDATE_COMPLETE"

    assert "pin the manifest of tanuki-8b/v1" in endpoint.must("tanuki-8b/v1")
    assert endpoint.parameters()["Tanuki8bServedManifest"] == pin
    assert endpoint.served() == ("tanuki-8b/v1", NONE)


@pytest.mark.parametrize("swapped", ["v1", "v2"])
def test_weights_and_manifest_that_were_swapped_are_not_served_again(endpoint: EndpointStack, swapped: str) -> None:
    endpoint.must("tanuki-8b/v1")
    endpoint.must("tanuki-8b/v2")
    for entry in endpoint.s3.list_objects_v2(Bucket=endpoint.bucket, Prefix=f"tanuki-8b/{swapped}/")["Contents"]:
        endpoint.s3.delete_object(Bucket=endpoint.bucket, Key=entry["Key"])
    source = SOURCE.model_copy(update={"run": "attack"})
    publish_version(endpoint.s3, endpoint.bucket, swapped, endpoint.folder / "attack", source=source)

    assert "replaced since" in endpoint.refusal(f"tanuki-8b/{swapped}", "--yes")
    assert endpoint.served() == ("tanuki-8b/v2", "tanuki-8b/v1")
    if swapped == "v1":
        assert "replaced since" in endpoint.refusal("--back", "tanuki-8b", "--yes")


def test_models_are_rolled_out_each_by_itself(endpoint: EndpointStack) -> None:
    endpoint.must("tanuki-8b/v1")
    publish_version(endpoint.s3, endpoint.bucket, "v7", endpoint.folder / "v7", model="kitsune")

    said = endpoint.must("kitsune/v7")

    assert "Kitsune" in said
    assert "Tanuki" not in said
    assert endpoint.parameters()["KitsuneServed"] == "kitsune/v7"
    assert endpoint.served() == ("tanuki-8b/v1", NONE)
    assert endpoint.hosts("Kitsune").endswith("kitsune-v7")


def test_what_is_served_already_is_left_alone(endpoint: EndpointStack) -> None:
    endpoint.must("tanuki-8b/v1")
    assert endpoint.must("tanuki-8b/v1") == "tanuki-8b/v1 is served already\n"


def test_a_version_that_does_not_come_up_is_taken_back(endpoint: EndpointStack) -> None:
    endpoint.must("tanuki-8b/v1")
    endpoint.publish("broken")

    result = endpoint.roll_out("tanuki-8b/broken", "--yes")

    assert result.exit_code == 1, result.output
    assert "CloudFormation took back: serve tanuki-8b/broken instead of tanuki-8b/v1" in result.output
    assert "Now tanuki-8b/v1 is served. Why:\n  Tanuki8bHosts " in result.output
    assert endpoint.served() == ("tanuki-8b/v1", NONE)
    assert endpoint.hosts().endswith("tanuki-8b-v1")
    endpoint.must("tanuki-8b/v2")


def test_nothing_happens_without_a_yes(endpoint: EndpointStack) -> None:
    for typed in ("n\n", ""):
        result = endpoint.roll_out("tanuki-8b/v1", typed=typed)
        assert result.exit_code == 2
        assert "1. serve tanuki-8b/v1 instead of nothing" in result.output
        assert "Nothing was changed" in result.output
    assert endpoint.served() == (NONE, NONE)
    assert endpoint.roll_out("tanuki-8b/v1", typed="y\n").exit_code == 0


def test_without_a_version_it_says_what_is_served(endpoint: EndpointStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    endpoint.must("tanuki-8b/v1")
    endpoint.must("tanuki-8b/v2", "--canary", "10")
    endpoint.publish("v3", None)
    endpoint.s3.put_object(Bucket=endpoint.bucket, Key="tanuki-8b/unfinished/model.pt", Body=b"x")

    said = endpoint.must()

    rows = {
        cells[1].strip(): [cell.strip() for cell in cells[2:-1]]
        for cells in (line.replace("┃", "│").split("│") for line in said.splitlines() if line.startswith(("│", "┃")))
    }
    assert rows["tanuki-8b"] == ["v1", "2 of 2 tasks", "-", "v2: 10 %, 1 of 1 tasks"]
    assert rows["kitsune"] == ["nothing yet", "0 of 0 tasks", "-", "no canary"]
    assert rows["fixed"] == ["imported/fixed/ (fixed)", "-", "-", "-"]
    assert "published versions of tanuki-8b: 3" in said
    assert "* tanuki-8b/v1: run tanuki-run, step 1000" in said
    assert "+ tanuki-8b/v2: run tanuki-run, step 1000" in said
    assert "for tgi (Neuron 2.24.0): batch 4, 4096 tokens, 2 cores, bfloat16" in said
    assert "    does not fit: it is not compiled for an engine" in said
    assert "unfinished" not in said
    assert "tanuki-8b" not in endpoint.must("kitsune")


def test_it_must_be_clear_what_is_asked_for(endpoint: EndpointStack) -> None:
    assert "there is nothing to go back to" in endpoint.refusal("tanuki-8b", "--back")
    assert "say either a version or --back" in endpoint.refusal("tanuki-8b/v1", "--back")
    assert "say one of --back, --promote" in endpoint.refusal("--back", "--promote")
    assert "say which model: kitsune, tanuki-8b" in endpoint.refusal("--back")
    assert "write MODEL/VERSION" in endpoint.refusal("tanuki-8b/v1/part")
    assert "serves no model 'v1' that is rolled out; it has kitsune, tanuki-8b" in endpoint.refusal("v1")
    assert "fixed serves the fixed prefix of the environment file" in endpoint.refusal("fixed/v1")


def test_an_environment_that_is_not_deployed_is_refused(undeployed: EndpointStack) -> None:
    assert "is not deployed in this account and Region" in undeployed.refusal()


def test_an_endpoint_with_fixed_prefixes_is_refused(undeployed: EndpointStack) -> None:
    bucket = {"Type": "AWS::S3::Bucket"}
    undeployed.deploy(json.dumps({"Resources": {"Bucket": bucket}}))
    assert "serves fixed prefixes only: take `prefix` out of a model" in undeployed.refusal("tanuki-8b/v1")


def test_a_file_that_is_not_there_is_refused(endpoint: EndpointStack) -> None:
    result = endpoint.roll_out("-e", "/nowhere/gone.yaml")
    assert result.exit_code == 2
    assert "/nowhere/gone.yaml" in result.output


def test_a_missing_permission_is_named(endpoint: EndpointStack, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*_: object) -> None:
        message = "User arn:aws:iam::1:user/ana is not authorized"
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": message}}, "UpdateStack")

    monkeypatch.setattr(InferenceStack, "begin", deny)
    said = endpoint.refusal("tanuki-8b/v1", "--yes")
    assert "these credentials may not call UpdateStack: User arn:aws:iam::1:user/ana" in said
    assert "Nothing was changed" in said


def test_an_update_that_takes_too_long_is_left_to_cloudformation(
    endpoint: EndpointStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "_QUIET_SECONDS", 0.0)
    monkeypatch.setattr(InferenceStack, "begin", lambda *_: None)
    monkeypatch.setattr(update.Update, "_described", lambda _: {"StackStatus": "UPDATE_IN_PROGRESS"})
    told: list[str] = []
    stack = find_inference_stack(endpoint.emulator.cloudformation, endpoint.stack)
    [step] = serve(stack.state("tanuki-8b"), "tanuki-8b/v1")
    with pytest.raises(FailedError, match=r"the update is still UPDATE_IN_PROGRESS\. CloudFormation goes on"):
        update.Update(stack, "tanuki-8b", timeout_seconds=0.2, tell=told.append).carry_out(step, 2)
    assert told[0] == "UPDATE_IN_PROGRESS for 0 minutes"


def test_a_roll_back_that_fails_is_not_called_served(endpoint: EndpointStack, monkeypatch: pytest.MonkeyPatch) -> None:
    described = endpoint.emulator.stack(endpoint.stack)
    monkeypatch.setattr(InferenceStack, "begin", lambda *_: None)
    monkeypatch.setattr(update.Update, "_described", lambda _: {**described, "StackStatus": "UPDATE_ROLLBACK_FAILED"})
    result = endpoint.roll_out("tanuki-8b/v1", "--yes")
    assert result.exit_code == 1
    assert "UPDATE_ROLLBACK_FAILED: what is served is not sure" in result.output
    assert "continue-update-rollback" in result.output


def test_job_kit_and_command_use_the_same_names() -> None:
    assert published.MANIFEST_NAME == manifest.MANIFEST_NAME


@pytest.mark.parametrize(("scaled_to", "kept"), [(5, 5), (0, 2)])
def test_a_roll_out_keeps_the_tasks_that_scaling_has_made(endpoint: EndpointStack, scaled_to: int, kept: int) -> None:
    ecs = endpoint.emulator.client("ecs")
    endpoint.must("tanuki-8b/v1")
    ecs.update_service(cluster=endpoint.stack, service="tanuki-8b", desiredCount=scaled_to)

    endpoint.must("tanuki-8b/v2")

    assert stack_values(endpoint.emulator.stack(endpoint.stack))["Tanuki8bTaskCount"] == str(kept)
    [service] = ecs.describe_services(cluster=endpoint.stack, services=["tanuki-8b"])["services"]
    assert service["desiredCount"] == scaled_to  # nothing else sets it


def test_a_paused_model_is_resumed_before_a_version_is_rolled_out(endpoint: EndpointStack) -> None:
    endpoint.must("tanuki-8b/v1")
    ecs = endpoint.emulator.client("ecs")
    [service] = ecs.describe_services(cluster=endpoint.stack, services=["tanuki-8b"])["services"]
    ecs.tag_resource(resourceArn=service["serviceArn"], tags=[{"key": TAG, "value": "desired=2"}])

    refused = endpoint.roll_out("tanuki-8b/v2", "--yes")

    assert refused.exit_code == 2
    assert f"`slipway resume -e {endpoint.file}` first" in refused.output
    assert endpoint.served() == ("tanuki-8b/v1", NONE)
    ecs.untag_resource(resourceArn=service["serviceArn"], tagKeys=[TAG])
    endpoint.must("tanuki-8b/v2")
