"""Container images by reference, with the permission to pull them where one is needed."""

import re

from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecs as ecs
from constructs import Construct

_ECR_IMAGE = re.compile(
    r"(?P<account>[0-9]{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?/(?P<repository>[^:@]+)[:@](?P<version>.+)"
)


def is_in_ecr(reference: str) -> bool:
    """Return whether an image reference names a private Amazon ECR repository, which needs permission to pull."""
    return _ECR_IMAGE.fullmatch(reference) is not None


def container_image(scope: Construct, id: str, reference: str) -> ecs.ContainerImage:  # noqa: A002
    """Return an image; a task that uses one of Amazon ECR may pull from that one repository.

    Args:
        scope: parent construct.
        id: construct id.
        reference: image with a tag or a digest.
    """
    match = _ECR_IMAGE.fullmatch(reference)
    if match is None:
        return ecs.ContainerImage.from_registry(reference)
    partition = "aws-cn" if match["region"].startswith("cn-") else "aws"
    repository = ecr.Repository.from_repository_attributes(
        scope,
        id,
        repository_name=match["repository"],
        repository_arn=f"arn:{partition}:ecr:{match['region']}:{match['account']}:repository/{match['repository']}",
    )
    return ecs.ContainerImage.from_ecr_repository(repository, match["version"])
