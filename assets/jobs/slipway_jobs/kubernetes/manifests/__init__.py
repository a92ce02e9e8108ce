"""What a run is on Kubernetes: a JobSet, and an MPIJob where mpirun starts its processes. Plain dictionaries."""

from slipway_jobs.kubernetes.manifests.job_set import job_set
from slipway_jobs.kubernetes.manifests.mpi_job import mpi_job
from slipway_jobs.kubernetes.manifests.names import RUN_LABEL, STAGE_LABEL, SUBMISSION_LABEL, job_set_name

__all__ = ["RUN_LABEL", "STAGE_LABEL", "SUBMISSION_LABEL", "job_set", "job_set_name", "mpi_job"]
