"""A copy of a container image in a repository of the account's own."""

import json
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge
from neuron_constructs.build_command import start_and_wait
from neuron_constructs.inference.container_image import ecr_registry, ecr_repository
from neuron_constructs.log_groups import stack_log_group

_KEPT_IMAGES = 3
_TIMEOUT = cdk.Duration.hours(2)

COPY_SCRIPT = """\
set -euo pipefail

digest_in_mirror() {
  aws ecr batch-get-image --region "$AWS_REGION" --repository-name "$REPOSITORY_NAME" --image-ids "imageTag=$TAG" \\
    --query 'images[0].imageId.imageDigest' --output text
}

there=$(digest_in_mirror)
if [ "$there" != None ]; then
  echo "$REPOSITORY_URI:$TAG is there already ($there): nothing to do"
  exit 0
fi

# Credentials come from a helper when they are needed: no token is in a file, a variable or a command line.
DOCKER_CONFIG=$(mktemp -d)
export DOCKER_CONFIG
printf '%s' "$DOCKER_CREDENTIAL_HELPERS" > "$DOCKER_CONFIG/config.json"

digest=$(docker buildx imagetools inspect "$SOURCE_IMAGE" --format '{{.Manifest.Digest}}')
echo "Copying $SOURCE_IMAGE, which is $digest"
# By its digest, so that a tag that moves meanwhile changes nothing; manifests and layers go from registry to registry
# as they are, without a Docker daemon.
docker buildx imagetools create --progress plain --prefer-index=false \\
  --tag "$REPOSITORY_URI:$TAG" "$SOURCE_NAME@$digest"

copied=$(digest_in_mirror)
if [ "$copied" != "$digest" ]; then
  echo "The copy is $copied, not $digest: delete it, and try again" >&2
  exit 1
fi
echo "$REPOSITORY_URI:$TAG is $copied"
"""
"""What a build runs, in bash. Environment variables: SOURCE_IMAGE, SOURCE_NAME (without tag or digest),
REPOSITORY_NAME, REPOSITORY_URI, TAG, DOCKER_CREDENTIAL_HELPERS (Docker's configuration file), AWS_REGION."""

BUILD_COMMAND = f"bash <<'COPY'\n{COPY_SCRIPT}COPY\n"
"""The script as one command of a build: in a shell of its own, `set` and `exit` touch nothing of CodeBuild's."""


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
        self.repository = ecr.Repository(
            self,
            "Repository",
            image_tag_mutability=ecr.TagMutability.IMMUTABLE,
            image_scan_on_push=True,
            encryption=ecr.RepositoryEncryption.KMS,
            lifecycle_rules=[ecr.LifecycleRule(max_image_count=_KEPT_IMAGES, description="The newest few")],
            # The stack's whole content is a copy.
            removal_policy=cdk.RemovalPolicy.DESTROY,
            empty_on_delete=True,
        )
        self.image = ecs.ContainerImage.from_ecr_repository(self.repository, tag)
        self.image_uri = self.repository.repository_uri_for_tag(tag)
        project = self._project(props, {"SOURCE_IMAGE": props.source_image, "SOURCE_NAME": name, "TAG": tag})
        self.command = start_and_wait(project)

    def _project(self, props: ImageMirrorProps, variables: dict[str, str]) -> codebuild.Project:
        registries = filter(None, (ecr_registry(props.source_image), self.repository.registry_uri))
        variables |= {
            "REPOSITORY_NAME": self.repository.repository_name,
            "REPOSITORY_URI": self.repository.repository_uri,
            "DOCKER_CREDENTIAL_HELPERS": json.dumps({"credHelpers": dict.fromkeys(registries, "ecr-login")}),
        }
        log_group = stack_log_group(self, "Logs", retention=props.log_retention)
        return codebuild.Project(
            self,
            "Copy",
            # The CDK would add rights to log groups and reports that no build of this project writes.
            role=self._role(props.source_image, log_group).without_policy_updates(),
            description=f"Copies {props.source_image} into Amazon ECR",
            build_spec=codebuild.BuildSpec.from_object(
                {"version": "0.2", "env": {"shell": "bash"}, "phases": {"build": {"commands": [BUILD_COMMAND]}}}
            ),
            environment=codebuild.BuildEnvironment(
                # It has the AWS CLI, Docker's command line with buildx, and docker-credential-ecr-login.
                build_image=codebuild.LinuxBuildImage.AMAZON_LINUX_2023_5,
                compute_type=codebuild.ComputeType.SMALL,
                privileged=False,
            ),
            environment_variables={
                name: codebuild.BuildEnvironmentVariable(value=value) for name, value in variables.items()
            },
            encryption_key=kms.Alias.from_alias_name(self, "Key", "alias/aws/s3"),
            logging=codebuild.LoggingOptions(cloud_watch=codebuild.CloudWatchLoggingOptions(log_group=log_group)),
            # Two copies at a time would push the same layers.
            concurrent_build_limit=1,
            timeout=_TIMEOUT,
        )

    def _role(self, source_image: str, log_group: logs.LogGroup) -> iam.Role:
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("codebuild.amazonaws.com"))
        log_group.grant_write(role)
        self.repository.grant_pull_push(role)
        if source := ecr_repository(self, "Source", source_image):
            source.grant_pull(role)
        acknowledge(
            role,
            {
                "AwsSolutions-IAM5[Resource::*]": "ecr:GetAuthorizationToken, the log-in, knows no resource.",
                "NIST.800.53.R5-IAMNoInlinePolicy": "The role and its one policy live and die with this construct.",
            },
        )
        return role


def _parts(reference: str) -> tuple[str, str, str]:
    """Split an image reference into its name, `:` or `@`, and its tag or digest."""
    separator = "@" if "@" in reference else ":"
    return reference.rpartition(separator) if separator == ":" else reference.partition(separator)
