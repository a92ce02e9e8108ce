"""The image of training jobs on Kubernetes, built in the account."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge
from neuron_constructs.image_builds import (
    build_project,
    build_role,
    image_repository,
    repository_variables,
    start_and_wait,
)
from neuron_constructs.kubernetes.training_image_build import CONTEXT, build_arguments, build_commands
from neuron_constructs.log_groups import stack_log_group
from neuron_constructs.service_principals import service_for_this_account

_KEPT_IMAGES = 5
"""A run keeps the image it began with: restarts must find it after a few updates."""

_NO_SOURCES = ("**/*.md", "**/__pycache__", "**/.mypy_cache", "**/.pytest_cache", "**/.ruff_cache")


@dataclass(frozen=True, kw_only=True)
class TrainingImageProps:
    """Properties of a `TrainingImage`."""

    assets: Path
    """Folder with the job kit (`jobs`), the node scripts (`cluster`) and the image (`kubernetes/training_image`)."""

    training_stack: str
    """Training stack of the image, a row of the facts; its first operating system is the image's."""

    log_retention: logs.RetentionDays
    """How long the builds' log is kept."""


class TrainingImage(Construct):
    """An Amazon ECR repository, and an AWS CodeBuild project that builds the training image into it.

    The tag is the training stack and a checksum of all that the image is built from, and cannot be changed: the same
    content is built once, and pods never get another image under the same name. A build starts when CloudFormation has
    created or updated the stack, by an event of its own (AWS CloudFormation user guide, "Stack Status Change event
    detail"), and when somebody asks for it (`command`). The first takes about half an hour, one with a changed kit
    minutes; where the image is there already it ends at once. Pods that come before the image wait for it.

    The Dockerfile was run by buildah on Debian with stand-ins of the Neuron packages and of the EFA installer; neither
    AWS's own packages nor CodeBuild and its Docker were in reach.
    """

    image_uri: str
    """The image by name and tag."""

    repository: ecr.Repository
    project: codebuild.Project
    command: str
    """Shell commands on one line: start a build, wait for its end, print its status, and fail if it did."""

    def __init__(self, scope: Construct, id: str, props: TrainingImageProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.repository = image_repository(self, "Repository", kept_images=_KEPT_IMAGES)
        context = s3_assets.Asset(
            self,
            "Context",
            path=str(props.assets),
            exclude=["*", *(f"!{pattern}" for pattern in CONTEXT), *_NO_SOURCES],
            ignore_mode=cdk.IgnoreMode.GIT,
        )
        commands = build_commands(props.training_stack)
        arguments = build_arguments(props.training_stack)
        content = json.dumps([context.asset_hash, commands, arguments])
        tag = f"{props.training_stack}-{hashlib.sha256(content.encode()).hexdigest()}"
        self.image_uri = self.repository.repository_uri_for_tag(tag)
        self.project = self._project(props, context, commands, arguments | {"TAG": tag})
        self.command = start_and_wait(self.project)
        self._build_with_the_stack()

    def _project(
        self,
        props: TrainingImageProps,
        context: s3_assets.Asset,
        commands: Sequence[str],
        variables: dict[str, str],
    ) -> codebuild.Project:
        log_group = stack_log_group(self, "Logs", retention=props.log_retention)
        role = build_role(self, "Role", repository=self.repository, log_group=log_group)
        self.repository.grant(role, "ecr:DescribeImages")
        # What CodeBuild's user guide asks for of a source in Amazon S3 ("Allow CodeBuild to interact with other AWS
        # services"), on the one object.
        for actions, resource in (
            (["s3:GetObject", "s3:GetObjectVersion"], context.bucket.arn_for_objects(context.s3_object_key)),
            (["s3:GetBucketAcl", "s3:GetBucketLocation"], context.bucket.bucket_arn),
        ):
            role.add_to_policy(iam.PolicyStatement(actions=actions, resources=[resource]))
        return build_project(
            self,
            "Build",
            description=f"Builds the training image of {props.training_stack}",
            role=role,
            log_group=log_group,
            commands=commands,
            variables=variables | repository_variables(self.repository),
            # 128 GB of disk, the least that holds an image of some 15 GB, its layers and what pip unpacks.
            compute_type=codebuild.ComputeType.MEDIUM,
            # Each build has a machine of its own, and its role reaches one archive and one repository. BuildKit without
            # root would need user namespaces, which CodeBuild does not promise.
            docker_daemon=True,
            source=codebuild.Source.s3(bucket=context.bucket, path=context.s3_object_key),
        )

    def _build_with_the_stack(self) -> None:
        role = iam.Role(self, "StartRole", assumed_by=service_for_this_account("events.amazonaws.com"))
        acknowledge(
            role,
            {"NIST.800.53.R5-IAMNoInlinePolicy": "The role and its one policy live and die with this construct."},
        )
        events.Rule(
            self,
            "StackDeployed",
            description="Builds the training image when the stack has been created or updated",
            event_pattern=events.EventPattern(
                source=["aws.cloudformation"],
                detail_type=["CloudFormation Stack Status Change"],
                detail={
                    "stack-id": [cdk.Stack.of(self).stack_id],
                    "status-details": {"status": ["CREATE_COMPLETE", "UPDATE_COMPLETE"]},
                },
            ),
            targets=[targets.CodeBuildProject(self.project, event_role=role)],
        )
