"""The cloud assembly of an environment, read as the judge needs it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slipway import facts
from slipway.assembly.existing import existing_in
from slipway.assembly.existing_network import existing_network
from slipway.assembly.stacks import read_artifacts, read_stacks

IMAGE_CONFIGURATIONS = "images/*.yaml"
"""Where an asset has the configurations that `pcluster build-image` takes."""


def read_assembly(directory: Path) -> dict[str, Any]:
    """Give stacks and uploads of a cloud assembly, in the form that ParallelCluster's side takes.

    Returns:
        `stacks`: name, region, tags and template of each; `network`: the VPC that they use and do not own; `existing`:
        all that they use and do not own; `uploads`: for each zipped asset, by its object key, the paths of the files in
        it; `documents`: likewise the text of each image configuration, by its path; `services`: what each part of an
        environment asks through which kind of VPC endpoint, by part and service.
    """
    read = read_stacks(directory)
    stacks = [
        {"name": stack.name, "region": stack.region, "tags": stack.tags, "template": stack.template} for stack in read
    ]
    network = existing_network(stack.template for stack in read)
    assets: dict[str, Path] = {}
    for artifact in read_artifacts(directory, "cdk:asset-manifest").values():
        assets |= _zipped_assets(directory, json.loads((directory / artifact["properties"]["file"]).read_text("utf-8")))
    services: dict[str, dict[str, str]] = {}
    for use in facts.service_uses():
        services.setdefault(use.part, {})[use.service] = use.kind
    return {
        "stacks": stacks,
        "services": services,
        "network": network.model_dump() if network else None,
        "existing": [resource.as_metadata for resource in existing_in(read)],
        "uploads": {key: _paths(folder, "*") for key, folder in assets.items()},
        "documents": {
            key: {path: (folder / path).read_text("utf-8") for path in _paths(folder, IMAGE_CONFIGURATIONS)}
            for key, folder in assets.items()
        },
    }


def _zipped_assets(directory: Path, manifest: Mapping[str, Any]) -> dict[str, Path]:
    """Give the folder of each zipped asset by its object key."""
    return {
        destination["objectKey"]: directory / asset["source"]["path"]
        for asset in manifest["files"].values()
        if asset["source"]["packaging"] == "zip"
        for destination in asset["destinations"].values()
    }


def _paths(folder: Path, pattern: str) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob(pattern) if path.is_file())
