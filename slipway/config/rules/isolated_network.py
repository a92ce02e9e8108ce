"""Rules about an isolated network: what needs the internet is refused, with what to write in its place."""

from collections.abc import Iterator

from slipway.config.endpoint import ApiKeyAuthentication
from slipway.config.environment import Environment
from slipway.config.inference import ServedModel
from slipway.config.problems import Finding, Path
from slipway.config.queues import Queue
from slipway.config.rules.inference import in_ecr, inference_of
from slipway.config.rules.registry import environment_rule, model_rule, queue_rule
from slipway.config.training import Training


@environment_rule
def isolated_network_without_nat(environment: Environment) -> Iterator[Finding]:
    """An isolated network has no NAT gateway."""
    network = environment.network
    if network.isolated and "nat_gateways" in network.model_fields_set:
        message = "an isolated network has no NAT gateway"
        yield Finding(("network", "nat_gateways"), message, "Remove it, or write `isolated: false`.")


@environment_rule
def isolated_network_leads_to_proxy(environment: Environment) -> Iterator[Finding]:
    """A proxy beside `isolated` is in an existing VPC: nothing leads from a new one to it."""
    network = environment.network
    if network.isolated and network.proxy and network.existing is None:
        message = "nothing leads from a new VPC without NAT to the proxy"
        yield Finding(("network", "proxy"), message, "Remove it or `isolated`, or name your VPC: `existing:`.")


@environment_rule
def isolated_network_without_kubernetes(environment: Environment) -> Iterator[Finding]:
    """An isolated network has no Kubernetes cluster: charts and images of its software are in public registries."""
    if environment.network.isolated and environment.kubernetes:
        message = "the cluster's software comes from public registries, which an isolated network does not reach"
        yield Finding(("kubernetes",), message, "Remove `isolated` and use NAT, or train with Slurm.")


@environment_rule
def isolated_head_node_baked(environment: Environment) -> Iterator[Finding]:
    """Without a way to the internet the head node has an image that holds what it would fetch."""
    training = _offline(environment)
    if training and training.head_node.custom_ami_id is None:
        message = "the head node fetches Python packages, and does not reach the internet"
        fix = "Add `custom_ami_id:` with an image that another environment has baked (`slipway docs node-image`)."
        yield Finding(("training", "head_node"), message, fix)


@queue_rule
def isolated_queue_baked(environment: Environment, path: Path, queue: Queue) -> Iterator[Finding]:
    """Without a way to the internet nodes with accelerators have an image that holds the Neuron packages."""
    if _offline(environment) and queue.accelerated and queue.custom_ami_id is None:
        message = f"nodes of {queue.name} fetch the Neuron packages, and do not reach the internet"
        fix = "Add `custom_ami_id:` with an image that another environment has baked (`slipway docs node-image`)."
        yield Finding((*path, "name"), message, fix)


@model_rule
def isolated_model_image_in_ecr(environment: Environment, path: Path, model: ServedModel) -> Iterator[Finding]:
    """Without a way to the internet an engine's image is in Amazon ECR in the Region, as a copy or of your own."""
    here = model.image is not None and in_ecr(model.image) and f".{environment.region}." in model.image
    if not (environment.network.reaches_internet or model.mirror_image or here):
        message = f"hosts of {model.name} do not reach the registry of the engine's image"
        fix = "Add `mirror_image: true`, or `image:` with one in Amazon ECR in this Region."
        yield Finding((*path, "engine" if model.image is None else "image"), message, fix)


@environment_rule
def isolated_endpoint_without_tokens(environment: Environment) -> Iterator[Finding]:
    """An internal endpoint of an isolated network takes no tokens: its load balancer reaches no issuer's keys."""
    endpoint = inference_of(environment).endpoint
    tokens = endpoint.authentication is not None and not isinstance(endpoint.authentication, ApiKeyAuthentication)
    if environment.network.isolated and endpoint.exposure == "internal" and tokens:
        message = "the load balancer fetches the issuer's keys over the internet, which it does not reach"
        path = ("inference", "endpoint", "authentication", "type")
        yield Finding(path, message, "Write `type: api_key`.")


def _offline(environment: Environment) -> Training | None:
    """Return the cluster's section if its nodes do not reach the internet."""
    return None if environment.network.reaches_internet else environment.training
