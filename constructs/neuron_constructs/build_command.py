"""The shell command that runs a build of AWS CodeBuild."""

import aws_cdk as cdk
from aws_cdk import aws_codebuild as codebuild


def start_and_wait(project: codebuild.Project) -> str:
    """Return shell commands on one line: start a build, wait for its end, print its status, and fail if it did."""
    region = cdk.Stack.of(project).region
    return (
        f"id=$(aws codebuild start-build --region {region} --project-name {project.project_name} "
        "--query build.id --output text) && while status=$(aws codebuild batch-get-builds "
        f"""--region {region} --ids "$id" --query 'builds[0].buildStatus' --output text) """
        """&& [ "$status" = IN_PROGRESS ]; do sleep 10; done; echo "$status"; [ "$status" = SUCCEEDED ]"""
    )
