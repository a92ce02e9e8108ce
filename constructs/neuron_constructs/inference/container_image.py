"""Container images by reference, with the permission to pull them where one is needed."""

import re

from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecs as ecs
from constructs import Construct

_ECR_IMAGE = re.compile(
    # Of IPv4 alone, or of both with `dkr-ecr` and `on.aws`: two names of one registry.
    r"(?P<registry>(?P<account>[0-9]{12})\.dkr[.-]ecr(-fips)?\.(?P<region>[a-z0-9-]+)\.(amazonaws\.com(\.cn)?|on\.aws))"
    r"/(?P<repository>[^:@]+)[:@](?P<version>.+)"
)


def is_in_ecr(reference: str) -> bool:
    """Return whether an image reference names a private Amazon ECR repository, which needs permission to pull."""
    return _ECR_IMAGE.fullmatch(reference) is not None


def ecr_registry(reference: str) -> str | None:
    """Return the host name of the private Amazon ECR registry that an image is in; none where it is in another."""
    match = _ECR_IMAGE.fullmatch(reference)
    return match["registry"] if match else None


def ecr_repository(scope: Construct, id: str, reference: str) -> ecr.IRepository | None:  # noqa: A002
    """Return the private Amazon ECR repository that an image is in, of whichever account; none where it is elsewhere.

    Args:
        scope: parent construct.
        id: construct id.
        reference: image with a tag or a digest.
    """
    match = _ECR_IMAGE.fullmatch(reference)
    if match is None:
        return None
    partition = "aws-cn" if match["region"].startswith("cn-") else "aws"
    return ecr.Repository.from_repository_attributes(
        scope,
        id,
        repository_name=match["repository"],
        repository_arn=f"arn:{partition}:ecr:{match['region']}:{match['account']}:repository/{match['repository']}",
    )


def container_image(scope: Construct, id: str, reference: str) -> ecs.ContainerImage:  # noqa: A002
    """Return an image; a task that uses one of Amazon ECR may pull from that one repository.

    Args:
        scope: parent construct.
        id: construct id.
        reference: image with a tag or a digest.
    """
    match, repository = _ECR_IMAGE.fullmatch(reference), ecr_repository(scope, id, reference)
    if match is None or repository is None:
        return ecs.ContainerImage.from_registry(reference)
    return ecs.ContainerImage.from_ecr_repository(repository, match["version"])
