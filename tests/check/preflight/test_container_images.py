from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from slipway.check.preflight.answer import Answer
from slipway.check.preflight.checks import container_images
from slipway.check.preflight.registries import Image, RegistryError
from tests.check.preflight.aws import Aws, Refusal
from tests.check.preflight.conftest import Ask, NeedsFactory
from tests.check.preflight.handmade import handmade

ENGINE = "ghcr.io/huggingface/text-generation-inference:3.3.5-neuron"
OWN = "111122223333.dkr.ecr.us-east-1.amazonaws.com/optimum-neuron-vllm:0.4.5"
KEY = "arn:aws:secretsmanager:us-east-1:111122223333:secret:endpoint-key-AbCdEf"
BUCKET = "slipway-apikey-storage-models"


@pytest.fixture(autouse=True)
def registries(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The public registries: they have every image but those in this set."""
    missing: set[str] = set()

    def there(image: Image) -> bool:
        return f"{image.registry}/{image.repository}:{image.reference}" not in missing

    monkeypatch.setattr(container_images, "in_public_registry", there)
    return missing


@pytest.fixture
def aws(aws: Aws) -> Aws:
    """The account, with the images, models and secrets of the variant with an API key."""
    aws.replies |= {
        "ecr.BatchGetImage": {"images": [{"imageId": {"imageTag": "0.4.5"}}]},
        "cloudformation.DescribeStackResource": _bucket,
        "s3.ListObjectsV2": _listed,
        "secretsmanager.DescribeSecret": {"Name": "endpoint-key"},
    }
    return aws


def _bucket(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "StackResourceDetail": {
            "LogicalResourceId": parameters["LogicalResourceId"],
            "PhysicalResourceId": BUCKET,
            "ResourceType": "AWS::S3::Bucket",
            "ResourceStatus": "CREATE_COMPLETE",
            "LastUpdatedTimestamp": "2026-11-01T00:00:00Z",
        }
    }


def _listed(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """A bucket with every file that is asked for."""
    return {"KeyCount": 1, "Contents": [{"Key": parameters["Prefix"]}]}


def about(subject: str, answers: list[Answer]) -> Answer:
    (answer,) = [answer for answer in answers if answer.subject == subject]
    return answer


@pytest.mark.parametrize("environment", ["default", "apikey"])
def test_what_is_there_passes(environment: str, needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    answers = ask("PF16", needs_of(environment), aws)
    assert answers
    assert {answer.status for answer in answers} == {"passed"}


def test_a_missing_public_image_fails(needs_of: NeedsFactory, aws: Aws, ask: Ask, registries: set[str]) -> None:
    registries.add(ENGINE)
    answer = about(ENGINE, ask("PF16", needs_of("default"), aws))
    assert (answer.status, answer.message) == ("failed", "ghcr.io has no such image")
    assert answer.stacks == ("slipway-default-inference",)


def test_a_registry_that_does_not_tell_is_not_checked(
    needs_of: NeedsFactory, aws: Aws, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(_image: Image) -> bool:
        raise RegistryError("ghcr.io answers 429 without a log-in")

    monkeypatch.setattr(container_images, "in_public_registry", silent)
    answer = about(ENGINE, ask("PF16", needs_of("default"), aws))
    assert answer.status == "not_checked"
    assert answer.fix == f"docker manifest inspect {ENGINE}"


@pytest.mark.parametrize(
    "reply",
    [
        Refusal("RepositoryNotFoundException"),
        Refusal("ImageNotFoundException"),
        {"images": [], "failures": [{"imageId": {"imageTag": "0.4.5"}, "failureCode": "ImageNotFound"}]},
    ],
)
def test_a_missing_image_of_ecr_fails(reply: Any, needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    aws.replies["ecr.BatchGetImage"] = reply
    answer = about(OWN, ask("PF16", needs_of("apikey"), aws))
    assert answer.status == "failed"
    assert answer.fix is not None
    listing = (
        "aws ecr describe-images --region us-east-1 --registry-id 111122223333 --repository-name optimum-neuron-vllm"
    )
    assert answer.fix.startswith(listing)
    asked = next(call.parameters for call in aws.calls if call.operation == "BatchGetImage")
    assert asked["imageIds"] == [{"imageTag": "0.4.5"}]


def test_an_image_that_ecr_cannot_fetch_now_is_not_checked(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    """A pull through cache, for example, whose registry does not answer."""
    failure = {"imageId": {"imageTag": "0.4.5"}, "failureCode": "UpstreamUnavailable"}
    aws.replies["ecr.BatchGetImage"] = {"images": [], "failures": [failure]}
    answer = about(OWN, ask("PF16", needs_of("apikey"), aws))
    assert (answer.status, answer.message) == ("not_checked", f"{OWN.partition('/')[0]} answers UpstreamUnavailable")


@pytest.mark.parametrize("suffix", [None, ".bak"])
def test_the_files_of_a_model_are_looked_for(suffix: str | None, needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    """A folder with other files does not do: the hosts would come up and go."""

    def listed(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        if not parameters["Prefix"].endswith("/neuron_config.json"):
            return _listed(parameters)
        return {"Contents": [{"Key": f"{parameters['Prefix']}{suffix}"}]} if suffix else {"KeyCount": 0}

    aws.replies["s3.ListObjectsV2"] = listed
    answer = about("the model imported/llama", ask("PF16", needs_of("apikey"), aws))
    assert answer.status == "failed"
    folder = f"s3://{BUCKET}/imported/llama/"
    assert answer.message == f"{folder} has no file neuron_config.json, with which the engine starts"
    assert answer.fix == f"aws s3 sync <folder of the model> s3://{BUCKET}/imported/llama/"


def test_a_bucket_that_is_still_to_be_made_warns(needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    aws.replies["cloudformation.DescribeStackResource"] = Refusal("ValidationError")
    answer = about("the model imported/llama", ask("PF16", needs_of("apikey"), aws))
    assert answer.status == "warning"
    assert answer.fix is not None
    assert answer.fix.startswith("deploy slipway-apikey-storage, copy the model to imported/llama/")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (
            Refusal("ResourceNotFoundException"),
            ("there is no such secret", "aws secretsmanager create-secret --region us-east-1 --name endpoint-key "),
        ),
        (
            {"Name": "endpoint-key", "DeletedDate": "2026-11-01T00:00:00Z"},
            ("the secret is scheduled for deletion", "aws secretsmanager restore-secret --region us-east-1"),
        ),
    ],
)
def test_a_missing_secret_fails(reply: Any, said: tuple[str, str], needs_of: NeedsFactory, aws: Aws, ask: Ask) -> None:
    aws.replies["secretsmanager.DescribeSecret"] = reply
    answer = about(KEY, ask("PF16", needs_of("apikey"), aws))
    assert (answer.status, answer.message) == ("failed", said[0])
    assert answer.fix is not None
    assert said[1] in answer.fix


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException"])
@pytest.mark.parametrize("call", ["ecr.BatchGetImage", "s3.ListObjectsV2", "secretsmanager.DescribeSecret"])
def test_a_refusal_leaves_the_other_things_checked(
    call: str, code: str, needs_of: NeedsFactory, aws: Aws, ask: Ask
) -> None:
    aws.replies[call] = Refusal(code)
    answers = ask("PF16", needs_of("apikey"), aws)
    assert [answer.status for answer in answers].count("not_checked") == 1
    assert "passed" in {answer.status for answer in answers}


def test_a_pattern_of_secrets_in_a_policy_names_none(tmp_path: Path, aws: Aws, ask: Ask) -> None:
    patterns = [f"{KEY}*", KEY.replace("AbCdEf", "??????")]
    policy = {"Type": "AWS::IAM::Policy", "Properties": {"PolicyDocument": {"Statement": [{"Resource": patterns}]}}}
    assert ask("PF16", handmade(tmp_path, {"Policy": policy}), aws) == []
