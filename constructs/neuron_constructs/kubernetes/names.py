"""Names that the cluster's software, its node groups and the jobs agree on."""

NAMESPACE = "slipway"
"""Namespace of the jobs, the shell and TensorBoard of people without a team. A team's is this, `-` and its name."""

USER_ID = 1000
"""User and group id of the pods there: `slipway` in the training image."""

USER_ID_LABEL = "slipway/user-id"
"""Label of each namespace of jobs with the only user and group id that its pods may have."""

FSX_DIRECTORY = "/fsx"
"""Where pods have the training file system."""

RUNS_DIRECTORY = f"{FSX_DIRECTORY}/runs"
"""Where people without a team have their runs."""

CHECKPOINTS_DIRECTORY = f"{FSX_DIRECTORY}/checkpoints"
"""Where they have their checkpoints; each path below it is a key in the checkpoint bucket."""

TEAMS_DIRECTORY = f"{FSX_DIRECTORY}/teams"
"""Where each team has a directory for its runs and its prepared data."""

TEAM_CHECKPOINTS = "_teams"
"""Folder below the checkpoints in which each team has its own. No run has this name: `_` is in none."""

JOBS_SERVICE_ACCOUNT = "jobs"
"""Service account of jobs and of the shell, which holds the rights to the buckets by EKS Pod Identity."""

PUBLISHER_SERVICE_ACCOUNT = "publisher"
"""Service account of the publish stage alone: what jobs hold, and the right to add objects to the model bucket."""

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
