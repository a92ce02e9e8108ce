"""Rules about the region, its availability zones and the releases that depend on them."""

from collections.abc import Iterator

from slipway import facts
from slipway.config.environment import Environment
from slipway.config.problems import Finding, Path, listed, near_names, shown
from slipway.config.rules.registry import environment_rule
from slipway.config.rules.slurm import slurm_cluster


def zones(environment: Environment) -> list[tuple[Path, str]]:
    """Return the environment's availability zone ids with their paths, the training zone first."""
    network = environment.network
    others = [
        (("network", "other_availability_zone_ids", i), z) for i, z in enumerate(network.other_availability_zone_ids)
    ]
    return [(("network", "training_availability_zone_id"), network.training_availability_zone_id), *others]


@environment_rule
def region_known(environment: Environment) -> Iterator[Finding]:
    """The Region is one that Slipway knows: it has Trainium or Inferentia2."""
    known = facts.regions()
    if environment.region not in known:
        fix = near_names(environment.region, known) or f"Write {listed(known)}."
        yield Finding(("region",), f"Slipway does not know the Region {shown(environment.region)}", fix)


@environment_rule
def parallelcluster_release_known(environment: Environment) -> Iterator[Finding]:
    """The ParallelCluster version is one that Slipway knows."""
    version, known = slurm_cluster(environment).parallelcluster_version, facts.parallelcluster_releases()
    if version not in known:
        path = ("training", "parallelcluster_version")
        yield Finding(path, f"Slipway does not know ParallelCluster {shown(version)}", f"Write {listed(known)}.")


@environment_rule
def region_has_parallelcluster(environment: Environment) -> Iterator[Finding]:
    """The ParallelCluster release supports the region."""
    release = facts.parallelcluster_release(slurm_cluster(environment).parallelcluster_version)
    region = facts.region(environment.region)
    if region.name not in release.regions:
        message = f"ParallelCluster {release.version} does not support {region.name} (facts of {release.as_of})"
        possible = [name for name in facts.regions() if name in release.regions]
        yield Finding(("region",), message, f"Write {listed(possible)}.")


@environment_rule
def zones_in_region(environment: Environment) -> Iterator[Finding]:
    """Each availability zone id belongs to the region."""
    region = facts.region(environment.region)
    for path, zone in zones(environment):
        if zone not in region.availability_zone_ids:
            fix = f"Its zones are {listed(region.availability_zone_ids, 'and')} (facts of {region.as_of})."
            yield Finding(path, f"{zone} is not a zone of {region.name}", fix)


@environment_rule
def zones_distinct(environment: Environment) -> Iterator[Finding]:
    """Each availability zone id is named once."""
    seen: set[str] = set()
    for path, zone in zones(environment):
        if zone in seen:
            yield Finding(path, f"{zone} appears twice", "Write another zone or remove it.")
        seen.add(zone)
