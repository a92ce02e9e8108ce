"""What is uploaded for the nodes."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3

from neuron_constructs.cluster.node_scripts import NodeScripts, NodeScriptsProps
from slipway import facts
from slipway.assembly.bootstrap import DEFAULT_QUALIFIER


def test_what_python_leaves_behind_and_the_readme_are_not_uploaded(tmp_path: Path) -> None:
    directory = tmp_path / "cluster"
    for file in ("steps.sh", "README.md", "smoke/efa.sbatch", "__pycache__/neuron_metrics.cpython-311.pyc"):
        (directory / file).parent.mkdir(parents=True, exist_ok=True)
        (directory / file).write_text("", encoding="utf-8")
    app = cdk.App(outdir=str(tmp_path / "assembly"))
    stack = cdk.Stack(app, "stack", env=cdk.Environment(region="us-east-1"))
    NodeScripts(
        stack,
        "Scripts",
        NodeScriptsProps(
            directory=directory,
            bucket=s3.Bucket(stack, "Bucket"),
            prefix="cluster",
            region="us-east-1",
            bootstrap_qualifier=DEFAULT_QUALIFIER,
            training_stacks=(),
            users={},
            operating_system="ubuntu2204",
            parallelcluster_version=max(facts.parallelcluster_releases()),
            job_kit=(),
            log_retention=logs.RetentionDays.ONE_WEEK,
        ),
    )

    app.synth()

    (scripts,) = [path.parent for path in (tmp_path / "assembly").glob("asset.*/steps.sh")]
    assert {str(path.relative_to(scripts)) for path in scripts.rglob("*") if path.is_file()} == {
        "steps.sh",
        "smoke/efa.sbatch",
    }
