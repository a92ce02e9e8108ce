"""The node set-up scripts in the environment's own bucket, under keys that never change."""

from dataclasses import dataclass
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_deployment as s3_deployment
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge
from slipway import facts

LOCK_FILE = "neuron_release.sh"
"""Name of the generated file with all pinned versions, beside the scripts."""


@dataclass(frozen=True, kw_only=True)
class NodeScriptsProps:
    """Properties of `NodeScripts`."""

    directory: Path
    """Folder of scripts, `assets/cluster`."""

    bucket: s3.IBucket
    """Bucket that the nodes read."""

    prefix: str
    """Key prefix, without slashes at its ends. The deployment owns it: other objects below it are removed."""

    neuron_release: str
    """AWS Neuron SDK release that the nodes install."""

    log_retention: logs.RetentionDays
    """How long the copying function's log is kept."""


class NodeScripts(Construct):
    """Copies scripts and version lock to `s3://<bucket>/<prefix>/`.

    The keys are the file names. A key with a content hash, as CDK's own assets have it, would change a script's URL, and
    ParallelCluster refuses to update a cluster whose head node has another script URL.
    """

    deployment: s3_deployment.BucketDeployment

    def __init__(self, scope: Construct, id: str, props: NodeScriptsProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self.deployment = s3_deployment.BucketDeployment(
            self,
            "Deployment",
            destination_bucket=props.bucket,
            destination_key_prefix=props.prefix,
            sources=[
                s3_deployment.Source.asset(str(props.directory), exclude=["*.md"]),
                s3_deployment.Source.data(LOCK_FILE, neuron_lock(props.neuron_release)),
            ],
            log_group=logs.LogGroup(
                self, "Logs", retention=props.log_retention, removal_policy=cdk.RemovalPolicy.DESTROY
            ),
        )


def neuron_lock(release: str) -> str:
    """Render a Neuron release as shell assignments that the scripts source.

    Raises:
        slipway.facts.UnknownFact: there is no row for the release.
    """
    pins = facts.neuron_release(release)
    system = " ".join(f"{name}={version}" for name, version in sorted(pins.system_packages.items()))
    python = " ".join(f"{name}=={version}" for name, version in sorted(pins.python_packages.items()))
    return f"NEURON_RELEASE={pins.version}\nSYSTEM_PACKAGES=({system})\nPYTHON_PACKAGES=({python})\n"
