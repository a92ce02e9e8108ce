"""Rules about the scripts that nodes run as root."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from slipway import facts
from slipway.assembly.cluster import Cluster, accelerated_resources, node_scripts
from slipway.assembly.sections import Section, UnknownValue, is_open
from slipway.config.problems import Finding
from slipway.review.lint.registry import rule

_GUIDE = "https://docs.aws.amazon.com/parallelcluster/latest/ug"
_MOVING = re.compile(r"/(?:main|master|HEAD|latest|develop)(?:/|$)|refs/heads/|[-_.]latest\b")
_CONTENT_HASH = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})(?![0-9a-fA-F])")


@rule(
    Cluster.scripts,
    severity="error",
    reason=(
        "The script runs as root on every new node. The owner of the place can change it at any time, and when it is "
        "gone no node comes up."
    ),
    fix="Copy the script into a bucket of your own, review it, and name that URL.",
    source=f"{_GUIDE}/custom-bootstrap-actions-v3.html",
)
def scripts_from_own_bucket(cluster: Cluster, action: Section) -> Iterator[Finding]:
    """Scripts come from a bucket of this environment."""
    url = action.written("Script") or ""
    if "://" not in url and is_open(url):
        raise UnknownValue(f"where the script {url} comes from")
    if not url.startswith("s3://"):
        yield action.finding(f"the script comes from {urlsplit(url).netloc or url}", "Script")
        return
    bucket = _bucket(url)
    if source := facts.script_sources().get(bucket):
        yield action.finding(f"the script comes from {bucket}, a bucket of {source.owner}", "Script")
    elif cluster.context.own_buckets is None:
        raise UnknownValue("which buckets the environment has")
    elif bucket not in cluster.context.own_buckets:
        yield action.finding(f"{bucket} is not a bucket of this environment", "Script")


def _bucket(url: str) -> str:
    return url.removeprefix("s3://").partition("/")[0]


@rule(
    Cluster.scripts,
    severity="warning",
    reason="Nodes of one cluster run different scripts, by the day on which each started.",
    fix="Name a version: a tag, a commit, or a key with the version in it.",
    source=f"{_GUIDE}/custom-bootstrap-actions-v3.html",
)
def scripts_do_not_move(cluster: Cluster, action: Section) -> Iterator[Finding]:
    """A script's URL names one version, no branch and no `latest`."""
    if moving := _MOVING.search(action.written("Script") or ""):
        yield action.finding(f"`{moving[0].strip('/')}` names another script tomorrow", "Script")


@rule(
    Cluster.head_node_scripts,
    severity="error",
    reason=(
        "ParallelCluster refuses every update that changes the URL or the arguments of a script that the head node ran "
        "when it was made, even with a stopped fleet. A key with a hash changes with the script, so the first "
        "changed script makes the cluster impossible to update."
    ),
    fix="Put the script under a key that stays, and run what changes from OnNodeUpdated.",
    source="update policies of aws-parallelcluster 3.16.1 (HeadNode/CustomActions/OnNodeConfigured: UNSUPPORTED)",
)
def head_node_script_urls_stay(cluster: Cluster, action: Section) -> Iterator[Finding]:
    """URL and arguments of the scripts with which the head node is made hold no content hash."""
    for key, texts in (("Script", [action.written("Script") or ""]), ("Args", action.texts("Args"))):
        if any(_CONTENT_HASH.search(text) for text in texts):
            yield action.finding("a content hash stands in it", key)


@rule(
    Cluster.head_node,
    severity="warning",
    reason="Nothing runs on the head node when its set-up changes: the first fix needs a new cluster.",
    fix="Add `OnNodeUpdated` with a script that brings the head node to the new state.",
    source=f"{_GUIDE}/HeadNode-v3.html (CustomActions, OnNodeUpdated)",
)
def head_node_set_up_can_change(cluster: Cluster, head: Section) -> Iterator[Finding]:
    """A head node with a script for its creation has one for updates too."""
    if any(node_scripts(head, ("OnNodeConfigured",))) and not any(node_scripts(head, ("OnNodeUpdated",))):
        yield head.finding("it has OnNodeConfigured and no OnNodeUpdated", "CustomActions")


@rule(
    Cluster.scripts,
    severity="error",
    reason="ParallelCluster only warns about a missing script; every node then fails when it starts.",
    fix="Put the object there in the same deployment, before the cluster.",
    source="found by mutation: UrlValidator of aws-parallelcluster 3.16.1 gives a WARNING",
)
def scripts_are_uploaded(cluster: Cluster, action: Section) -> Iterator[Finding]:
    """A script from this environment's bucket is put there by its deployment."""
    url = action.written("Script") or ""
    context = cluster.context
    if context.own_buckets is None or context.script_urls is None:
        raise UnknownValue("what a deployment puts into the buckets")
    if url.startswith("s3://") and _bucket(url) in context.own_buckets and url not in context.script_urls:
        yield action.finding(f"nothing puts an object at {url}", "Script")


@rule(
    Cluster.queues,
    severity="error",
    reason=(
        "ParallelCluster's own machine images hold no Neuron driver and no Neuron tools: the nodes start, cost their "
        "full price, and every job fails."
    ),
    fix="Install Neuron in `CustomActions.OnNodeConfigured`, or name an image with it in `Image.CustomAmi`.",
    source="aws/aws-parallelcluster-cookbook (reverted its Neuron recipes in 3.3); aws/aws-parallelcluster pull 7047",
)
def neuron_gets_installed(cluster: Cluster, queue: Section) -> Iterator[Finding]:
    """Nodes with Neuron devices get the Neuron driver: from a script or from an image of one's own."""
    if queue.section("Image").has("CustomAmi") or cluster.root.section("Image").has("CustomAmi"):
        return
    if any(node_scripts(queue)) or not accelerated_resources(queue):
        return
    yield queue.finding("neither a script nor an image brings the Neuron driver")
