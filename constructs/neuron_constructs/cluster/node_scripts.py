"""The node set-up scripts in the environment's own bucket, under keys that never change."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_deployment as s3_deployment
from constructs import Construct

from neuron_constructs.acknowledgements import acknowledge
from neuron_constructs.bucket_access import acknowledge_objects
from neuron_constructs.log_groups import stack_log_group
from neuron_constructs.provided_functions import accept_provided_function
from neuron_constructs.proxy import Proxy
from slipway import facts
from slipway.bundle import ASSETS

CLUSTER_FILE = "training_stacks.sh"
"""Name of the generated file with what is the same on all nodes: training stacks, time for the set-up, proxy."""

_SCRIPTS = ASSETS / "cluster"
_COPYING_FUNCTION = "Custom::CDKBucketDeployment8693BB64968944B69AAFB0CC9EB8756C"
_LAMBDA_BASIC_POLICY = "arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
_ASSET_BUCKET = "arn:aws:s3:::cdk-{}-assets-<AWS::AccountId>"
_COPYING_ACTIONS = ("s3:GetBucket*", "s3:GetObject*", "s3:List*", "s3:Abort*", "s3:DeleteObject*")


@dataclass(frozen=True, kw_only=True)
class NodeScriptsProps:
    """Properties of `NodeScripts`."""

    directory: Path
    """Folder of scripts, `assets/cluster`."""

    bucket: s3.Bucket
    """Bucket that the nodes read."""

    prefix: str
    """Key prefix, without slashes at its ends. The deployment owns it: other objects below it are removed."""

    region: str
    """AWS Region of the stack."""

    bootstrap_qualifier: str
    """Qualifier of the CDK bootstrap that deploys the stack: the bucket of its assets has it in its name."""

    training_stacks: tuple[str, ...]
    """Training stacks of the queues, rows of the facts; the first is the default."""

    users: Mapping[str, int]
    """Users of all nodes with their user ids; none where they come from a directory."""

    operating_system: str
    """ParallelCluster's name of the nodes' operating system."""

    parallelcluster_version: str
    """ParallelCluster release of the cluster, a row of the facts."""

    job_kit: tuple[s3_deployment.ISource, ...]
    """The job kit's files (`job_kit_sources`)."""

    log_retention: logs.RetentionDays
    """How long the copying function's log is kept."""

    proxy: Proxy | None = None
    """HTTP proxy of the nodes."""


class NodeScripts(Construct):
    """Copies scripts and version lock to `s3://<bucket>/<prefix>/`.

    The keys are the file names. A key with a content hash, as CDK's own assets have it, would change a script's URL,
    and ParallelCluster refuses to update a cluster whose head node has another script URL.
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
                s3_deployment.Source.asset(str(props.directory), exclude=["*.md", "__pycache__"]),
                s3_deployment.Source.data(
                    CLUSTER_FILE,
                    cluster_file(props.training_stacks, props.parallelcluster_version, props.users, props.proxy),
                ),
                *(
                    s3_deployment.Source.data(lock_file(stack), neuron_lock(stack, props.operating_system))
                    for stack in props.training_stacks
                ),
                *props.job_kit,
            ],
            log_group=stack_log_group(self, "Logs", retention=props.log_retention),
        )
        self._acknowledge_the_copying_function(props)

    def _acknowledge_the_copying_function(self, props: NodeScriptsProps) -> None:
        """The function and its role are the CDK's; their shape is not ours to choose."""
        role = self.deployment.handler_role
        stack = cdk.Stack.of(self)
        function = stack.node.find_child(_COPYING_FUNCTION)
        assets = _ASSET_BUCKET.format(props.bootstrap_qualifier)
        reason = "The CDK's own function: it copies this app's assets into the script bucket and nothing else."
        acknowledge(
            role,
            {
                f"AwsSolutions-IAM4[Policy::{_LAMBDA_BASIC_POLICY}]": reason,
                **{f"AwsSolutions-IAM5[Action::{action}]": reason for action in _COPYING_ACTIONS},
                f"AwsSolutions-IAM5[Resource::{assets}-{props.region}/*]": reason,
                "NIST.800.53.R5-IAMNoInlinePolicy": reason,
            },
        )
        acknowledge_objects(role, props.bucket, "*", reason)
        acknowledge(
            function,
            {
                "AwsSolutions-L1": "The CDK chooses the runtime with its release; a newer release brings a newer one.",
                "NIST.800.53.R5-LambdaConcurrency": "It runs only while CloudFormation deploys this stack.",
                "NIST.800.53.R5-LambdaDLQ": "CloudFormation waits for its answer and reports its failure.",
                "NIST.800.53.R5-LambdaInsideVPC": "In a VPC its network interfaces would hold up the VPC's deletion.",
            },
        )
        accept_provided_function(
            function.node.default_child, CKV_AWS_173="Its one variable is the path of the system's certificates."
        )


