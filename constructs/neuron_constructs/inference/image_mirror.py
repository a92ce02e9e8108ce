"""A copy of a container image in a repository of the account's own."""

from dataclasses import dataclass

from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from constructs import Construct

from neuron_constructs.image_builds import (
    SCRIPT_START,
    build_project,
    build_role,
    image_repository,
    repository_variables,
    script_command,
    start_and_wait,
)
from neuron_constructs.inference.container_image import ecr_registry, ecr_repository
from neuron_constructs.log_groups import stack_log_group

_KEPT_IMAGES = 3

COPY_SCRIPT = f"""\
{SCRIPT_START}\
digest=$(docker buildx imagetools inspect "$SOURCE_IMAGE" --format '{{{{.Manifest.Digest}}}}')
echo "Copying $SOURCE_IMAGE, which is $digest"
# By its digest, so that a tag that moves meanwhile changes nothing; manifests and layers go from registry to registry
# as they are, without a Docker daemon.
docker buildx imagetools create --progress plain --prefer-index=false \\
  --tag "$REPOSITORY_URI:$TAG" "$SOURCE_NAME@$digest"

copied=$(digest_in_repository)
if [ "$copied" != "$digest" ]; then
  echo "The copy is $copied, not $digest: delete it, and try again" >&2
  exit 1
fi
echo "$REPOSITORY_URI:$TAG is $copied"
"""
"""What a build runs, in bash. Environment variables: those of the script's start, SOURCE_IMAGE, SOURCE_NAME (without
tag or digest)."""


@dataclass(frozen=True, kw_only=True)
class ImageMirrorProps:
    """Properties of an `ImageMirror`."""

    source_image: str
    """Image to copy, with a tag or a digest: of a registry that needs no log-in, or of Amazon ECR, where the
    repository's policy must let this account pull (AWS's own do)."""

    log_retention: logs.RetentionDays
    """How long the copies' log is kept."""


class ImageMirror(Construct):
    """An Amazon ECR repository, and an AWS CodeBuild project that copies one image into it.

    The copy has the source's tag, or `sha256-<digest>`, and its digest. Tags cannot be changed. Copying again does
    nothing. The copy runs when somebody asks for it (`command`): CloudFormation cannot wait for minutes of copying
    without code of its own in the account, and a task that finds no image is started again by Amazon ECS.

    That a build copies, and that `docker buildx imagetools create` needs no daemon, follows from the source code of
    CodeBuild's image and of buildx 0.32.1; it was not run here.
    """

    image: ecs.ContainerImage
    """The copy."""

    image_uri: str
    """The copy by name and tag, for those who fetch it themselves."""

    repository: ecr.Repository
    command: str
    """Shell commands on one line: start the copy, wait for its end, print its status, and fail if it did."""

    def __init__(self, scope: Construct, id: str, props: ImageMirrorProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        name, separator, version = _parts(props.source_image)
        tag = version if separator == ":" else version.replace(":", "-")
        self.repository = image_repository(self, "Repository", kept_images=_KEPT_IMAGES)
        self.image = ecs.ContainerImage.from_ecr_repository(self.repository, tag)
        self.image_uri = self.repository.repository_uri_for_tag(tag)
        project = self._project(props, {"SOURCE_IMAGE": props.source_image, "SOURCE_NAME": name, "TAG": tag})
        self.command = start_and_wait(project)

    def _project(self, props: ImageMirrorProps, variables: dict[str, str]) -> codebuild.Project:
        log_group = stack_log_group(self, "Logs", retention=props.log_retention)
        role = build_role(self, "Role", repository=self.repository, log_group=log_group)
        if source := ecr_repository(self, "Source", props.source_image):
            source.grant_pull(role)
        registries = filter(None, (ecr_registry(props.source_image),))
        return build_project(
            self,
            "Copy",
            description=f"Copies {props.source_image} into Amazon ECR",
            role=role,
            log_group=log_group,
            commands=[script_command(COPY_SCRIPT)],
            variables=variables | repository_variables(self.repository, *registries),
            compute_type=codebuild.ComputeType.SMALL,
        )


def _parts(reference: str) -> tuple[str, str, str]:
    """Split an image reference into its name, `:` or `@`, and its tag or digest."""
    separator = "@" if "@" in reference else ":"
    return reference.rpartition(separator) if separator == ":" else reference.partition(separator)
