"""All stacks of an environment and the order in which they depend on each other."""

import aws_cdk as cdk

from neuron_constructs.log_groups import EncryptLogGroups
from slipway.config.environment import Environment
from slipway_stacks.inference import InferenceStack
from slipway_stacks.kubernetes import KubernetesStack
from slipway_stacks.network import NetworkStack
from slipway_stacks.operations import OperationsStack
from slipway_stacks.storage import StorageStack
from slipway_stacks.training import TrainingStack


def build_environment(app: cdk.App, environment: Environment) -> None:
    """Add the environment's stacks to the app.

    The longest chain is network, storage, and a cluster: Slurm's, Kubernetes' or both side by side. Inference is their
    sibling: none waits for another.
    """
    network = NetworkStack(app, environment)
    cdk.Aspects.of(app).add(EncryptLogGroups(network.log_key.key_arn))
    training_subnet = network.network.private_subnets[environment.network.training_availability_zone_id]
    storage = StorageStack(
        app,
        environment,
        vpc=network.network.vpc,
        private_subnets=network.network.private_subnets,
        access_log_bucket=network.access_log_bucket,
    )
    training = kubernetes = inference = None
    if environment.training:
        training = TrainingStack(
            app,
            environment,
            environment.training,
            vpc=network.network.vpc,
            subnet_id=training_subnet.subnet_id,
            storage=storage,
            access_log_bucket=network.access_log_bucket,
        )
    if environment.kubernetes:
        kubernetes = KubernetesStack(app, environment, environment.kubernetes, network=network, storage=storage)
    for cluster in filter(None, (training, kubernetes)):
        # Nodes need NAT, routes and file system until the cluster is gone: destroy must take the cluster first.
        cluster.add_stack_dependency(network)
        cluster.add_stack_dependency(storage)
    if environment.inference:
        inference = InferenceStack(
            app,
            environment,
            environment.inference,
            network=network,
            storage=storage,
        )
        # Hosts reach AWS through NAT until their cluster has let go of them.
        inference.add_stack_dependency(network)
    operations = OperationsStack(
        app,
        environment,
        nat_gateway_ids=network.network.nat_gateway_ids,
        storage=storage,
        training=training,
        kubernetes=kubernetes,
        inference=inference,
    )
    for cluster in filter(None, (training, kubernetes)):
        # Alarms that ring when a head node or core nodes say nothing would ring until there are some.
        operations.add_stack_dependency(cluster)
