"""Lints the clusters of a cloud assembly, the folder that `cdk synth` writes."""

from dataclasses import dataclass, replace
from pathlib import Path

from slipway.assembly.cluster import Cluster
from slipway.assembly.context import Context
from slipway.assembly.stacks import read_stacks
from slipway.assembly.templates import TemplateCluster, Templates
from slipway.review.lint.registry import Result
from slipway.review.lint.rules import run_rules


@dataclass(frozen=True)
class LintedCluster:
    """A cluster of an assembly and what the rules say about it."""

    found: TemplateCluster
    result: Result


def lint_assembly(folder: Path, context: Context | None = None) -> list[LintedCluster]:
    """Run all rules on every cluster of an assembly.

    Args:
        folder: the cloud assembly.
        context: what the caller knows: quotas and a ceiling of the price.

    Raises:
        slipway.assembly.stacks.NoAssemblyError: the folder is none.
    """
    stacks = read_stacks(folder)
    templates = Templates(
        {stack.name: stack.template for stack in stacks},
        stacks[0].region,
        lambda key: _files_of_asset(folder, key),
    )
    return [LintedCluster(found, run_rules(_with(found, context))) for found in templates.clusters()]


def _with(found: TemplateCluster, context: Context | None) -> Cluster:
    return (
        found.cluster if context is None else replace(found.cluster, context=found.cluster.context.of_account(context))
    )


def _files_of_asset(folder: Path, object_key: str) -> list[str] | None:
    """List the files of a zipped asset; the CDK names its folder and its object key by the same hash."""
    asset = folder / f"asset.{object_key.removesuffix('.zip')}"
    if not asset.is_dir():
        return None
    return [str(path.relative_to(asset)) for path in sorted(asset.rglob("*")) if path.is_file()]
