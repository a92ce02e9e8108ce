"""The operations stack: budget, alarms and dashboard over the whole environment."""

from collections.abc import Iterator, Sequence

import aws_cdk as cdk
from constructs import Construct

from neuron_constructs.operations.accounting_database import watch_accounting_database
from neuron_constructs.operations.compute_fleet import watch_compute_fleet
from neuron_constructs.operations.file_systems import watch_lustre, watch_open_zfs
from neuron_constructs.operations.head_node import watch_head_node
from neuron_constructs.operations.inference_endpoint import watch_inference_endpoint
from neuron_constructs.operations.kubernetes_cluster import watch_kubernetes_cluster
from neuron_constructs.operations.kubernetes_neuron_devices import watch_kubernetes_neuron_devices
from neuron_constructs.operations.nat_gateways import watch_nat_gateways
from neuron_constructs.operations.neuron_devices import watch_neuron_devices
from neuron_constructs.operations.notifications import Notifications
from neuron_constructs.operations.served_model import WatchedModel
from neuron_constructs.operations.watch import Watch, WatchedPart
from neuron_constructs.session_manager import forward_port_command
from slipway import facts
from slipway.config.endpoint import Endpoint
from slipway.config.environment import Environment
from slipway.config.scaling import DEFAULT_TARGETS
from slipway_stacks.budget import add_budget
from slipway_stacks.environment_stack import EnvironmentStack
from slipway_stacks.inference import InferenceStack
from slipway_stacks.kubernetes import KubernetesStack
from slipway_stacks.served_model import ServedModel
from slipway_stacks.storage import StorageStack
from slipway_stacks.training import TrainingStack


class OperationsStack(EnvironmentStack):
    """Topic, budget, alarms, dashboard.

    Lifetime: it may be destroyed and rebuilt at any time; it only watches. While it stands it costs a few dollars a
    month: 0.10 USD for each metric that an alarm looks at, and the dashboard.
    """

    def __init__(
        self,
        scope: Construct,
        environment: Environment,
        *,
        nat_gateway_ids: Sequence[str],
        storage: StorageStack,
        training: TrainingStack | None,
        kubernetes: KubernetesStack | None,
        inference: InferenceStack | None,
    ) -> None:
        """Create the stack.

        Args:
            scope: the app.
            environment: the environment file.
            nat_gateway_ids: the network's NAT gateways.
            storage: the stack with the file systems and the accounting database.
            training: the stack with the Slurm cluster, if the environment has one.
            kubernetes: the stack with the EKS cluster, if the environment has one.
            inference: the inference stack, if the environment has one.
        """
        super().__init__(scope, "operations", environment, description="Slipway: budget, alarms, dashboard")
        email = environment.operations.alarm_email
        notifications = Notifications(self, "Notifications", account=self.account, email=email)
        add_budget(self, environment, notifications, kubernetes=kubernetes, inference=inference)
        watch = Watch(
            self,
            "Watch",
            parts=[
                *_watched_cluster(environment, training),
                *_watched_kubernetes(environment, kubernetes),
                *_watched_storage(environment, storage),
                watch_nat_gateways(nat_gateway_ids),
                *_watched_endpoint(environment, inference),
            ],
            topic=notifications.topic,
        )
        cdk.CfnOutput(
            self, "NotificationTopic", value=notifications.topic.topic_arn, description="Subscribe to alarms here"
        )
        console = f"https://{environment.region}.console.aws.amazon.com/cloudwatch/home?region={environment.region}"
        cdk.CfnOutput(
            self,
            "Dashboard",
            value=f"{console}#dashboards/dashboard/{watch.dashboard_name}",
            description="All of the environment on one page",
        )
        if training and inference and environment.inference:
            self._say_how_to_ask_from_outside(environment, environment.inference.endpoint, training, inference)

    def _say_how_to_ask_from_outside(
        self, environment: Environment, wanted: Endpoint, training: TrainingStack, inference: InferenceStack
    ) -> None:
        if wanted.exposure == "public" or wanted.allowed_cidrs:
            return
        port, local_port = (443, 8443) if wanted.certificate_arn else (80, 8000)
        cdk.CfnOutput(
            self,
            "EndpointTunnel",
            value=forward_port_command(
                training.cluster.head_node_instance_id,
                region=environment.region,
                host=inference.endpoint.load_balancer.load_balancer_dns_name,
                port=port,
                local_port=local_port,
            ),
            description=f"Forwards port {local_port} of your computer to the endpoint, through the head node",
        )


def _watched_cluster(environment: Environment, stack: TrainingStack | None) -> Iterator[WatchedPart]:
    training = environment.training
    if stack and training:
        yield watch_head_node(training.cluster_name, stack.cluster.head_node_instance_id)
        yield watch_compute_fleet(training.cluster_name, training.scaledown_idletime_minutes)
        yield watch_neuron_devices(training.cluster_name)


def _watched_kubernetes(environment: Environment, stack: KubernetesStack | None) -> Iterator[WatchedPart]:
    if stack and environment.kubernetes:
        yield watch_kubernetes_cluster(stack.cluster_name, environment.kubernetes.core_nodes.min_count)
        yield watch_kubernetes_neuron_devices(stack.cluster_name)


def _watched_endpoint(environment: Environment, inference: InferenceStack | None) -> Iterator[WatchedPart]:
    if inference:
        models = [_watched_model(model, environment.region) for model in inference.models]
        yield from watch_inference_endpoint(
            inference.endpoint, models, node_problems=inference.node_problem_detection.problems
        )


def _watched_model(model: ServedModel, region: str) -> WatchedModel:
    scaling = model.spec.scaling
    price = facts.on_demand_price(model.spec.instance_type, region)
    return WatchedModel(
        name=model.name,
        slug=model.spec.slug,
        route=model.route,
        service=model.service,
        candidate=model.candidate,
        changes=model.changes,
        most_tasks=scaling.task_limit,
        most_waiting=scaling.target_value if scaling.metric == "queue_size" else DEFAULT_TARGETS["queue_size"],
        measures_first_token="time_to_first_token" in model.engine.metrics,
        host_usd_per_hour=price.usd if price else None,
    )


def _watched_storage(environment: Environment, storage: StorageStack) -> Iterator[WatchedPart]:
    wanted = environment.storage
    yield watch_lustre(
        storage.lustre.file_system_id,
        capacity_gib=wanted.lustre.capacity_gib,
        throughput_mb_s_per_tib=wanted.lustre.throughput_mb_s_per_tib,
    )
    if storage.own_home:
        yield watch_open_zfs(storage.own_home.file_system_id, storage.own_home.root_volume_id)
    if storage.accounting_database and wanted.accounting_database:
        yield watch_accounting_database(
            storage.accounting_database.instance.instance_identifier,
            storage_gib=wanted.accounting_database.storage_gib,
        )