def lock_file(stack: str) -> str:
    """Return the name of the generated file with the pinned versions of a training stack."""
    return f"training_stacks/{stack}.sh"


def cluster_file(
    stacks: tuple[str, ...], parallelcluster_version: str, users: Mapping[str, int], proxy: Proxy | None = None
) -> str:
    """Render what is the same on all nodes as Bash assignments.

    `TRAINING_STACKS` are those that the head node prepares, the first is the default. `JOB_KIT` is `yes` where the job
    kit runs with one of them. `USERS` are names with user ids, as `alice:70001`. `NODE_SETUP_SECONDS` is how long a
    node's whole set-up may take: a slow package source must end in a message before ParallelCluster ends the node.
    `PROXY_URL` and `PROXY_BYPASS` are the proxy and the value of NO_PROXY, where there is a proxy.

    Raises:
        slipway.facts.UnknownFact: there is no row for the ParallelCluster release.
    """
    release = facts.parallelcluster_release(parallelcluster_version)
    job_kit = "yes" if any(facts.training_stack(stack).job_kit for stack in stacks) else "no"
    assignments = {
        "TRAINING_STACKS": _array(stacks),
        "JOB_KIT": job_kit,
        "USERS": _array(f"{name}:{uid}" for name, uid in users.items()),
        "NODE_SETUP_SECONDS": str(release.node_setup_seconds),
    }
    if proxy:
        assignments |= {"PROXY_URL": shlex.quote(proxy.url), "PROXY_BYPASS": shlex.quote(proxy.no_proxy)}
    return _lines(assignments)


def neuron_lock(stack: str, operating_system: str) -> str:
    """Render a training stack as the Bash assignments that the scripts source (assets/cluster/README.md has the keys).

    Args:
        stack: name of the training stack.
        operating_system: ParallelCluster's name of the nodes' operating system, whose own Python is taken.

    Raises:
        slipway.facts.UnknownFact: there is no row for the training stack or the operating system.
    """
    pins = facts.training_stack(stack)
    system = facts.operating_system(operating_system)
    assignments = {
        "TRAINING_STACK": pins.name,
        "NEURON_RELEASE": pins.release,
        "OPERATING_SYSTEMS": _array(pins.operating_systems),
        "PACKAGE_REPOSITORY": system.neuron_repository,
        "PACKAGE_KEY": system.neuron_repository_key,
        "SYSTEM_PACKAGES": _array(f"{name}={version}" for name, version in sorted(pins.system_packages.items())),
        "PYTHON_VERSION": system.python_version,
        "PYTHON_PACKAGES": _array(
            f"{name}=={version}" for name, version in sorted({**pins.python_packages, **pins.job_packages}.items())
        ),
        "PYTHON_SOURCES": _array(f"{pattern}={address}" for pattern, address in pins.python_sources.items()),
        "PYTHON_LOCK": python_lock(stack, operating_system),
    }
    return _lines(assignments)


def _lines(assignments: Mapping[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in assignments.items())


def python_lock(stack: str, operating_system: str) -> str:
    """Return the lock of a stack's Python packages below the scripts' folder (`make training-lock`), or nothing.

    Raises:
        slipway.facts.UnknownFact: there is no row for the operating system.
    """
    name = f"python_locks/{stack}-python{facts.operating_system(operating_system).python_version}.txt"
    return name if (_SCRIPTS / name).is_file() else ""


def _array(items: Iterable[str]) -> str:
    return f"({' '.join(shlex.quote(item) for item in items)})"
