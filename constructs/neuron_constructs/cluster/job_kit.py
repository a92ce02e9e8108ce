"""The job kit's files as the head node fetches them, beside the node set-up scripts."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_s3_deployment as s3_deployment

FOLDER = "jobs"
"""Name of the folder of `assets`, and of the one below the scripts' key prefix."""

CHECKSUMS_FILE = f"{FOLDER}/files.sha256"
"""Generated list of the kit's files as `sha256sum --check` reads it. A node may read objects and not list them."""

ENVIRONMENT_FILE = f"{FOLDER}/environment.json"
"""Generated description of the environment for the kit."""

_LEFT_OUT = ("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache")


def job_kit_sources(assets: Path, environment: Mapping[str, Any]) -> tuple[s3_deployment.ISource, ...]:
    """Return what the deployment of the node set-up scripts copies for the kit.

    Args:
        assets: folder that holds the kit's folder, `jobs`.
        environment: what the kit knows of its environment (`slipway_jobs.environment.Environment` reads it); values
            may be references to resources.
    """
    checksums = "".join(f"{_sha256(file)}  {name}\n" for name, file in kit_files(assets / FOLDER))
    return (
        s3_deployment.Source.asset(
            str(assets),
            exclude=["*", f"!{FOLDER}", f"!{FOLDER}/**", *(f"**/{name}" for name in _LEFT_OUT)],
            ignore_mode=cdk.IgnoreMode.GIT,
        ),
        s3_deployment.Source.data(CHECKSUMS_FILE, checksums),
        s3_deployment.Source.json_data(ENVIRONMENT_FILE, dict(environment)),
    )


def kit_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Give each file of the kit with its path below the folder, in the order of the paths."""
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder)
        if file.is_file() and not set(name.parts) & set(_LEFT_OUT):
            yield name.as_posix(), file


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
