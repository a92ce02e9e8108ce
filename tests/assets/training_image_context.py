"""The build of the training image as the stack's template and its asset have it."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_logs as logs

from neuron_constructs.kubernetes.training_image import TrainingImage, TrainingImageProps
from tests.assembly import cdk_context
from tests.assets.sandbox import ASSETS
from tests.pack_findings import encrypt_log_groups

STACK = "xla-2.28.1"


@dataclass(frozen=True)
class ImageBuild:
    """A synthesized build.

    Attributes:
        directory: The assembly.
        template: The stack's template.
        image: The construct.
    """

    directory: Path
    template: dict[str, Any]
    image: TrainingImage

    def resource(self, resource_type: str) -> dict[str, Any]:
        """Return the properties of the only resource of a type."""
        (found,) = (each for each in self.template["Resources"].values() if each["Type"] == resource_type)
        properties: dict[str, Any] = found["Properties"]
        return properties

    def commands(self) -> list[str]:
        """Return the commands of the build."""
        specification = json.loads(self.resource("AWS::CodeBuild::Project")["Source"]["BuildSpec"])
        commands: list[str] = specification["phases"]["build"]["commands"]
        return commands

    def variables(self) -> dict[str, Any]:
        """Return the build's variables."""
        listed = self.resource("AWS::CodeBuild::Project")["Environment"]["EnvironmentVariables"]
        assert all(each["Type"] == "PLAINTEXT" for each in listed)
        return {each["Name"]: each["Value"] for each in listed}

    def unpack(self, folder: Path) -> Path:
        """Make the folder what the build finds and generates before its script runs; return it."""
        (archive,) = self.directory.glob("asset.*")
        shutil.copytree(archive, folder)
        for command in self.commands()[:-1]:
            subprocess.run(["bash", "-c", command], cwd=folder, check=True)
        return folder


def image_build(directory: Path, assets: Path = ASSETS, training_stack: str = STACK) -> ImageBuild:
    """Synthesize a stack with nothing but the image."""
    app, image = image_app(directory, assets, training_stack)
    app.synth()
    return ImageBuild(directory, json.loads((directory / "Test.template.json").read_text()), image)


def image_app(directory: Path, assets: Path = ASSETS, training_stack: str = STACK) -> tuple[cdk.App, TrainingImage]:
    """Return an app with nothing but the image, not synthesized yet."""
    app = cdk.App(context=cdk_context(), outdir=str(directory))
    encrypt_log_groups(app)
    stack = cdk.Stack(app, "Test", env=cdk.Environment(account="111122223333", region="us-west-2"))
    props = TrainingImageProps(assets=assets, training_stack=training_stack, log_retention=logs.RetentionDays.ONE_WEEK)
    return app, TrainingImage(stack, "Image", props)
