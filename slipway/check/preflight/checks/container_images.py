"""PF16: what tasks pull and read when they start: container images, models, secrets."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from slipway.assembly.stacks import read_stacks
from slipway.aws.account import Account
from slipway.aws.refusals import UNANSWERED
from slipway.check.preflight.answer import Answer
from slipway.check.preflight.check import check, not_checked
from slipway.check.preflight.needs import Needs
from slipway.check.preflight.registries import Image, RegistryError, in_ecr, in_public_registry, parse_image
from slipway.check.preflight.template_text import OPEN, text_of

_Answer = partial(Answer, check="PF16")

_SECRET = re.compile(r"arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]++(?![?*$])")
"""A whole ARN. Policies also have patterns of ARNs, which name no secret."""
_FILES = re.compile(r"export SLIPWAY_MODEL_FILES='?([^\s']+)'?\n")
_PREFIX = re.compile(r"export SLIPWAY_MODEL_PREFIX='?([A-Za-z0-9._/-]+)'?\n")
_BUCKET = re.compile(r"export SLIPWAY_MODEL_BUCKET='?\$\{output (\S+) (\S+)\}")
_NO_STACK = "ValidationError"


@dataclass(frozen=True)
class _Model:
    """A folder that a host serves as it is.

    Attributes:
        stack: the host's.
        prefix: the folder, without a slash at its end.
        files: what the engine starts with, relative to it.
        bucket_stack: the stack that makes the bucket.
        bucket: the bucket's logical id there.
    """

    stack: str
    prefix: str
    files: tuple[str, ...]
    bucket_stack: str
    bucket: str


@check(
    "PF16",
    "container images, models and secrets",
    stage="existence",
    prevents="Tasks do not start: their image cannot be pulled, or their model or a secret is not there.",
    actions=(
        "cloudformation:DescribeStackResource",
        "ecr:BatchGetImage",
        "s3:ListBucket",
        "secretsmanager:DescribeSecret",
    ),
)
def container_images(needs: Needs, account: Account) -> Iterator[Answer]:
    """Look for every image of a task, every folder of the model bucket that is served as it is, and every secret."""
    for name, stacks in _images(needs).items():
        yield from _image(name, stacks, account)
    for model in _models(needs):
        yield from _model(model, account)
    for arn, stacks in _secrets(needs).items():
        yield from _secret(arn, stacks, account)


def _images(needs: Needs) -> dict[str, tuple[str, ...]]:
    """Return the stacks of each image; images of a repository that a stack makes itself cannot be there before."""
    found: dict[str, tuple[str, ...]] = {}
    for stack, _, properties in needs.resources("AWS::ECS::TaskDefinition"):
        for container in properties["ContainerDefinitions"]:
            name = text_of(container["Image"])
            if OPEN not in name:
                found[name] = tuple(dict.fromkeys((*found.get(name, ()), stack.name)))
    return found


def _image(name: str, stacks: tuple[str, ...], account: Account) -> Iterator[Answer]:
    image = parse_image(name)
    answer = partial(_Answer, subject=name, stacks=stacks)
    try:
        there = in_ecr(image, account) if image.in_ecr else in_public_registry(image)
    except UNANSWERED as error:
        yield not_checked("PF16", name, error)
        return
    except RegistryError as error:
        yield answer(status="not_checked", message=str(error), fix=f"docker manifest inspect {name}")
        return
    if there:
        yield answer(status="passed", message=f"{image.registry} has it")
    else:
        yield answer(status="failed", message=f"{image.registry} has no such image", fix=_image_fix(image))


def _image_fix(image: Image) -> str:
    if image.in_ecr:
        return (
            f"aws ecr describe-images --region {image.registry.split('.')[3]} --registry-id {image.registry[:12]} "
            f"--repository-name {image.repository} --query 'imageDetails[].imageTags[]'\n"
            "then push the image, or write one of these as `image`"
        )
    return "write an `image` that is there, with its tag or digest"


def _models(needs: Needs) -> Iterator[_Model]:
    """Yield the folders that environment files name as `prefix`.

    The hosts' start script has all of it. Where a parameter says which version is served, there is nothing to look for.
    """
    templates = {stack.name: stack.template for stack in read_stacks(needs.assembly)}
    for stack, _, properties in needs.resources("AWS::EC2::LaunchTemplate"):
        script = text_of(properties["LaunchTemplateData"].get("UserData", {}))
        prefix, bucket, files = _PREFIX.search(script), _BUCKET.search(script), _FILES.search(script)
        if prefix and bucket and files:
            owner, output = bucket.groups()
            value = templates[owner]["Outputs"][output]["Value"]
            yield _Model(stack.name, prefix[1], tuple(files[1].split(":")), owner, value["Ref"])


def _model(model: _Model, account: Account) -> Iterator[Answer]:
    subject = f"the model {model.prefix}"
    answer = partial(_Answer, subject=subject, stacks=(model.stack,))
    try:
        name = _physical_id(model.bucket_stack, model.bucket, account)
        if name is None:
            yield answer(
                status="warning",
                message=f"its bucket is made by {model.bucket_stack}, which is not deployed yet",
                fix=f"deploy {model.bucket_stack}, copy the model to {model.prefix}/ in the bucket, then deploy "
                f"{model.stack}",
            )
            return
        missing = [file for file in model.files if not _is_there(name, f"{model.prefix}/{file}", account)]
    except UNANSWERED as error:
        yield not_checked("PF16", subject, error)
        return
    folder = f"s3://{name}/{model.prefix}/"
    if missing:
        yield answer(
            status="failed",
            message=f"{folder} has no file {', '.join(missing)}, with which the engine starts",
            fix=f"aws s3 sync <folder of the model> {folder}",
        )
    else:
        yield answer(status="passed", message=f"{folder} has {', '.join(model.files)}")


def _is_there(bucket: str, key: str, account: Account) -> bool:
    # Listed, not read: the key itself comes before all longer ones.
    listed = account.client("s3").list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1)
    return any(found["Key"] == key for found in listed.get("Contents", []))


def _physical_id(stack: str, logical_id: str, account: Account) -> str | None:
    try:
        described = account.client("cloudformation").describe_stack_resource(
            StackName=stack, LogicalResourceId=logical_id
        )
    except ClientError as error:
        if error.response["Error"]["Code"] == _NO_STACK:
            return None
        raise
    name: str | None = described["StackResourceDetail"].get("PhysicalResourceId")
    return name


def _secrets(needs: Needs) -> dict[str, tuple[str, ...]]:
    """Return the stacks of each secret that a template names by its ARN: Hugging Face tokens, API keys, passwords."""
    found: dict[str, tuple[str, ...]] = {}
    for stack in needs.stacks:
        for arn in _secret_arns(stack.template):
            found[arn] = tuple(dict.fromkeys((*found.get(arn, ()), stack.name)))
    return found


def _secret_arns(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _secret_arns(item)
    elif isinstance(value, str):
        yield from _SECRET.findall(value)


def _secret(arn: str, stacks: tuple[str, ...], account: Account) -> Iterator[Answer]:
    answer = partial(_Answer, subject=arn, stacks=stacks)
    region, name = arn.split(":")[3], arn.split(":")[6]
    try:
        found = account.client("secretsmanager", region).describe_secret(SecretId=arn)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            yield not_checked("PF16", arn, error)
            return
        fix = (
            f"aws secretsmanager create-secret --region {region} --name {name.rpartition('-')[0]} "
            "--secret-string file:///dev/stdin\nthen write the ARN that it prints"
        )
        yield answer(status="failed", message="there is no such secret", fix=fix)
        return
    if found.get("DeletedDate"):
        yield answer(
            status="failed",
            message="the secret is scheduled for deletion",
            fix=f"aws secretsmanager restore-secret --region {region} --secret-id {arn}",
        )
    else:
        yield answer(status="passed", message="it is there")
