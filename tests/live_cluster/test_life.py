"""A job on the cluster of each shipped environment: nodes start for it, run it and end."""

from __future__ import annotations

import pytest

from tests.assembly import SHIPPED, SLURM_ENVIRONMENTS
from tests.live_cluster.conftest import Show, Start

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("name", [name for name in SHIPPED if name in SLURM_ENVIRONMENTS])
def test_nodes_start_for_a_job_and_end(name: str, start_cluster: Start, show: Show) -> None:
    """A job starts its nodes, runs, and the idle nodes end."""
    cluster = start_cluster(name)
    usable = [each for each in cluster.cluster.compute_resources if each.dynamic]
    jobs = {
        cluster.submit(
            f"--partition={resource.queue}",
            f"--constraint={resource.name}",
            f"--nodes={min(2, resource.dynamic)}",
            "--wrap",
            "srun -l printenv SLURMD_NODENAME",
        ): resource
        for resource in usable
    }
    for job, resource in jobs.items():
        ended = cluster.wait_for_state(job, "COMPLETED")
        assert ended["NodeList"].startswith(f"{resource.queue}-dy-{resource.name}-")
    assert {known.type for known in cluster.instances.known.values()} == {
        kind for resource in usable for kind in resource.instance_types
    }
    assert all(known.machine for known in cluster.instances.known.values()), "each instance booted"
    show(f"`{name}`: {len(cluster.instances.known)} nodes ran the jobs of all queues")

    cluster.wait_until_nothing_runs()
