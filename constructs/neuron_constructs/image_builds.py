"""Builds of AWS CodeBuild that put an image into a repository of Amazon ECR: what all of them share."""

import json
from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from neuron_constructs.acknowledgements import ECR_LOG_IN, acknowledge
from neuron_constructs.service_principals import service_for_this_account

_TIMEOUT = cdk.Duration.hours(2)
_NO_REPOSITORY = "Its files are an asset: it reads no GitHub or Bitbucket repository."
_NO_OAUTH = tuple(f"{pack}-CodeBuildProjectSourceRepoUrl" for pack in ("HIPAA.Security", "PCI.DSS.321"))

SCRIPT_START = """\
set -euo pipefail

# The digest of the repository's image with the tag, or None.
digest_in_repository() {
  aws ecr batch-get-image --region "$AWS_REGION" --repository-name "$REPOSITORY_NAME" --image-ids "imageTag=$TAG" \\
    --query 'images[0].imageId.imageDigest' --output text
}

there=$(digest_in_repository)
if [ "$there" != None ]; then
  echo "$REPOSITORY_URI:$TAG is there already ($there): nothing to do"
  exit 0
fi

# Credentials come from a helper when they are needed: no token is in a file, a variable or a command line.
DOCKER_CONFIG=$(mktemp -d)
export DOCKER_CONFIG
printf '%s' "$DOCKER_CREDENTIAL_HELPERS" > "$DOCKER_CONFIG/config.json"

"""
"""How a build's script begins, in bash: it ends where the image is there already. Environment variables: those of
`repository_variables`, TAG, and AWS_REGION."""


def image_repository(scope: Construct, id: str, *, kept_images: int) -> ecr.Repository:  # noqa: A002
    """Return a repository whose tags cannot be changed, and which is deleted with its stack.

    Args:
        scope: parent construct.
        id: construct id.
        kept_images: how many images are kept, the newest.
    """
    return ecr.Repository(
        scope,
        id,
        image_tag_mutability=ecr.TagMutability.IMMUTABLE,
        image_scan_on_push=True,
        encryption=ecr.RepositoryEncryption.KMS,
        lifecycle_rules=[ecr.LifecycleRule(max_image_count=kept_images, description="The newest few")],
        # Everything in it can be copied or built again.
        removal_policy=cdk.RemovalPolicy.DESTROY,
        empty_on_delete=True,
    )


def repository_variables(repository: ecr.Repository, *registries: str) -> dict[str, str]:
    """Return what the start of the script needs: the repository, how Docker logs in to it and to more registries."""
    names = [*registries, repository.registry_uri]
    return {
        "REPOSITORY_NAME": repository.repository_name,
        "REPOSITORY_URI": repository.repository_uri,
        "DOCKER_CREDENTIAL_HELPERS": json.dumps({"credHelpers": dict.fromkeys(names, "ecr-login")}),
    }


def build_role(scope: Construct, id: str, *, repository: ecr.Repository, log_group: logs.LogGroup) -> iam.Role:  # noqa: A002
    """Return a role for a build that pushes into the repository and writes its log."""
    role = iam.Role(scope, id, assumed_by=service_for_this_account("codebuild.amazonaws.com"))
    log_group.grant_write(role)
    repository.grant_pull_push(role)
    acknowledge(
        role,
        {
            **ECR_LOG_IN,
            "NIST.800.53.R5-IAMNoInlinePolicy": "The role and its one policy live and die with this construct.",
        },
    )
    return role


def build_project(
    scope: Construct,
    id: str,  # noqa: A002
    *,
    description: str,
    role: iam.Role,
    log_group: logs.LogGroup,
    commands: Sequence[str],
    variables: Mapping[str, str],
    compute_type: codebuild.ComputeType,
    docker_daemon: bool = False,
    source: codebuild.ISource | None = None,
) -> codebuild.Project:
    """Return a project whose builds run one after the other, bounded and logged.

    Args:
        scope: parent construct.
        id: construct id.
        description: what it does, for people.
        role: has all rights of the build already.
        log_group: where the build writes.
        commands: run in bash.
        variables: environment variables, none of them secret.
        compute_type: size of the machine.
        docker_daemon: whether the commands need a Docker daemon, which needs the privileged mode.
        source: files of the build.
    """
    project = codebuild.Project(
        scope,
        id,
        # The CDK would add rights to log groups, reports and buckets that no build of this project touches.
        role=role.without_policy_updates(),
        description=description,
        source=source,
        build_spec=codebuild.BuildSpec.from_object(
            {"version": "0.2", "env": {"shell": "bash"}, "phases": {"build": {"commands": list(commands)}}}
        ),
        environment=codebuild.BuildEnvironment(
            # It has the AWS CLI, Docker with buildx, and docker-credential-ecr-login.
            build_image=codebuild.LinuxBuildImage.AMAZON_LINUX_2023_5,
            compute_type=compute_type,
            privileged=docker_daemon,
        ),
        environment_variables={
            name: codebuild.BuildEnvironmentVariable(value=value) for name, value in variables.items()
        },
        encryption_key=kms.Alias.from_alias_name(scope, "Key", "alias/aws/s3"),
        logging=codebuild.LoggingOptions(cloud_watch=codebuild.CloudWatchLoggingOptions(log_group=log_group)),
        # Two at a time would push the same layers and the same tag.
        concurrent_build_limit=1,
        timeout=_TIMEOUT,
    )
    acknowledge(project, dict.fromkeys(_NO_OAUTH, _NO_REPOSITORY))
    return project


def start_and_wait(project: codebuild.Project) -> str:
    """Return shell commands on one line: start a build, wait for its end, print its status, and fail if it did."""
    region = cdk.Stack.of(project).region
    return (
        f"id=$(aws codebuild start-build --region {region} --project-name {project.project_name} "
        "--query build.id --output text) && while status=$(aws codebuild batch-get-builds "
        f"""--region {region} --ids "$id" --query 'builds[0].buildStatus' --output text) """
        """&& [ "$status" = IN_PROGRESS ]; do sleep 10; done; echo "$status"; [ "$status" = SUCCEEDED ]"""
    )


def script_command(script: str) -> str:
    """Return a script as one command: in a shell of its own, `set` and `exit` touch nothing of CodeBuild's."""
    return f"bash <<'SCRIPT'\n{script}SCRIPT\n"
