"""Everything that is installed in the cluster, in the order in which it can be installed and removed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import aws_cdk as cdk
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct, IConstruct, IDependable

from neuron_constructs.kubernetes.software.admission import admission_policies
from neuron_constructs.kubernetes.software.autoscaler import (
    AUTOSCALER,
    AUTOSCALER_NAMESPACE,
    autoscaler_role,
    autoscaler_values,
)
from neuron_constructs.kubernetes.software.device_plugins import NEURON_HEALTH_NAMESPACE, efa_values, neuron_values
from neuron_constructs.kubernetes.software.directories import directories
from neuron_constructs.kubernetes.software.job_namespace import (
    environment_config_map,
    job_namespace,
    job_rights,
    user_rights,
)
from neuron_constructs.kubernetes.software.job_nodes import JobNodes
from neuron_constructs.kubernetes.software.job_space import JobSpace
from neuron_constructs.kubernetes.software.manifest import Manifest, cluster_object
from neuron_constructs.kubernetes.software.mpi_operator import mpi_operator, mpi_operator_base
from neuron_constructs.kubernetes.software.queues import cluster_queue, kueue_values, local_queue
from neuron_constructs.kubernetes.software.shell import shell
from neuron_constructs.kubernetes.software.tensorboard import tensorboard
from neuron_constructs.kubernetes.software.volume import LustreVolume, volume_and_claim
from slipway import facts

_JOBSET_VALUES = {
    "controller": {
        "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
    }
}


@dataclass(frozen=True, kw_only=True)
class ClusterSoftwareProps:
    """Properties of `ClusterSoftware`."""

    cluster: eks.ICluster
    """The cluster, with a kubectl provider."""

    kubernetes_version: str
    """Its Kubernetes version, for example `1.35`."""

    waits_for: Sequence[IDependable]
    """What must be there before anything is installed and may go only after everything is removed: core nodes and
    add-ons. Nodes of jobs need not be there."""

    volume: LustreVolume
    """The training file system."""

    node_groups: Sequence[JobNodes]
    """The node groups of jobs."""

    spaces: Sequence[JobSpace]
    """The namespaces of jobs, the one of people without a team first."""

    image: str
    """Training image, by name and tag. It need not be there yet: pods wait for it."""

    training_stack: str
    """Name of the training environment in the image."""

    launcher: Literal["torchrun", "mpi"]
    """How training processes start; `mpi` brings the MPI operator."""

    queueing: Literal["none", "kueue"]
    """Whether runs wait for their nodes in a queue; `kueue` brings Kueue."""


class ClusterSoftware(Construct):
    """Charts and objects of the cluster.

    Four steps, each of which waits for the one before: what the cluster refuses, the controllers, the directories on
    /fsx, and what the jobs need. Removal goes the other way: the namespaces of jobs go first, with every pod in them,
    while the controllers that must let go of their objects still run, and while the driver can still unmount the file
    system. What only one choice brings is a manifest of its own, which goes when the choice is another. The CDK's
    function waits 15 minutes at most, and a pod may need more to save a checkpoint: `slipway destroy` ends the nodes of
    jobs before.

    Raises:
        slipway.facts.UnknownFact: the facts lack a chart, an image or an instance type.
    """

    def __init__(self, scope: Construct, id: str, props: ClusterSoftwareProps) -> None:  # noqa: A002
        super().__init__(scope, id)
        self._props = props
        self._mpi = props.launcher == "mpi"
        self._queueing = props.queueing == "kueue"
        refusals = self._manifest("Refusals", admission_policies())
        refusals.node.add_dependency(*props.waits_for)
        controllers = self._controllers()
        for each in controllers:
            each.node.add_dependency(refusals)
        made = self._manifest(
            "Directories", directories(props.spaces, props.volume, props.image, props.kubernetes_version)
        )
        made.node.add_dependency(*controllers)
        for index, space in enumerate(props.spaces):
            # A team's objects are a manifest of their own, which goes with the team.
            jobs = self._manifest(f"Jobs-{space.namespace}" if index else "Jobs", self._job_objects(space))
            jobs.node.add_dependency(made)

    def _controllers(self) -> list[IConstruct]:
        """Install what the cluster needs for jobs."""
        props = self._props
        jobset = self._chart("jobset", "jobset-system", _JOBSET_VALUES, waits=True)
        installed: list[IConstruct] = [jobset, self._autoscaler()]
        # The plugins' pods come and go with the nodes of jobs: there is nothing to wait for.
        if any(nodes.neuron_devices for nodes in props.node_groups):
            installed += self._neuron()
        if any(nodes.efa_interfaces for nodes in props.node_groups):
            installed.append(self._chart("efa", "kube-system", efa_values(props.node_groups), waits=False))
        if self._mpi:
            installed.append(self._manifest("MpiOperator", mpi_operator_base(props.kubernetes_version)))
        if self._queueing:
            installed += self._kueue()
        return installed

    def _neuron(self) -> list[IConstruct]:
        # A precaution: whether the chart makes its namespace is not known (NEURON_HEALTH_NAMESPACE says more).
        namespace = self._manifest("NeuronNamespace", [cluster_object("v1", "Namespace", NEURON_HEALTH_NAMESPACE)])
        chart = self._chart("neuron", "kube-system", neuron_values(self._props.node_groups), waits=False)
        chart.node.add_dependency(namespace)
        return [namespace, chart]

    def _kueue(self) -> list[IConstruct]:
        chart = self._chart("kueue", "kueue-system", kueue_values(mpi=self._mpi), waits=True)
        queue = self._manifest("Queue", cluster_queue(self._props.node_groups))
        queue.node.add_dependency(chart)
        return [chart, queue]

    def _autoscaler(self) -> eks.HelmChart:
        cluster = self._props.cluster
        role = autoscaler_role(self, cluster)
        tag = facts.kubernetes_version(self._props.kubernetes_version).cluster_autoscaler
        values = autoscaler_values(cluster.cluster_name, cdk.Stack.of(self).region, tag)
        chart = self._chart(AUTOSCALER, AUTOSCALER_NAMESPACE, values, waits=True)
        # A pod that is there before its role's association never gets the role.
        chart.node.add_dependency(role)
        return chart

    def _job_objects(self, space: JobSpace) -> list[Manifest]:
        """Return what the jobs of a namespace need, in the order in which it can be created."""
        props = self._props
        environment = cdk.Stack.of(self).to_json_string(space.environment)
        return [
            *job_namespace(space, props.kubernetes_version),
            *volume_and_claim(props.volume, space.namespace),
            *job_rights(space, mpi=self._mpi, queues=self._queueing),
            *user_rights(space, mpi=self._mpi, queues=self._queueing),
            environment_config_map(space, environment),
            *(mpi_operator() if self._mpi else []),
            *([local_queue(space.namespace)] if self._queueing else []),
            shell(space, props.image),
            *tensorboard(space, props.image, props.training_stack),
        ]

    def _chart(self, name: str, namespace: str, values: Mapping[str, Any], *, waits: bool) -> eks.HelmChart:
        """Install a chart of the facts; `waits` is whether its pods must be ready for what comes after it."""
        chart = facts.helm_chart(name)
        return eks.HelmChart(
            self,
            f"Chart-{name}",
            cluster=self._props.cluster,
            repository=chart.repository,
            chart=chart.chart,
            version=chart.version,
            release=name,
            namespace=namespace,
            values=values,
            wait=waits,
            timeout=cdk.Duration.minutes(10),
        )

    def _manifest(self, id: str, objects: list[Manifest]) -> eks.KubernetesManifest:  # noqa: A002
        return eks.KubernetesManifest(
            self,
            id,
            cluster=self._props.cluster,
            manifest=objects,
            # kubectl apply instead of create: what a failed attempt left behind does not fail the next.
            overwrite=True,
        )
