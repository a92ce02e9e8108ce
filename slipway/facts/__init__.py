"""Facts: data about AWS and the Neuron SDK, each with its source and date.

Everything here is a look-up in the files of ``data/``; README.md says how to add a row. A look-up of something
without a row raises ``UnknownFact``. Files are read when first asked for, and once.
"""

from slipway.facts.cluster_configuration import (
    BroadPolicy,
    ConfigurationLimits,
    ScriptSource,
    broad_policies,
    configuration_limit,
    configuration_limits,
    script_sources,
)
from slipway.facts.create_times import CreateTime, create_seconds, create_times
from slipway.facts.databases import (
    DatabaseEngine,
    DatabaseInstanceType,
    database_engine,
    database_engines,
    database_instance_type,
    database_instance_types,
)
from slipway.facts.engine_settings import CompiledShape, EngineSettings
from slipway.facts.hardware import (
    InstanceFamily,
    InstanceType,
    instance_families,
    instance_family,
    instance_type,
    instance_types,
)
from slipway.facts.inference import (
    InferenceEngine,
    MachineImage,
    SettingsProblem,
    inference_engine,
    inference_engines,
    machine_image,
    machine_images,
)
from slipway.facts.kubernetes import (
    ClusterImage,
    HelmChart,
    KubernetesNode,
    KubernetesVersion,
    cluster_image,
    cluster_images,
    helm_chart,
    helm_charts,
    kubernetes_node,
    kubernetes_nodes,
    kubernetes_version,
    kubernetes_versions,
)
from slipway.facts.lustre import LustreDeployment, lustre_deployment, lustre_deployments
from slipway.facts.neuron import (
    OperatingSystem,
    TrainingStack,
    operating_system,
    operating_systems,
    training_stack,
    training_stacks,
)
from slipway.facts.open_zfs import OpenZfsDeployment, open_zfs_deployment, open_zfs_deployments
from slipway.facts.parallelcluster import (
    ParallelClusterRelease,
    parallelcluster_release,
    parallelcluster_releases,
)
from slipway.facts.prices import Price, on_demand_price, price, prices
from slipway.facts.quotas import Quota, quota, quotas
from slipway.facts.regions import (
    Offering,
    Region,
    offered_zone_ids,
    offering,
    offering_regions,
    offerings,
    region,
    regions,
)
from slipway.facts.rows import UnknownFact

__all__ = [
    "BroadPolicy",
    "ClusterImage",
    "CompiledShape",
    "ConfigurationLimits",
    "CreateTime",
    "DatabaseEngine",
    "DatabaseInstanceType",
    "EngineSettings",
    "HelmChart",
    "InferenceEngine",
    "InstanceFamily",
    "InstanceType",
    "KubernetesNode",
    "KubernetesVersion",
    "LustreDeployment",
    "MachineImage",
    "Offering",
    "OpenZfsDeployment",
    "OperatingSystem",
    "ParallelClusterRelease",
    "Price",
    "Quota",
    "Region",
    "ScriptSource",
    "SettingsProblem",
    "TrainingStack",
    "UnknownFact",
    "broad_policies",
    "cluster_image",
    "cluster_images",
    "configuration_limit",
    "configuration_limits",
    "create_seconds",
    "create_times",
    "database_engine",
    "database_engines",
    "database_instance_type",
    "database_instance_types",
    "helm_chart",
    "helm_charts",
    "inference_engine",
    "inference_engines",
    "instance_families",
    "instance_family",
    "instance_type",
    "instance_types",
    "kubernetes_node",
    "kubernetes_nodes",
    "kubernetes_version",
    "kubernetes_versions",
    "lustre_deployment",
    "lustre_deployments",
    "machine_image",
    "machine_images",
    "offered_zone_ids",
    "offering",
    "offering_regions",
    "offerings",
    "on_demand_price",
    "open_zfs_deployment",
    "open_zfs_deployments",
    "operating_system",
    "operating_systems",
    "parallelcluster_release",
    "parallelcluster_releases",
    "price",
    "prices",
    "quota",
    "quotas",
    "region",
    "regions",
    "script_sources",
    "training_stack",
    "training_stacks",
]
