"""What is installed in the cluster: charts, and the objects that jobs, the shell and TensorBoard need."""

from neuron_constructs.kubernetes.software.cluster_software import ClusterSoftware, ClusterSoftwareProps
from neuron_constructs.kubernetes.software.job_nodes import JobNodes
from neuron_constructs.kubernetes.software.job_space import JobSpace
from neuron_constructs.kubernetes.software.volume import LustreVolume

__all__ = ["ClusterSoftware", "ClusterSoftwareProps", "JobNodes", "JobSpace", "LustreVolume"]
