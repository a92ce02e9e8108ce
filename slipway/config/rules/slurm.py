"""The section that rules about the Slurm cluster look at, which an environment on Kubernetes alone does not have."""

from slipway.config.environment import Environment
from slipway.config.section import InvalidPart
from slipway.config.training import Training


def slurm_cluster(environment: Environment) -> Training:
    """Return the Slurm cluster's section, for rules that say nothing without one.

    Raises:
        InvalidPart: The environment has no Slurm cluster, so there is nothing to check.
    """
    if environment.training is None:
        raise InvalidPart("training")
    return environment.training
