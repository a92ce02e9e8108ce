"""The copy of an engine's image in Amazon ECR, in a stack of its own."""

from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_logs as logs
from aws_cdk.assertions import Template

from neuron_constructs.inference.image_mirror import ImageMirror, ImageMirrorProps
from slipway import facts
from tests.assembly import cdk_context
from tests.pack_findings import pack_findings

IMAGES = [engine.image for engine in facts.inference_engines().values()]
AWS_IMAGE = "763104351884.dkr.ecr.us-west-2.amazonaws.com/huggingface-vllm-inference-neuronx:0.11.0-optimum0.4.5"
DIGEST = f"ghcr.io/a/b@sha256:{'0a' * 32}"


def mirror(app: cdk.App, image: str) -> ImageMirror:
    """Return a mirror in a stack of its own."""
    props = ImageMirrorProps(source_image=image, log_retention=logs.RetentionDays.ONE_WEEK)
    return ImageMirror(cdk.Stack(app, "Test"), "Mirror", props)


def template(image: str) -> Template:
    return Template.from_stack(cdk.Stack.of(mirror(cdk.App(context=cdk_context()), image)))


def only(made: Template, resource_type: str) -> dict[str, Any]:
    """Return the properties of the only resource of a type."""
    (resource,) = made.find_resources(resource_type).values()
    properties: dict[str, Any] = resource["Properties"]
    return properties


def variables(made: Template) -> dict[str, Any]:
    """Return the build's variables."""
    listed = only(made, "AWS::CodeBuild::Project")["Environment"]["EnvironmentVariables"]
    assert all(each["Type"] == "PLAINTEXT" for each in listed)
    return {each["Name"]: each["Value"] for each in listed}


@pytest.mark.parametrize("image", IMAGES)
def test_a_tag_is_kept(image: str) -> None:
    told = variables(template(image))

    assert told["SOURCE_IMAGE"] == image
    assert f"{told['SOURCE_NAME']}:{told['TAG']}" == image


def test_a_digest_becomes_a_tag() -> None:
    told = variables(template(DIGEST))

    assert told["SOURCE_NAME"] == "ghcr.io/a/b"
    assert told["TAG"] == f"sha256-{'0a' * 32}"


def test_the_repository_keeps_what_it_has() -> None:
    repository = only(template(IMAGES[0]), "AWS::ECR::Repository")

    assert repository["ImageTagMutability"] == "IMMUTABLE"
    assert repository["ImageScanningConfiguration"] == {"ScanOnPush": True}
    assert repository["EncryptionConfiguration"] == {"EncryptionType": "KMS"}
    assert repository["EmptyOnDelete"] is True


def test_the_build_is_bounded_and_not_privileged() -> None:
    project = only(template(IMAGES[0]), "AWS::CodeBuild::Project")

    assert project["Environment"]["PrivilegedMode"] is False
    assert project["TimeoutInMinutes"] == 120
    assert project["ConcurrentBuildLimit"] == 1
    assert project["LogsConfig"]["CloudWatchLogs"]["Status"] == "ENABLED"


def statements(made: Template) -> list[dict[str, Any]]:
    return [dict(each) for each in only(made, "AWS::IAM::Policy")["PolicyDocument"]["Statement"]]


def test_an_image_of_amazon_ecr_may_be_pulled_and_nothing_else() -> None:
    pulls = [each for each in statements(template(AWS_IMAGE)) if "763104351884" in str(each["Resource"])]

    assert pulls == [
        {
            "Action": ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
            "Effect": "Allow",
            "Resource": "arn:aws:ecr:us-west-2:763104351884:repository/huggingface-vllm-inference-neuronx",
        }
    ]
    assert "763104351884.dkr.ecr.us-west-2.amazonaws.com" in str(variables(template(AWS_IMAGE)))


def test_only_the_log_in_is_for_every_resource() -> None:
    assert [each["Action"] for each in statements(template(IMAGES[0])) if each["Resource"] == "*"] == [
        "ecr:GetAuthorizationToken"
    ]


@pytest.mark.parametrize("image", [IMAGES[0], AWS_IMAGE])
def test_the_packs_find_nothing(image: str, tmp_path: Path) -> None:
    app = cdk.App(context=cdk_context(), outdir=str(tmp_path))
    mirror(app, image)

    assert pack_findings(app, tmp_path) == []
