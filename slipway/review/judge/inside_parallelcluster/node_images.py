"""The node images that an assembly offers to bake: each configuration goes to the real `pcluster build-image`."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlparse

import boto3
import yaml
from botocore.exceptions import ClientError

from slipway.review.judge.inside_parallelcluster.account import Account
from slipway.review.judge.inside_parallelcluster.answer import Finding, Level, Outcome
from slipway.review.judge.inside_parallelcluster.references import Stack
from slipway.review.judge.inside_parallelcluster.stopped_call import stopped_call


@dataclass(frozen=True)
class ImageBuild:
    """A configuration of `pcluster build-image` in the bucket that a stack copies it to."""

    image_id: str
    """Name of the file without its ending."""

    configuration: Mapping[str, Any]
    region: str


def image_builds(
    stacks: Sequence[Stack], documents: Mapping[str, Mapping[str, str]], account: Account
) -> Iterator[ImageBuild]:
    """Find the image configurations among what the stacks copy into buckets.

    Args:
        stacks: the stacks of the assembly.
        documents: text of the YAML files in each file asset, by the asset's key and the file's path in it.
        account: resolves what is known only while the stacks are deployed.

    Raises:
        UnresolvedReferenceError: a configuration refers to something that the judge cannot make.
    """
    for stack in stacks:
        for resource in stack.resources.values():
            if resource["Type"] == "Custom::CDKBucketDeployment":
                for path, document in _copied_documents(resource["Properties"], documents, stack, account):
                    content = yaml.safe_load(document)
                    # The one section that the schema demands.
                    if isinstance(content, dict) and "Build" in content:
                        yield ImageBuild(PurePosixPath(path).stem, content, stack.region)


def _copied_documents(
    properties: Mapping[str, Any], documents: Mapping[str, Mapping[str, str]], stack: Stack, account: Account
) -> Iterator[tuple[str, str]]:
    """Give path and text of each document as the CDK's function copies it: values in the place of their markers."""
    keys: Sequence[str] = properties["SourceObjectKeys"]
    for key, markers in zip(keys, properties.get("SourceMarkers") or [{}] * len(keys), strict=True):
        for path, text in documents.get(key, {}).items():
            filled = text
            for marker, value in markers.items():
                filled = filled.replace(marker, account.references.resolve(value, stack))
            yield path, filled


def judge_image_build(build: ImageBuild, outcome: Outcome) -> None:
    """Let ParallelCluster check an image configuration and build the image's template.

    Args:
        build: what would be built.
        outcome: gets the findings, each with the image's name, and the image when its template was built.
    """
    os.environ["AWS_DEFAULT_REGION"] = build.region
    own = Outcome()
    stopped_call("build_image", own, image_id=build.image_id, image_configuration=dict(build.configuration))
    own.findings.extend(
        Finding(Level.ERROR, "missing image scripts", f"no stack puts an object at {script}")
        for script in _scripts(build.configuration)
        if not _is_there(script)
    )
    outcome.findings.extend(
        Finding(finding.level, finding.source, f"image {build.image_id}: {finding.message}") for finding in own.findings
    )
    outcome.validations += own.validations
    if own.template_resources:
        outcome.node_images.append(build.image_id)


def _scripts(configuration: Mapping[str, Any]) -> Iterator[str]:
    for component in configuration["Build"].get("Components", []):
        if component["Type"] == "script":
            yield component["Value"]


def _is_there(script: str) -> bool:
    address = urlparse(script)
    try:
        boto3.client("s3").head_object(Bucket=address.netloc, Key=address.path.lstrip("/"))
    except ClientError:
        return False
    return True
