"""The cloud assembly of an environment: synthesized as the CDK CLI does it, read as the judge needs it."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from slipway.assembly import read_artifacts, read_stacks

PROJECT = Path(__file__).parents[2]

IMAGE_CONFIGURATIONS = "images/*.yaml"
"""Where an asset has the configurations that `pcluster build-image` takes."""

_TRACEBACK = re.compile(r"^(?:Traceback|jsii\.errors)", re.MULTILINE)


class SynthFailedError(Exception):
    """The app ended with an error; the message is what it said."""


def synthesize(environment: str, directory: Path, log: Path) -> None:
    """Run the app of cdk.json on an environment file, the way `cdk synth` runs it.

    CDK's built-in validation stays off: it is a gate of its own and costs seconds.

    Args:
        environment: name of a file in environments/, without its ending.
        directory: where the cloud assembly is written.
        log: where all that the app says is kept.

    Raises:
        SynthFailedError: the app ended with another exit code than 0.
    """
    settings = json.loads((PROJECT / "cdk.json").read_text("utf-8"))
    context = {**settings["context"], "environment": environment}
    variables = {"CDK_OUTDIR": str(directory), "CDK_CONTEXT_JSON": json.dumps(context), "CDK_VALIDATION": "false"}
    with log.open("w", encoding="utf-8") as output:
        app = subprocess.run(
            settings["app"],
            shell=True,
            cwd=PROJECT,
            env={**os.environ, **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if app.returncode:
        raise SynthFailedError(f"cdk synth would fail; the app's log: {log}\n{_message(log.read_text('utf-8'))}")


def _message(output: str) -> str:
    """Give what a failed app said before its traceback, or the traceback's last line when it said nothing."""
    said = _TRACEBACK.split(output, maxsplit=1)[0].strip()
    return said or output.strip().rpartition("\n")[2]


def read_assembly(directory: Path) -> dict[str, Any]:
    """Give stacks and uploads of a cloud assembly, in the form that ParallelCluster's side takes.

    Returns:
        `stacks`: name, region, tags and template of each; `uploads`: for each zipped asset, by its object key, the
        paths of the files in it; `documents`: likewise the text of each image configuration, by its path.
    """
    stacks = [
        {"name": stack.name, "region": stack.region, "tags": stack.tags, "template": stack.template}
        for stack in read_stacks(directory)
    ]
    assets: dict[str, Path] = {}
    for artifact in read_artifacts(directory, "cdk:asset-manifest").values():
        assets |= _zipped_assets(directory, json.loads((directory / artifact["properties"]["file"]).read_text("utf-8")))
    return {
        "stacks": stacks,
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
