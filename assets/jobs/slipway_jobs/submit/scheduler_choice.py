"""Which scheduler runs the jobs of an environment."""

from slipway_jobs.chain.scheduler import Scheduler
from slipway_jobs.environment import Environment


def scheduler_of(environment: Environment) -> Scheduler:
    """Return the scheduler of an environment: Kubernetes where it is one of Kubernetes, else Slurm."""
    # The one that is not there is not imported: the Kubernetes client is not installed on Slurm's head nodes.
    if environment.kubernetes is not None:
        from slipway_jobs.kubernetes.scheduler import KubernetesScheduler  # noqa: PLC0415

        return KubernetesScheduler(environment.kubernetes)
    from slipway_jobs.chain.slurm_scheduler import SlurmScheduler  # noqa: PLC0415

    return SlurmScheduler()
