"""Names that the cluster's software, its node groups and the jobs agree on."""

NAMESPACE = "slipway"
"""Namespace of the jobs, the shell and TensorBoard."""

JOBS_SERVICE_ACCOUNT = "jobs"
"""Service account of jobs and of the shell, which holds the rights to the buckets by EKS Pod Identity."""

FSX_CLAIM = "fsx"
"""Persistent volume claim of the training file system."""

ENVIRONMENT_CONFIG_MAP = "environment"
"""Config map whose key `environment.json` tells the job kit of its environment."""

LOCAL_QUEUE = "jobs"
"""Kueue's local queue."""

NODE_GROUP_LABEL = "slipway/node-group"
"""Label of each node with the name of its node group; also the taint of node groups without accelerator."""

NEURON_TAINT = "aws.amazon.com/neuron"
"""Taint of nodes with Neuron devices, `true:NoSchedule`, named like the resource that pods ask for."""
