"""What an environment runs, as far as the facts and the locks of this repository pin it."""

from collections.abc import Iterator

from slipway import facts
from slipway.bundle import ASSETS
from slipway.config import Environment
from slipway.config.endpoint import ApiKeyAuthentication
from slipway.config.inference import Inference
from slipway.config.kubernetes import Kubernetes
from slipway.config.training import Training
from slipway.review.sbom.parts import Part, generic_parts, image_part, python_parts


def environment_parts(environment: Environment) -> Iterator[Part]:
    """Yield the parts; the same part comes once for each place that has it."""
    if environment.training:
        yield from _cluster(environment.training)
    if environment.kubernetes:
        yield from _kubernetes(environment.kubernetes)
    if environment.inference:
        yield from _endpoint(environment.inference)


def _cluster(training: Training) -> Iterator[Part]:
    yield Part("pypi", "aws-parallelcluster", training.parallelcluster_version, "Slurm cluster")
    for name in training.training_stacks:
        yield from _stack(name, f"training nodes, {name}")
    yield from python_parts(ASSETS / "cluster" / "neuron_monitor_requirements.txt", "training nodes, metrics")
    yield from python_parts(ASSETS / "jobs" / "requirements.txt", "head and login nodes, job kit")


def _kubernetes(kubernetes: Kubernetes) -> Iterator[Part]:
    version = facts.kubernetes_version(kubernetes.version)
    stack = facts.training_stack(kubernetes.training_stack)
    releases = {version.newest_ami_release, version.ami_release_for(stack.runtime) or version.newest_ami_release}
    yield Part("generic", "kubernetes", kubernetes.version, "Amazon EKS")
    for release in sorted(releases):
        yield Part("generic", "amazon-eks-optimized-al2023", release, "Kubernetes nodes")
    yield from generic_parts(version.add_ons, "EKS add-ons")
    yield Part("generic", "cluster-autoscaler", version.cluster_autoscaler, "Kubernetes cluster")
    for chart in facts.helm_charts().values():
        if chart.name != "kueue" or kubernetes.queueing == "kueue":
            yield Part(
                "generic", chart.chart, chart.version, "Helm charts", qualifiers=(("repository_url", chart.repository),)
            )
    if kubernetes.launcher == "mpi":
        yield image_part(facts.cluster_image("mpi-operator").image, "Kubernetes cluster")
    yield from _stack(stack.name, f"training image, {stack.name}")
    yield from python_parts(ASSETS / "jobs" / "requirements-kubernetes.txt", "training image, job kit")


def _stack(name: str, where: str) -> Iterator[Part]:
    stack = facts.training_stack(name)
    yield from generic_parts(stack.system_packages, where)
    for package, version in (*stack.python_packages.items(), *stack.job_packages.items()):
        yield Part("pypi", package.lower().replace("_", "-"), version, where)


def _endpoint(inference: Inference) -> Iterator[Part]:
    for model in inference.models:
        engine = facts.inference_engine(model.engine)
        yield image_part(model.image or engine.image, f"inference hosts, {model.engine}")
        if model.host_image is None:
            yield Part("generic", "amazon-ecs-optimized-neuron", engine.machine_image, "inference hosts")
    if isinstance(inference.endpoint.authentication, ApiKeyAuthentication):
        yield image_part(facts.cluster_image("engine-proxy").image, "inference hosts, proxy")
